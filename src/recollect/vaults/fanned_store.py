"""Several stores as one.

Shared collections stand behind one's own vault: they hold copies. Source: the `gnosis` recipe,
"Fan-out": fetch up to twice as many where there are collections, drop repeats by content hash (the
personal copy stays), cut back. A memory of a collection is known as `collection:id`.

A vault of the past is two stores: what has not changed since, and the rest as it was. Both happen
where candidates are recalled, so every recipe has it, and what follows sees one store. The most
that any of the stores counts is what all count together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from recollect.errors import DimensionMismatch, RecollectError
from recollect.index.base import KeywordStatistics
from recollect.query.fts5 import each_counted
from recollect.store.base import (
    Coverage,
    Facets,
    KeywordIndex,
    KeywordIndexName,
    KeywordMatches,
    KeywordQuery,
    Match,
    Memories,
    MemoryStamp,
    NearPassage,
    Store,
    StoredVector,
    TopicIndex,
    UsedColumn,
    VectorIndex,
    VectorMatch,
    Vocabulary,
)
from recollect.store.cosines import between
from recollect.store.memory_rows import TIERS
from recollect.types import Degraded, Filter, Memory, Place, Response, order
from recollect.vaults.known import HOME

if TYPE_CHECKING:
    from recollect.store.base import Vector

MARK = ":"
OVER_FETCH = 2
Candidate = TypeVar("Candidate", Match, VectorMatch)
Answer = TypeVar("Answer")
Item = TypeVar("Item")
# How several lists become one, as each is ordered itself.
ORDERS: dict[str, Callable[[Memory], tuple[object, ...]]] = {
    "browse": lambda one: (TIERS.index(one.tier), -one.updated_at.timestamp(), one.id),
    "newest": lambda one: (-one.updated_at.timestamp(), one.id),
    "made": lambda one: (-one.created_at.timestamp(), one.id),
    "oldest": lambda one: (one.created_at.timestamp(), one.id),
}


class Member(NamedTuple):
    """One of several stores. `mark` stands before the ids of its memories. With `unchanged_since`,
    the number of a write, it is asked for what has not changed since; `changed` are the ids of what
    has."""

    name: str
    store: Store
    mark: str = ""
    unchanged_since: int | None = None
    changed: Set[str] = frozenset()

    def outward(self, id: str) -> str:
        return f"{self.mark}{id}"

    def inward(self, ids: Iterable[str]) -> list[str]:
        """The store's own ids among these."""
        own = (id.removeprefix(self.mark) for id in ids if id.startswith(self.mark))
        return [id for id in own if id not in self.changed]

    def narrowed(self, filter: Filter) -> Filter:
        if self.unchanged_since is not None:
            filter = replace(filter, unchanged_since=self.unchanged_since)
        if filter.among is None or not self.mark:
            return filter
        return replace(filter, among=tuple(self.inward(filter.among)))

    def shown(self, memory: Memory) -> Memory:
        if not self.mark:
            return memory
        newer = memory.superseded_by and self.outward(memory.superseded_by)
        return replace(memory, id=self.outward(memory.id), superseded_by=newer)


class FannedStore:
    """Several stores, in order; satisfies `Store`. One that cannot be read takes no part from then
    on; `away` says which, and why, and `parts` what a store could not do. What one's own cannot
    answer is an error. `first` answers what is not asked of all, and is written to. `owners`: the
    store of each memory that was read.
    """

    def __init__(self, members: Sequence[Member], first: Store) -> None:
        self.members = tuple(members)
        self.first = first
        self.away: dict[str, str] = {}
        self.parts: dict[str, str] = {}
        self.owners: dict[str, Member] = {}
        self.memories = cast(Memories, FannedMemories(self))
        self.keyword = cast(KeywordIndex, FannedKeyword(self))
        self.vectors = cast(VectorIndex, FannedVectors(self))
        self.topics = cast(TopicIndex, FannedTopics(self))
        self.vocabulary = cast(Vocabulary, FannedVocabulary(self))
        self.feedback = first.feedback
        self.folders = first.folders
        self.usage = first.usage
        self.history = first.history
        self.writing = first.writing
        self.writing_many = first.writing_many

    def labelled(self, found: Response) -> Response:
        """The response, with the collection that each result is from, and what could not take
        part."""
        results = tuple(
            replace(result, vault=self.owners[result.id].name)
            if result.id in self.owners and self.owners[result.id].mark
            else result
            for result in found
        )
        missing = (Degraded(*part) for part in (*self.parts.items(), *self.away.items()))
        return replace(found, results=results, degraded=(*found.degraded, *missing))

    def close(self) -> None:
        """The stores are closed by whoever opened them."""

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

    def every(self, question: Callable[[Member], Answer]) -> list[Answer]:
        """What each store answers, without saying which."""
        return [answer for _, answer in self.ask(question)]

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


