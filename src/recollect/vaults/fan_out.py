"""Asking the personal store and each shared collection behind it, and one list of what they answer.

Source: the `gnosis` recipe, "Fan-out": fetch up to twice as many where there are collections, drop
repeats by content hash (the personal copy stays), cut back. It happens where candidates are
recalled, so every recipe has it, and what follows sees one store.

A memory of a collection is known as `collection:id`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from recollect.errors import RecollectError
from recollect.store.base import Match, Store, VectorMatch
from recollect.types import Filter, Memory, order

MARK = ":"
OVER_FETCH = 2
Candidate = TypeVar("Candidate", Match, VectorMatch)
Answer = TypeVar("Answer")
Item = TypeVar("Item")


class Collection(NamedTuple):
    """A shared vault of a name."""

    name: str
    store: Store

    def outward(self, id: str) -> str:
        return f"{self.name}{MARK}{id}"

    def inward(self, ids: Iterable[str]) -> list[str]:
        """The collection's own ids among these."""
        start = f"{self.name}{MARK}"
        return [id.removeprefix(start) for id in ids if id.startswith(start)]

    def narrowed(self, filter: Filter) -> Filter:
        if filter.among is None:
            return filter
        return msgspec.structs.replace(filter, among=tuple(self.inward(filter.among)))

    def shown(self, memory: Memory) -> Memory:
        return msgspec.structs.replace(memory, id=self.outward(memory.id))


class FanOut:
    """The personal store and the collections. One that cannot be read takes no part; `away` says
    which, and why."""

    def __init__(self, personal: Store, collections: Sequence[Collection]) -> None:
        self.personal = personal
        self.collections = tuple(collections)
        self.away: dict[str, str] = {}

    def ask(self, question: Callable[[Collection], Answer]) -> list[tuple[Collection, Answer]]:
        """What each collection answers; one that cannot is left out and noted."""
        answers = []
        for collection in self.collections:
            try:
                answers.append((collection, question(collection)))
            except RecollectError as error:
                self.away[collection.name] = str(error)
        return answers

    def merged(
        self,
        own: Sequence[Candidate],
        others: Sequence[tuple[Collection, Sequence[Candidate]]],
        limit: int,
        newest: bool = False,
    ) -> list[Candidate]:
        """One list, in the order of every ranking; with `newest` the newer of equal scores first,
        as topics want it."""
        found: list[tuple[Candidate, float]] = []
        for collection, match, updated_at in self.distinct(own, others, lambda one: one.memory_id):
            if collection is not None:
                match = match._replace(memory_id=collection.outward(match.memory_id))
            found.append((match, updated_at if newest else 0.0))
        found.sort(key=lambda one: order(one[0].score, one[0].memory_id, one[1]))
        return [match for match, _ in found[:limit]]

    def distinct(
        self,
        own: Sequence[Item],
        others: Sequence[tuple[Collection, Sequence[Item]]],
        id_of: Callable[[Item], str],
    ) -> Iterator[tuple[Collection | None, Item, float]]:
        """Of memories that say the same only the first, and the personal one before all: each with
        its collection and the time of its last change."""
        stamps = self.personal.memories.stamps([id_of(item) for item in own])
        for item in own:
            stamp = stamps.get(id_of(item))
            yield None, item, 0.0 if stamp is None else stamp.updated_at
        seen = {stamp.content_hash for stamp in stamps.values()}
        for collection, found in others:
            theirs = collection.store.memories.stamps([id_of(item) for item in found])
            for item in found:
                stamp = theirs.get(id_of(item))
                if stamp is not None and stamp.content_hash not in seen:
                    seen.add(stamp.content_hash)
                    yield collection, item, stamp.updated_at
