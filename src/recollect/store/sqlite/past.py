"""What a vault held at an earlier moment: what has changed since is read from its history into a
vault in memory, as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property

import msgspec
from msgspec import Struct

from recollect.parts import parts
from recollect.store.base import Stored, StoredVector
from recollect.store.feedback_log import INSERT, row_of
from recollect.store.history import merged_then
from recollect.store.sqlite.scratch import UNKEPT, ScratchStore
from recollect.store.sqlite.vocabulary import memory_tokens
from recollect.store.vault import VaultStore
from recollect.types import Memory

AT_ONCE = 4_000  # memories that are indexed together: too few to make a segment
PUT_QUERY_VECTOR = "INSERT INTO feedback_vectors (model, words, vector) VALUES (?, ?, ?)"


class _Learned(Struct):
    """When a lesson was learned."""

    at: datetime


class PastVault:
    """A vault as it was `at` a moment. `then` holds what has changed since as it was, and the
    feedback given by then; `changed` are the ids of what has changed since the write `last`.
    Where the vault of then is smaller than what has changed, `then` holds all of it and is `whole`.
    `changed_live`: how many live memories of the vault are not to be counted. Only one thread uses
    it."""

    def __init__(self, vault: VaultStore, at: datetime) -> None:
        self.vault = vault
        self.at = at
        self.then = ScratchStore()
        self.last = 0
        self.changed: frozenset[str] = frozenset()
        self.changed_live = 0
        self.whole = False
        self._held: dict[str, Stored] = {}
        self._state: object = None

    def follow(self) -> None:
        """Read what has changed since the last time."""
        with self.vault.moment() as state:
            if state == self._state:
                return
            self.last = self.vault.history.last_write(self.at)
            self.changed = self.vault.history.changed_ids(self.last)
            self._hold(self._wanted())
            self._read_feedback()
            self._state = state
        self.__dict__.pop("vocabulary", None)

    def _wanted(self) -> dict[str, Memory]:
        """What `then` should hold."""
        memories = self.vault.memories
        past = self.vault.history.changed_since(self.at).values()
        wanted = {one.memory.id: one.memory for one in past if one and not one.forgotten}
        self.changed_live = len(memories.stamps([*self.changed]))
        unchanged = self.vault.vocabulary.documents() - self.changed_live
        self.whole = self.whole or unchanged < len(self.changed)
        if self.whole:
            self.changed_live = 0
            same = [id for id in memories.ids() if id not in self.changed]
            wanted |= memories.get(same)
        return wanted

    def _hold(self, wanted: Mapping[str, Memory]) -> None:
        """Hold these and no others. What a memory was then never changes, but it can be purged."""
        known = {id: stored.memory for id, stored in self._held.items()}
        with self.then.writing_many(UNKEPT) as write:
            for id in [id for id, memory in known.items() if wanted.get(id) != memory]:
                write.purge(self._held.pop(id))
            new = [memory for id, memory in wanted.items() if id not in self._held]
            for part in parts(new, AT_ONCE):
                self._held |= {memory.id: write.add(memory) for memory in part}
                write.index_added()

    def _read_feedback(self) -> None:
        """What was said by then, and what was learned by then, if nothing was learned since."""
        log = self.vault.feedback
        events = [event for event in log.every() if event.at <= self.at]
        ids = {event.memory_id for event in events}
        gone = (ids & self.changed).difference(self._held).union(self.vault.trash.merged([*ids]))
        into = merged_then(self.vault.history, gone, self.at)
        rows = [
            row_of(event._replace(memory_id=into.get(event.memory_id, event.memory_id)))
            for event in events
        ]
        vectors = log.query_vectors() if rows else []
        lesson = log.state().lesson
        with self.then.database.writing() as connection:
            connection.execute("DELETE FROM feedback")
            connection.execute("DELETE FROM feedback_vectors")
            connection.executemany(self.then.database.sql(INSERT), rows)
            connection.executemany(PUT_QUERY_VECTOR, vectors)
        if lesson and msgspec.json.decode(lesson, type=_Learned).at <= self.at:
            self.then.feedback.learn(lesson)
        elif self.then.feedback.state().lesson:
            self.then.feedback.unlearn()

    @cached_property
    def vocabulary(self) -> Counter[str]:
        """How many of the memories that have changed hold each token now."""
        found: Counter[str] = Counter()
        for memory in self.vault.memories.get([*self.changed]).values():
            found.update(memory_tokens(memory))
        return found

    def take_vectors(self, identity: str) -> None:
        """Give `then` the vectors of the memories whose wording is the same now."""
        waiting = {stored.memory.id: stored for stored in self._without_vector(identity)}
        now = self.vault.memories.get([*waiting])
        same = [id for id, one in now.items() if _wording(one) == _wording(waiting[id].memory)]
        found = self.vault.vectors.stored(identity, same)
        rows: list[tuple[int, StoredVector]] = [
            (waiting[id].key, one) for id, vectors in found.items() for one in vectors
        ]
        if rows:
            self.then.vectors.put(
                identity,
                len(rows[0][1].vector),
                [(key, one.vector) for key, one in rows],
                spans=[one.span for _, one in rows],
                tokens=[one.tokens for _, one in rows],
            )

    def _without_vector(self, identity: str) -> Iterator[Stored]:
        known = self.then.vectors.stored(identity, [*self._held])
        return (stored for id, stored in self._held.items() if id not in known)


def _wording(memory: Memory) -> tuple[str, str, str]:
    """What a memory's vector is made of."""
    return memory.title, memory.text, memory.context
