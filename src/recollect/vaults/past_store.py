"""A vault as of an earlier moment: unchanged memories come from the vault itself, changed ones from
a vault in memory that holds their versions of then. Words, vectors and feedback count as today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import cast

from recollect.context import Models
from recollect.deadline import NO_DEADLINE, Deadline
from recollect.errors import ProviderError, UserError
from recollect.maths import batched
from recollect.models.embedding_queue import Batches
from recollect.store.base import (
    Coverage,
    Memories,
    Stored,
    StoredVector,
    VectorIndex,
)
from recollect.store.folders import ChunkPlace, StoredFolders
from recollect.store.sqlite.store import UNKEPT, ScratchStore
from recollect.store.vault import VaultStore
from recollect.times import minute
from recollect.types import Memory
from recollect.vaults.combined_store import (
    ORDERS,
    CombinedMemories,
    CombinedPart,
    CombinedStore,
    CombinedVectors,
    Member,
)
from recollect.vaults.known import HOME

# Old wordings that one search embeds: some seconds with the built-in model.
MOST_EMBEDDED = 200
# Memories that are indexed together: too few to make a segment.
AT_ONCE = 4_000
# Moments that a thread keeps in memory.
MOST_MOMENTS = 2


class PastVault:
    """A vault as it was `at` a moment; for one thread.

    then: the versions of that moment, of memories that have changed since.
    changed: the ids of memories that have changed since the write `last`.
    """

    def __init__(self, vault: VaultStore, at: datetime) -> None:
        self.vault = vault
        self.at = at
        self.then = ScratchStore()
        self.last = 0
        self.changed: frozenset[str] = frozenset()
        self._held: dict[str, Stored] = {}
        self._state: object = None

    def follow(self) -> None:
        """Read the changes since the last call."""
        with self.vault.moment() as state:
            if state == self._state:
                return
            self.last = self.vault.history.last_write(self.at)
            self.changed = self.vault.history.changed_ids(self.last)
            past = self.vault.history.changed_since(self.at).values()
            self._hold({one.memory.id: one.memory for one in past if one and not one.forgotten})
            self._state = state

    def _hold(self, wanted: Mapping[str, Memory]) -> None:
        """Hold exactly these. A memory's past version never changes, but it can be purged."""
        known = {id: stored.memory for id, stored in self._held.items()}
        with self.then.writing_many(UNKEPT) as write:
            for id in [id for id, memory in known.items() if wanted.get(id) != memory]:
                write.purge(self._held.pop(id))
            new = [memory for id, memory in wanted.items() if id not in self._held]
            for part in batched(new, AT_ONCE):
                self._held |= {memory.id: write.add(memory) for memory in part}
                write.index_added()

    def take_vectors(self, identity: str) -> None:
        """Copy the vectors of memories whose wording is still the same into `then`."""
        known = self.then.vectors.read_vectors(identity, [*self._held])
        waiting = {id: stored for id, stored in self._held.items() if id not in known}
        now = self.vault.memories.get([*waiting])
        same = [id for id, one in now.items() if _wording(one) == _wording(waiting[id].memory)]
        current = self.vault.vectors.read_vectors(identity, same)
        rows: list[tuple[int, StoredVector]] = [
            (waiting[id].key, one) for id, vectors in current.items() for one in vectors
        ]
        if rows:
            self.then.vectors.put(
                identity,
                len(rows[0][1].vector),
                [(key, one.vector) for key, one in rows],
                spans=[one.span for _, one in rows],
                tokens=[one.tokens for _, one in rows],
            )


def _wording(memory: Memory) -> tuple[str, str, str]:
    """Return the fields that a memory's vector is made of."""
    return memory.title, memory.text, memory.context


def past_store(
    vault: VaultStore,
    at: datetime,
    models: Models | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> PastStore:
    """Return the vault as it was; UserError if its history does not go back that far.

    Each thread keeps the last few moments that it has read. Without models, and after the
    deadline, old wordings get no vectors.
    """
    begins = vault.history.begins()
    if begins is not None and at < begins:
        raise UserError(
            f"As of {minute(at)}: the vault's history begins later, at {minute(begins)}; ask for a "
            "time after that."
        )
    kept: dict[datetime, PastVault] = vault.kept.__dict__.setdefault("past", {})
    past = kept[at] = kept.pop(at) if at in kept else PastVault(vault, at)
    while len(kept) > MOST_MOMENTS:
        kept.pop(next(iter(kept))).then.database.close()
    past.follow()
    return PastStore(past, models, deadline)


class PastStore(CombinedStore):
    """A read-only store of a past moment."""

    def __init__(self, past: PastVault, models: Models | None, deadline: Deadline) -> None:
        vault, then = past.vault, past.then
        unchanged = Member(HOME, vault, "", past.last, past.changed)
        super().__init__([unchanged, Member(HOME, then)], vault)
        self.memories = cast(Memories, PastMemories(self))
        self.vectors = cast(VectorIndex, PastVectors(self, past, models, deadline))
        self.folders = cast(StoredFolders, PastFolders(self, past))


class PastMemories(CombinedMemories):
    def list_replaced(self, ids: Sequence[str]) -> list[Memory]:
        """Follow the links of that moment: a changed memory may have had another one."""
        every = self._store.ask(lambda one: one.store.memories.list_replaced(ids))
        found = [each for one, some in every for each in some if each.id not in one.changed]
        return sorted(found, key=ORDERS["newest"])


class PastVectors(CombinedVectors):
    """Embeds old wordings when vectors are first read."""

    def __init__(
        self, store: PastStore, past: PastVault, models: Models | None, deadline: Deadline
    ) -> None:
        super().__init__(store)
        self._past = past
        self._models = models
        self._deadline = deadline
        self._ready: set[str] = set()

    def coverage(self, identity: str) -> Coverage:
        """Return today's coverage less the old wordings that have no vector yet."""
        self.prepare(identity)
        embedded, memories = self._past.vault.vectors.coverage(identity)
        then = self._past.then.vectors.coverage(identity)
        return Coverage(max(0, embedded - then.memories + then.embedded), memories)

    def prepare(self, identity: str) -> None:
        """Give the memories that have changed the vectors of their wordings then."""
        if identity in self._ready:
            return
        self._ready.add(identity)
        self._past.take_vectors(identity)
        with suppress(ProviderError):  # `coverage` shows what is missing
            embedder = None if self._models is None else self._models.embedder()
            if embedder is not None and embedder.identity == identity:
                deadline = self._deadline
                batches = Batches(self._past.then.vectors, embedder, stop=lambda: deadline.over)
                while not deadline.over and batches.done < MOST_EMBEDDED and batches.embed():
                    pass


class PastFolders(CombinedPart):
    """Places of unchanged chunks in their files of today."""

    part = "folders"

    def __init__(self, store: PastStore, past: PastVault) -> None:
        super().__init__(store)
        self._past = past

    def places(self, ids: Sequence[str]) -> dict[str, ChunkPlace]:
        same = [id for id in ids if id not in self._past.changed]
        return self._past.vault.folders.places(same)
