"""Several stores as one.

Shared collections hold copies of memories. Source: the `gnosis` recipe, "Fan-out": fetch up to
twice as many where there are collections, drop repeats by content hash (the personal copy stays),
cut back. A memory of a collection is known as `collection:id`.

A vault as of a past moment is two stores: what has not changed since, and the rest as it was.
Candidates are combined where they are recalled, so every recipe sees one store. Counts of memories
and tokens are the largest of any single store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from recollect.errors import DimensionMismatch, RecollectError
from recollect.index import KeywordStatistics
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
from recollect.store.memory_rows import TIERS
from recollect.store.vector_codes import between
from recollect.types import Degraded, Filter, Memory, Place, Response, order
from recollect.vaults.known import HOME

if TYPE_CHECKING:
    from recollect.store.base import Vector

MARK = ":"
OVER_FETCH = 2
Candidate = TypeVar("Candidate", Match, VectorMatch)
Answer = TypeVar("Answer")
Item = TypeVar("Item")
# Sort keys of the orders in which a store lists memories.
ORDERS: dict[str, Callable[[Memory], tuple[object, ...]]] = {
    "browse": lambda one: (TIERS.index(one.tier), -one.updated_at.timestamp(), one.id),
    "newest": lambda one: (-one.updated_at.timestamp(), one.id),
    "made": lambda one: (-one.created_at.timestamp(), one.id),
    "oldest": lambda one: (one.created_at.timestamp(), one.id),
}


class Member(NamedTuple):
    """One of several stores.

    mark: prefix of the ids of its memories.
    unchanged_since: number of a write; the store is asked only for what has not changed since.
    changed: ids of the memories that have changed since.
    """

    name: str
    store: Store
    mark: str = ""
    unchanged_since: int | None = None
    changed: Set[str] = frozenset()

    def outward(self, id: str) -> str:
        return f"{self.mark}{id}"

    def inward(self, ids: Iterable[str]) -> list[str]:
        """Return the ids among these that this store answers for, without its mark."""
        own = (id.removeprefix(self.mark) for id in ids if id.startswith(self.mark))
        return [id for id in own if id not in self.changed]

    def narrow(self, filter: Filter) -> Filter:
        if self.unchanged_since is not None:
            filter = replace(filter, unchanged_since=self.unchanged_since)
        if filter.among is None or not self.mark:
            return filter
        return replace(filter, among=tuple(self.inward(filter.among)))

    def with_mark(self, memory: Memory) -> Memory:
        if not self.mark:
            return memory
        newer = memory.superseded_by and self.outward(memory.superseded_by)
        return replace(memory, id=self.outward(memory.id), superseded_by=newer)


class CombinedStore:
    """Several stores, in order; satisfies `Store`.

    A store that fails is left out from then on, except the home's own, whose errors are raised.

    first: is written to, and answers whatever is not asked of all.
    away: why a store was left out, by its name.
    parts: what a store could not do, by `name/part`.
    owners: the store of each memory that was read.
    """

    def __init__(self, members: Sequence[Member], first: Store) -> None:
        self.members = tuple(members)
        self.first = first
        self.away: dict[str, str] = {}
        self.parts: dict[str, str] = {}
        self.owners: dict[str, Member] = {}
        self.memories = cast(Memories, CombinedMemories(self))
        self.keyword = cast(KeywordIndex, CombinedKeyword(self))
        self.vectors = cast(VectorIndex, CombinedVectors(self))
        self.topics = cast(TopicIndex, CombinedTopics(self))
        self.vocabulary = cast(Vocabulary, CombinedVocabulary(self))
        self.feedback = first.feedback
        self.folders = first.folders
        self.usage = first.usage
        self.history = first.history
        self.writing = first.writing
        self.writing_many = first.writing_many

    def label_results(self, found: Response) -> Response:
        """Name the collection of each result, and list the stores that could not answer."""
        results = tuple(
            replace(result, vault=self.owners[result.id].name)
            if result.id in self.owners and self.owners[result.id].mark
            else result
            for result in found
        )
        missing = (Degraded(*part) for part in (*self.parts.items(), *self.away.items()))
        return replace(found, results=results, degraded=(*found.degraded, *missing))

    def close(self) -> None:
        """Do nothing: the code that opened the stores closes them."""

    def ask(self, question: Callable[[Member], Answer]) -> list[tuple[Member, Answer]]:
        """Return each store's answer; a store that fails is left out and noted in `away`."""
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

    def answers(self, question: Callable[[Member], Answer]) -> list[Answer]:
        """Return the stores' answers without the stores."""
        return [answer for _, answer in self.ask(question)]

    def first_by_id(
        self, answers: Sequence[tuple[Member, Mapping[str, Answer]]]
    ) -> dict[str, Answer]:
        """Return the value of each memory from the first store that has one."""
        values: dict[str, Answer] = {}
        for member, known in answers:
            for id, value in known.items():
                values.setdefault(member.outward(id), value)
        return values

    def depth(self, limit: int) -> int:
        """Return the limit for each store, so that `limit` are left without repeats."""
        return OVER_FETCH * limit if any(member.mark for member in self.members) else limit

    def merge(
        self,
        lists: Sequence[tuple[Member, Sequence[Candidate]]],
        limit: int,
        newest: bool = False,
    ) -> list[Candidate]:
        """Merge candidates by score, then id; with `newest` by score, then time, as for topics."""
        candidates: list[tuple[Candidate, float]] = []
        for member, match, updated_at in self.distinct(lists, lambda one: one.memory_id):
            match = match._replace(memory_id=member.outward(match.memory_id))
            candidates.append((match, updated_at if newest else 0.0))
        candidates.sort(key=lambda one: order(one[0].score, one[0].memory_id, one[1]))
        return [match for match, _ in candidates[:limit]]

    def distinct(
        self, lists: Sequence[tuple[Member, Sequence[Item]]], id_of: Callable[[Item], str]
    ) -> Iterator[tuple[Member, Item, float]]:
        """Yield each item with its store and the time of its last change.

        Only the first store's version of an id, and only the first of several copies.
        """
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
        """Return the stamp of each of these memories, with the first store that has it."""
        first: dict[str, tuple[Member, MemoryStamp]] = {}
        for member, stamps in self.ask(lambda one: one.store.memories.stamps(one.inward(ids))):
            for id, stamp in stamps.items():
                first.setdefault(member.outward(id), (member, stamp))
        return first