class FannedPart:
    """A part of a store, by its name there."""

    part: str

    def __init__(self, store: FannedStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._store.first, self.part), name)


class FannedKeyword(FannedPart):
    """Ranks by what the indexes count together, so that scores of different stores compare."""

    part = "keyword"

    def __init__(self, store: FannedStore) -> None:
        super().__init__(store)
        self._counted: dict[tuple[str, str], KeywordStatistics] = {}

    def match(self, query: KeywordQuery) -> KeywordMatches:
        if not query.expression:
            return KeywordMatches([])
        common = query.common or self.statistics(query.index, query.expression)
        asked = replace(query, limit=self._store.depth(query.limit), common=common)
        found = self._store.ask(
            lambda one: one.store.keyword.match(replace(asked, filter=one.narrowed(query.filter)))
        )
        lists = [(member, matched.matches) for member, matched in found]
        note = next((matched.note for _, matched in found if matched.note), None)
        return KeywordMatches(self._store.merged(lists, query.limit), note)

    def statistics(self, index: KeywordIndexName, expression: str) -> KeywordStatistics:
        if (index, expression) not in self._counted:
            every = self._store.every(lambda one: one.store.keyword.statistics(index, expression))
            self._counted[index, expression] = KeywordStatistics(
                max(counted.rows for counted in every),
                max(counted.tokens for counted in every),
                tuple(map(max, zip_longest(*(one.holding for one in every), fillvalue=0))),
            )
        return self._counted[index, expression]

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        return each_counted(words, lambda asked: self.statistics(index, asked).holding)

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        found = self._store.every(lambda one: one.store.keyword.terms(index, start))
        return sorted({*chain(*found)})


