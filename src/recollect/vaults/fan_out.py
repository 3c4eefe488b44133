"""Asking several stores, and one list of what they answer.

Shared collections stand behind one's own vault: they hold copies. Source: the `gnosis` recipe,
"Fan-out": fetch up to twice as many where there are collections, drop repeats by content hash (the
personal copy stays), cut back. A memory of a collection is known as `collection:id`.

A vault of the past is two stores: what has not changed since, and the rest as it was. Both happen
where candidates are recalled, so every recipe has it, and what follows sees one store. The most
that any of the stores counts is what all count together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple, TypeVar

import msgspec

from recollect.errors import RecollectError
from recollect.store.base import Match, MemoryStamp, Store, VectorMatch
from recollect.types import Filter, Memory, order
from recollect.vaults.known import HOME

MARK = ":"
OVER_FETCH = 2
Candidate = TypeVar("Candidate", Match, VectorMatch)
Answer = TypeVar("Answer")
Item = TypeVar("Item")


class Member(NamedTuple):
    """One of several stores. `mark` stands before the ids of its memories; `open` returns the
    store. With `unchanged_since`, the number of a write, it is asked for what has not changed
    since; `changed` are the ids of what has."""

    name: str
    open: Callable[[], Store]
    mark: str = ""
    unchanged_since: int | None = None
    changed: Set[str] = frozenset()

    @property
    def store(self) -> Store:
        return self.open()

    def outward(self, id: str) -> str:
        return f"{self.mark}{id}"

    def inward(self, ids: Iterable[str]) -> list[str]:
        """The store's own ids among these."""
        own = (id.removeprefix(self.mark) for id in ids if id.startswith(self.mark))
        return [id for id in own if id not in self.changed]

    def narrowed(self, filter: Filter) -> Filter:
        if self.unchanged_since is not None:
            filter = msgspec.structs.replace(filter, unchanged_since=self.unchanged_since)
        if filter.among is None or not self.mark:
            return filter
        return msgspec.structs.replace(filter, among=tuple(self.inward(filter.among)))

    def shown(self, memory: Memory) -> Memory:
        if not self.mark:
            return memory
        newer = memory.superseded_by and self.outward(memory.superseded_by)
        return msgspec.structs.replace(memory, id=self.outward(memory.id), superseded_by=newer)


class FanOut:
    """Several stores, in order. One that cannot be read takes no part from then on; `away` says
    which, and why, and `parts` what a store could not do. What one's own cannot answer is an error.
    `first` answers what is not asked of all.
    """

    def __init__(self, members: Sequence[Member], first: Store) -> None:
        self.members = tuple(members)
        self.first = first
        self.away: dict[str, str] = {}
        self.parts: dict[str, str] = {}

    def ask(self, question: Callable[[Member], Answer]) -> list[tuple[Member, Answer]]:
        """What each store answers; one that cannot is left out and noted."""
        answers = []
        for member in self.members:
            if member.name in self.away:
                continue
            try:
                answers.append((member, question(member)))
            except RecollectError as error:
                if member.name == HOME:
                    raise
                self.away[member.name] = str(error)
        return answers

    def owned(self, answers: Sequence[tuple[Member, Mapping[str, Answer]]]) -> dict[str, Answer]:
        """What is known of each memory, by the first store that knows it."""
        found: dict[str, Answer] = {}
        for member, known in answers:
            for id, value in known.items():
                found.setdefault(member.outward(id), value)
        return found

    def depth(self, limit: int) -> int:
        """How many each store is asked for, so that `limit` are left."""
        return OVER_FETCH * limit if any(member.mark for member in self.members) else limit

    def merged(
        self,
        lists: Sequence[tuple[Member, Sequence[Candidate]]],
        limit: int,
        newest: bool = False,
    ) -> list[Candidate]:
        """One list, in the order of every ranking; with `newest` the newer of equal scores first,
        as topics want it."""
        found: list[tuple[Candidate, float]] = []
        for member, match, updated_at in self.distinct(lists, lambda one: one.memory_id):
            match = match._replace(memory_id=member.outward(match.memory_id))
            found.append((match, updated_at if newest else 0.0))
        found.sort(key=lambda one: order(one[0].score, one[0].memory_id, one[1]))
        return [match for match, _ in found[:limit]]

    def distinct(
        self, lists: Sequence[tuple[Member, Sequence[Item]]], id_of: Callable[[Item], str]
    ) -> Iterator[tuple[Member, Item, float]]:
        """Of each id the first store's version, and of copies only the first: each with its store
        and the time of its last change."""
        ids = [member.outward(id_of(item)) for member, items in lists for item in items]
        stamps = self.stamps(ids)
        seen: set[bytes] = set()
        for member, items in lists:
            for item in items:
                id = member.outward(id_of(item))
                if id not in stamps:
                    continue
                owner, stamp = stamps[id]
                if owner is member and not (member.mark and stamp.content_hash in seen):
                    seen.add(stamp.content_hash)
                    yield member, item, stamp.updated_at

    def stamps(self, ids: Sequence[str]) -> dict[str, tuple[Member, MemoryStamp]]:
        """The stamp of each of these memories, and the first store that has it."""
        found: dict[str, tuple[Member, MemoryStamp]] = {}
        for member, stamps in self.ask(lambda one: one.store.memories.stamps(one.inward(ids))):
            for id, stamp in stamps.items():
                found.setdefault(member.outward(id), (member, stamp))
        return found
