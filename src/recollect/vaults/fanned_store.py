"""Several stores as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, cast

import msgspec

from recollect.store.base import (
    Facets,
    KeywordIndex,
    Memories,
    MemoryStamp,
    Store,
    TopicIndex,
    UsedColumn,
    VectorIndex,
    Vocabulary,
    Writing,
)
from recollect.store.history import Change, StoredHistory
from recollect.types import Degraded, Filter, Memory, Place, Response
from recollect.vaults.fan_out import FanOut, Member
from recollect.vaults.fanned_indexes import (
    FannedKeyword,
    FannedPart,
    FannedTopics,
    FannedVectors,
    FannedVocabulary,
)

if TYPE_CHECKING:
    from recollect.store.prepared import PreparedMemories

TIERS = ("core", "capture", "file")
NOTHING = Facets({}, {}, {}, {}, {})
# How several lists become one, as each is ordered itself.
ORDERS: dict[str, Callable[[Memory], tuple[object, ...]]] = {
    "browse": lambda one: (TIERS.index(one.tier), -one.updated_at.timestamp(), one.id),
    "newest": lambda one: (-one.updated_at.timestamp(), one.id),
    "made": lambda one: (-one.created_at.timestamp(), one.id),
    "oldest": lambda one: (one.created_at.timestamp(), one.id),
}


class FannedStore(FanOut):
    """Satisfies `Store`; what is written is written to the first one."""

    def __init__(self, members: Sequence[Member], first: Store) -> None:
        super().__init__(members, first)
        self.owners: dict[str, Member] = {}
        self.memories = cast(Memories, FannedMemories(self))
        self.keyword = cast(KeywordIndex, FannedKeyword(self))
        self.vectors = cast(VectorIndex, FannedVectors(self))
        self.topics = cast(TopicIndex, FannedTopics(self))
        self.vocabulary = cast(Vocabulary, FannedVocabulary(self))
        self.feedback = first.feedback
        self.folders = first.folders
        self.usage = first.usage

    def labelled(self, found: Response) -> Response:
        """The response, with the collection that each result is from, and what could not take
        part."""
        results = tuple(
            msgspec.structs.replace(result, vault=self.owners[result.id].name)
            if result.id in self.owners and self.owners[result.id].mark
            else result
            for result in found
        )
        missing = (Degraded(*part) for part in (*self.parts.items(), *self.away.items()))
        return msgspec.structs.replace(found, results=results, degraded=(*found.degraded, *missing))

    @property
    def history(self) -> StoredHistory:
        return self.first.history

    def writing(self, change: Change) -> AbstractContextManager[Writing]:
        return self.first.writing(change)

    def writing_many(
        self, change: Change, prepared: PreparedMemories | None = None
    ) -> AbstractContextManager[Writing]:
        return self.first.writing_many(change, prepared)

    def close(self) -> None:
        """The stores are closed by whoever opened them."""


class FannedMemories(FannedPart):
    part = "memories"

    def __init__(self, fan_out: FannedStore) -> None:
        super().__init__(fan_out)
        self._owners = fan_out.owners

    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        found: dict[str, Memory] = {}
        for member, theirs in self._fan_out.ask(
            lambda one: one.store.memories.get(one.inward(ids))
        ):
            for id, memory in theirs.items():
                shown = member.outward(id)
                if shown not in found:
                    found[shown] = member.shown(memory)
                    self._owners[shown] = member
        return found

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        return {id: stamp for id, (_, stamp) in self._fan_out.stamps(ids).items()}

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        return self._together(
            filter, limit, "browse", lambda memories, own: memories.browse(own, limit, after)
        )

    def newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        return self._together(
            filter, limit, "newest", lambda memories, own: memories.newest(own, limit, after)
        )

    def made(self, filter: Filter, limit: int, *, oldest: bool = False) -> list[Memory]:
        return self._together(
            filter,
            limit,
            "oldest" if oldest else "made",
            lambda memories, own: memories.made(own, limit, oldest=oldest),
        )

    def replaced(self, ids: Sequence[str]) -> list[Memory]:
        every = self._fan_out.ask(lambda one: one.store.memories.replaced(one.inward(ids)))
        found = {
            member.outward(each.id): member.shown(each) for member, some in every for each in some
        }
        return sorted(found.values(), key=ORDERS["newest"])

    def values(self, column: UsedColumn) -> list[str]:
        every = self._fan_out.ask(lambda one: one.store.memories.values(column))
        return sorted({value for _, values in every for value in values})

    def projects(self, names: Sequence[str]) -> list[str]:
        every = self._fan_out.ask(lambda one: one.store.memories.projects(names))
        known = {name for _, found in every for name in found}
        return [name for name in names if name in known]

    def _together(
        self,
        filter: Filter,
        limit: int,
        order: str,
        ask: Callable[[Memories, Filter], list[Memory]],
    ) -> list[Memory]:
        """What `ask` gives of each store by its own filter, each memory once, in this order."""
        lists = self._fan_out.ask(lambda one: ask(one.store.memories, one.narrowed(filter)))
        found = self._fan_out.distinct(lists, lambda memory: memory.id)
        every = (member.shown(memory) for member, memory, _ in found)
        return sorted(every, key=ORDERS[order])[:limit]

    def facets(self, filter: Filter, now: datetime) -> Facets:
        every = [
            counts
            for _, counts in self._fan_out.ask(
                lambda one: one.store.memories.facets(self._owned(one, filter), now)
            )
        ]
        summed = Facets(*(_summed(counts) for counts in zip(NOTHING, *every, strict=True)))
        best = (
            dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))) for counts in summed
        )
        return Facets(*best)._replace(age=summed.age)

    def _owned(self, member: Member, filter: Filter) -> Filter:
        """The filter without the ids whose version is another store's."""
        among = filter.among
        if among is not None:
            among = tuple(id for id in among if self._owners.get(id, member) is member)
        return member.narrowed(msgspec.structs.replace(filter, among=among))


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    whole: Counter[str] = Counter()
    for each in counts:
        whole.update(each)
    return dict(whole)