class CombinedPart:
    """A part of a store, by its name there."""

    part: str

    def __init__(self, store: CombinedStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._store.first, self.part), name)


class CombinedKeyword(CombinedPart):
    """Ranks with statistics over all stores, so that scores of different stores compare."""

    part = "keyword"

    def __init__(self, store: CombinedStore) -> None:
        super().__init__(store)
        self._counted: dict[tuple[str, str], KeywordStatistics] = {}

    def match(self, query: KeywordQuery) -> KeywordMatches:
        if not query.expression:
            return KeywordMatches([])
        common = query.common or self.statistics(query.index, query.expression)
        asked = replace(query, limit=self._store.depth(query.limit), common=common)
        answers = self._store.ask(
            lambda one: one.store.keyword.match(replace(asked, filter=one.narrow(query.filter)))
        )
        lists = [(member, matched.matches) for member, matched in answers]
        note = next((matched.note for _, matched in answers if matched.note), None)
        return KeywordMatches(self._store.merge(lists, query.limit), note)

    def statistics(self, index: KeywordIndexName, expression: str) -> KeywordStatistics:
        if (index, expression) not in self._counted:
            every = self._store.answers(lambda one: one.store.keyword.statistics(index, expression))
            self._counted[index, expression] = KeywordStatistics(
                max(counted.rows for counted in every),
                max(counted.tokens for counted in every),
                tuple(map(max, zip_longest(*(one.holding for one in every), fillvalue=0))),
            )
        return self._counted[index, expression]

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        return each_counted(words, lambda asked: self.statistics(index, asked).holding)

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        lists = self._store.answers(lambda one: one.store.keyword.terms(index, start))
        return sorted({*chain(*lists)})