class FannedVectors(FannedPart):
    """A vault whose vectors are of another model or width is searched without them, which `parts`
    says; its vectors are compared with nothing."""

    part = "vectors"

    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        depth = self._store.depth(limit)
        found = self._compared(
            identity,
            lambda one: one.store.vectors.nearest(
                identity, vector, depth, one.narrowed(filter), dimensions
            ),
        )
        return self._store.merged(found, limit)

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        found = self._compared(
            identity,
            lambda one: one.store.vectors.similarities(
                identity, vector, one.inward(ids), dimensions
            ),
        )
        return self._store.owned(found)

    def nearest_passages(
        self, identity: str, vector: Vector, ids: Sequence[str]
    ) -> dict[str, NearPassage]:
        found = self._compared(
            identity,
            lambda one: one.store.vectors.nearest_passages(identity, vector, one.inward(ids)),
        )
        return self._store.owned(found)

    def prepare(self, identity: str) -> None:
        """Called before vectors of this model are read."""

    def _compared(
        self, identity: str, question: Callable[[Member], Answer]
    ) -> list[tuple[Member, Answer]]:
        """What those answer whose vectors fit; an error where none do."""
        self.prepare(identity)
        failed: list[DimensionMismatch] = []

        def fitting(member: Member) -> Answer | None:
            try:
                return question(member)
            except DimensionMismatch as error:
                failed.append(error)
                self._store.parts[f"{member.name}/vector"] = str(error)
                return None

        asked = self._store.ask(fitting)
        if failed and len(failed) == len(asked):
            raise failed[0]
        return [(member, answer) for member, answer in asked if answer is not None]

    def between(self, identity: str, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        stored = self.stored(identity, ids)
        return between({id: stored[id] for id in ids if id in stored})

    def stored(self, identity: str, ids: Sequence[str]) -> dict[str, list[StoredVector]]:
        self.prepare(identity)
        found = self._store.ask(lambda one: one.store.vectors.stored(identity, one.inward(ids)))
        return self._store.owned(found)

    def coverage(self, identity: str) -> Coverage:
        every = self._store.every(lambda one: one.store.vectors.coverage(identity))
        return Coverage(*map(sum, zip(*every, strict=True)))


class FannedTopics(FannedPart):
    part = "topics"

    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        depth = self._store.depth(limit)
        found = self._store.ask(
            lambda one: one.store.topics.carrying(words, depth, one.narrowed(filter))
        )
        return self._store.merged(found, limit, newest=True)


class FannedVocabulary(FannedPart):
    part = "vocabulary"

    def documents(self) -> int:
        return max(self._store.every(lambda one: one.store.vocabulary.documents()))

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        words = list(tokens)
        return self._together(lambda one: one.store.vocabulary.frequencies(words))

    def beginning(self, start: str, shortest: int, longest: int) -> dict[str, int]:
        return self._together(lambda one: one.store.vocabulary.beginning(start, shortest, longest))

    def _together(self, count: Callable[[Member], dict[str, int]]) -> dict[str, int]:
        found = self._store.every(count)
        return {
            word: max(counts.get(word, 0) for counts in found)
            for word in dict.fromkeys(chain(*found))
        }


class FannedMemories(FannedPart):
    part = "memories"

    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        found: dict[str, Memory] = {}
        for member, theirs in self._store.ask(lambda one: one.store.memories.get(one.inward(ids))):
            for id, memory in theirs.items():
                shown = member.outward(id)
                if shown not in found:
                    found[shown] = member.shown(memory)
                    self._store.owners[shown] = member
        return found

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        return {id: stamp for id, (_, stamp) in self._store.stamps(ids).items()}

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
        every = self._store.ask(lambda one: one.store.memories.replaced(one.inward(ids)))
        found = {
            member.outward(each.id): member.shown(each) for member, some in every for each in some
        }
        return sorted(found.values(), key=ORDERS["newest"])

    def values(self, column: UsedColumn) -> list[str]:
        return sorted({*chain(*self._store.every(lambda one: one.store.memories.values(column)))})

    def projects(self, names: Sequence[str]) -> list[str]:
        known = {*chain(*self._store.every(lambda one: one.store.memories.projects(names)))}
        return [name for name in names if name in known]

    def _together(
        self,
        filter: Filter,
        limit: int,
        order: str,
        ask: Callable[[Memories, Filter], list[Memory]],
    ) -> list[Memory]:
        """What `ask` gives of each store by its own filter, each memory once, in this order."""
        lists = self._store.ask(lambda one: ask(one.store.memories, one.narrowed(filter)))
        found = self._store.distinct(lists, lambda memory: memory.id)
        every = (member.shown(memory) for member, memory, _ in found)
        return sorted(every, key=ORDERS[order])[:limit]

    def facets(self, filter: Filter, now: datetime) -> Facets:
        every = self._store.every(
            lambda one: one.store.memories.facets(self._owned(one, filter), now)
        )
        summed = Facets(*map(_summed, zip(*every, strict=True)))
        best = (
            dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))) for counts in summed
        )
        return Facets(*best)._replace(age=summed.age)

    def _owned(self, member: Member, filter: Filter) -> Filter:
        """The filter without the ids whose version is another store's."""
        among = filter.among
        if among is not None:
            among = tuple(id for id in among if self._store.owners.get(id, member) is member)
        return member.narrowed(replace(filter, among=among))


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    whole: Counter[str] = Counter()
    for each in counts:
        whole.update(each)
    return dict(whole)
