"""The personal store with every collection behind it, as one store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

import msgspec

from recollect.store.base import (
    Dates,
    Facets,
    FeedbackLog,
    KeywordIndex,
    Memories,
    MemoryStamp,
    Store,
    Stored,
    TopicIndex,
    VectorIndex,
    Vocabulary,
    Writing,
)
from recollect.store.folders import Folders
from recollect.types import Degraded, Filter, Memory, Place, Response
from recollect.vaults.fan_out import MARK, Collection, FanOut
from recollect.vaults.fanned_indexes import (
    FannedKeyword,
    FannedTopics,
    FannedVectors,
    FannedVocabulary,
)

TIERS = ("core", "capture", "file")


class FannedStore(FanOut):
    """Satisfies `Store`; what is written is written to the personal one."""

    def __init__(self, personal: Store, collections: Sequence[Collection]) -> None:
        super().__init__(personal, collections)
        self.memories: Memories = FannedMemories(self)
        self.keyword: KeywordIndex = FannedKeyword(self)
        self.vectors: VectorIndex = FannedVectors(self)
        self.topics: TopicIndex = FannedTopics(self)
        self.vocabulary: Vocabulary = FannedVocabulary(self)
        self.feedback: FeedbackLog = personal.feedback
        self.folders: Folders = personal.folders

    def labelled(self, found: Response) -> Response:
        """The response, with the collection that each result is from and the collections that
        could not take part."""
        names = {collection.name for collection in self.collections}
        results = tuple(
            msgspec.structs.replace(result, vault=name)
            if (name := result.id.partition(MARK)[0]) in names and MARK in result.id
            else result
            for result in found
        )
        away = (Degraded(name, reason) for name, reason in self.away.items())
        return msgspec.structs.replace(found, results=results, degraded=(*found.degraded, *away))

    def writing(self) -> AbstractContextManager[Writing]:
        return self.personal.writing()

    def close(self) -> None:
        """The stores are closed by whoever opened them."""


class FannedMemories(Memories):
    def __init__(self, fan_out: FanOut) -> None:
        self._fan_out = fan_out

    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        found = dict(self._fan_out.personal.memories.get(ids))
        for collection, theirs in self._fan_out.ask(
            lambda collection: collection.store.memories.get(collection.inward(ids))
        ):
            found |= {
                collection.outward(id): collection.shown(memory) for id, memory in theirs.items()
            }
        return found

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        found = dict(self._fan_out.personal.memories.stamps(ids))
        for collection, theirs in self._fan_out.ask(
            lambda collection: collection.store.memories.stamps(collection.inward(ids))
        ):
            found |= {collection.outward(id): stamp for id, stamp in theirs.items()}
        return found

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        return self._fan_out.personal.memories.find(ids)

    def ids(self, *, forgotten: bool = False) -> list[str]:
        return self._fan_out.personal.memories.ids(forgotten=forgotten)

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        return self._together(
            filter, limit, _browsing, lambda memories, own: memories.browse(own, limit, after)
        )

    def newest(self, filter: Filter, limit: int) -> list[Memory]:
        return self._together(
            filter, limit, _newest, lambda memories, own: memories.newest(own, limit)
        )

    def made(self, filter: Filter, limit: int, *, oldest: bool = False) -> list[Memory]:
        return self._together(
            filter,
            limit,
            _oldest if oldest else _made,
            lambda memories, own: memories.made(own, limit, oldest=oldest),
        )

    def kinds(self) -> list[str]:
        every = self._fan_out.ask(lambda collection: collection.store.memories.kinds())
        own = self._fan_out.personal.memories.kinds()
        return sorted({*own, *(kind for _, kinds in every for kind in kinds)})

    def projects(self, names: Sequence[str]) -> list[str]:
        every = self._fan_out.ask(lambda collection: collection.store.memories.projects(names))
        own = self._fan_out.personal.memories.projects(names)
        known = {*own, *(name for _, found in every for name in found)}
        return [name for name in names if name in known]

    def _together(
        self,
        filter: Filter,
        limit: int,
        order: Callable[[Memory], tuple[object, ...]],
        ask: Callable[[Memories, Filter], list[Memory]],
    ) -> list[Memory]:
        """What `ask` gives of each store by its own filter, each memory once, in this order."""
        own = ask(self._fan_out.personal.memories, filter)
        others = self._fan_out.ask(
            lambda collection: ask(collection.store.memories, collection.narrowed(filter))
        )
        found = self._fan_out.distinct(own, others, lambda memory: memory.id)
        every = [
            memory if collection is None else collection.shown(memory)
            for collection, memory, _ in found
        ]
        return sorted(every, key=order)[:limit]

    def expiring(
        self, filter: Filter, limit: int, *, until: datetime, since: datetime | None = None
    ) -> list[Memory]:
        return self._fan_out.personal.memories.expiring(filter, limit, until=until, since=since)

    def facets(self, filter: Filter, most: int, now: datetime) -> Facets:
        every = [self._fan_out.personal.memories.facets(filter, most, now)]
        every += [
            theirs
            for _, theirs in self._fan_out.ask(
                lambda collection: collection.store.memories.facets(
                    collection.narrowed(filter), most, now
                )
            )
        ]
        return Facets(*(_summed(counts) for counts in zip(*every, strict=True)))

    def dates(self, filter: Filter) -> Dates:
        return self._fan_out.personal.memories.dates(filter)


def _browsing(memory: Memory) -> tuple[int, float, str]:
    return (TIERS.index(memory.tier), -memory.updated_at.timestamp(), memory.id)


def _newest(memory: Memory) -> tuple[float, str]:
    return (-memory.updated_at.timestamp(), memory.id)


def _made(memory: Memory) -> tuple[float, str]:
    return (-memory.created_at.timestamp(), memory.id)


def _oldest(memory: Memory) -> tuple[float, str]:
    return (memory.created_at.timestamp(), memory.id)


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    whole: Counter[str] = Counter()
    for each in counts:
        whole.update(each)
    return dict(whole.most_common())