class CombinedVectors(CombinedPart):
    """A store with vectors of another model or width is searched without them; `parts` says so."""

    part = "vectors"

    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        depth = self._store.depth(limit)
        answers = self._ask_fitting(
            identity,
            lambda one: one.store.vectors.nearest(
                identity, vector, depth, one.narrow(filter), dimensions
            ),
        )
        return self._store.merge(answers, limit)

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        answers = self._ask_fitting(
            identity,
            lambda one: one.store.vectors.similarities(
                identity, vector, one.inward(ids), dimensions
            ),
        )
        return self._store.first_by_id(answers)

    def nearest_passages(
        self, identity: str, vector: Vector, ids: Sequence[str]
    ) -> dict[str, NearPassage]:
        answers = self._ask_fitting(
            identity,
            lambda one: one.store.vectors.nearest_passages(identity, vector, one.inward(ids)),
        )
        return self._store.first_by_id(answers)

    def prepare(self, identity: str) -> None:
        """Hook that runs before vectors of this model are read."""

    def _ask_fitting(
        self, identity: str, question: Callable[[Member], Answer]
    ) -> list[tuple[Member, Answer]]:
        """Return the answers of the stores whose vectors fit; DimensionMismatch if no store's
        do."""
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
        stored = self.read_vectors(identity, ids)
        return between({id: stored[id] for id in ids if id in stored})

    def read_vectors(self, identity: str, ids: Sequence[str]) -> dict[str, list[StoredVector]]:
        self.prepare(identity)
        found = self._store.ask(
            lambda one: one.store.vectors.read_vectors(identity, one.inward(ids))
        )
        return self._store.first_by_id(found)

    def coverage(self, identity: str) -> Coverage:
        every = self._store.answers(lambda one: one.store.vectors.coverage(identity))
        return Coverage(*map(sum, zip(*every, strict=True)))


class CombinedTopics(CombinedPart):
    part = "topics"

    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        depth = self._store.depth(limit)
        answers = self._store.ask(
            lambda one: one.store.topics.carrying(words, depth, one.narrow(filter))
        )
        return self._store.merge(answers, limit, newest=True)


class CombinedVocabulary(CombinedPart):
    part = "vocabulary"

    def documents(self) -> int:
        return max(self._store.answers(lambda one: one.store.vocabulary.documents()))

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        words = list(tokens)
        return self._together(lambda one: one.store.vocabulary.frequencies(words))

    def beginning(self, start: str, shortest: int, longest: int) -> dict[str, int]:
        return self._together(lambda one: one.store.vocabulary.beginning(start, shortest, longest))

    def _together(self, count: Callable[[Member], dict[str, int]]) -> dict[str, int]:
        answers = self._store.answers(count)
        return {
            word: max(counts.get(word, 0) for counts in answers)
            for word in dict.fromkeys(chain(*answers))
        }


class CombinedMemories(CombinedPart):
    part = "memories"

    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        memories: dict[str, Memory] = {}
        for member, theirs in self._store.ask(lambda one: one.store.memories.get(one.inward(ids))):
            for id, memory in theirs.items():
                shown = member.outward(id)
                if shown not in memories:
                    memories[shown] = member.with_mark(memory)
                    self._store.owners[shown] = member
        return memories

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

    def list_replaced(self, ids: Sequence[str]) -> list[Memory]:
        every = self._store.ask(lambda one: one.store.memories.list_replaced(one.inward(ids)))
        found = {
            member.outward(each.id): member.with_mark(each)
            for member, some in every
            for each in some
        }
        return sorted(found.values(), key=ORDERS["newest"])

    def values(self, column: UsedColumn) -> list[str]:
        return sorted({*chain(*self._store.answers(lambda one: one.store.memories.values(column)))})

    def projects(self, names: Sequence[str]) -> list[str]:
        known = {*chain(*self._store.answers(lambda one: one.store.memories.projects(names)))}
        return [name for name in names if name in known]

    def _together(
        self,
        filter: Filter,
        limit: int,
        order: str,
        ask: Callable[[Memories, Filter], list[Memory]],
    ) -> list[Memory]:
        """Return each memory once, in this order. `ask` gets a store's memories and its filter."""
        lists = self._store.ask(lambda one: ask(one.store.memories, one.narrow(filter)))
        first = self._store.distinct(lists, lambda memory: memory.id)
        every = (member.with_mark(memory) for member, memory, _ in first)
        return sorted(every, key=ORDERS[order])[:limit]

    def facets(self, filter: Filter, now: datetime) -> Facets:
        every = self._store.answers(
            lambda one: one.store.memories.facets(self._own_filter(one, filter), now)
        )
        summed = Facets(
            *(
                {name: sum(each.get(name, 0) for each in counts) for name in chain(*counts)}
                for counts in zip(*every, strict=True)
            )
        )
        best = (
            dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))) for counts in summed
        )
        return Facets(*best)._replace(age=summed.age)

    def _own_filter(self, member: Member, filter: Filter) -> Filter:
        """Return the filter without ids that were read from another store."""
        among = filter.among
        if among is not None:
            among = tuple(id for id in among if self._store.owners.get(id, member) is member)
        return member.narrow(replace(filter, among=among))
