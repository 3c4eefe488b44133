"""The indexes of several stores as one. What is not asked of all of them is the first one's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from recollect.errors import DimensionMismatch
from recollect.query.fts5 import each_counted
from recollect.store.base import (
    Coverage,
    KeywordIndexName,
    KeywordMatches,
    KeywordQuery,
    KeywordStatistics,
    Match,
    NearPassage,
    StoredVector,
    VectorMatch,
)
from recollect.types import Filter
from recollect.vaults.fan_out import Answer, FanOut, Member

if TYPE_CHECKING:
    from recollect.store.base import Vector


class FannedPart:
    """A part of a store, by its name there."""

    part: str

    def __init__(self, fan_out: FanOut) -> None:
        self._fan_out = fan_out

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._fan_out.first, self.part), name)


class FannedKeyword(FannedPart):
    """Ranks by what the indexes count together, so that scores of different stores compare."""

    part = "keyword"

    def __init__(self, fan_out: FanOut) -> None:
        super().__init__(fan_out)
        self._counted: dict[tuple[str, str], KeywordStatistics] = {}

    def match(self, query: KeywordQuery) -> KeywordMatches:
        if not query.expression:
            return KeywordMatches([])
        common = query.common or self.statistics(query.index, query.expression)
        asked = replace(query, limit=self._fan_out.depth(query.limit), common=common)
        found = self._fan_out.ask(
            lambda one: one.store.keyword.match(replace(asked, filter=one.narrowed(query.filter)))
        )
        lists = [(member, matched.matches) for member, matched in found]
        note = next((matched.note for _, matched in found if matched.note), None)
        return KeywordMatches(self._fan_out.merged(lists, query.limit), note)

    def statistics(self, index: KeywordIndexName, expression: str) -> KeywordStatistics:
        if (index, expression) not in self._counted:
            found = self._fan_out.ask(lambda one: one.store.keyword.statistics(index, expression))
            every = [counted for _, counted in found]
            self._counted[index, expression] = KeywordStatistics(
                max(counted.rows for counted in every),
                max(counted.tokens for counted in every),
                tuple(map(max, zip_longest(*(one.holding for one in every), fillvalue=0))),
            )
        return self._counted[index, expression]

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        return each_counted(words, lambda asked: self.statistics(index, asked).holding)

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        found = self._fan_out.ask(lambda one: one.store.keyword.terms(index, start))
        return sorted(set(chain.from_iterable(terms for _, terms in found)))


class FannedVectors(FannedPart):
    """A vault whose vectors are of another model or width is searched without them, which `parts`
    says; its vectors are compared with nothing."""

    part = "vectors"

    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        depth = self._fan_out.depth(limit)
        found = self._compared(
            lambda one: one.store.vectors.nearest(
                identity, vector, depth, one.narrowed(filter), dimensions
            )
        )
        return self._fan_out.merged(found, limit)

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        found = self._compared(
            lambda one: one.store.vectors.similarities(
                identity, vector, one.inward(ids), dimensions
            )
        )
        return self._fan_out.owned(found)

    def nearest_passages(
        self, identity: str, vector: Vector, ids: Sequence[str]
    ) -> dict[str, NearPassage]:
        found = self._compared(
            lambda one: one.store.vectors.nearest_passages(identity, vector, one.inward(ids))
        )
        return self._fan_out.owned(found)

    def _compared(self, question: Callable[[Member], Answer]) -> list[tuple[Member, Answer]]:
        """What those answer whose vectors fit; an error where none do."""
        failed: list[DimensionMismatch] = []

        def fitting(member: Member) -> Answer | None:
            try:
                return question(member)
            except DimensionMismatch as error:
                failed.append(error)
                self._fan_out.parts[f"{member.name}/vector"] = str(error)
                return None

        asked = self._fan_out.ask(fitting)
        if failed and len(failed) == len(asked):
            raise failed[0]
        return [(member, answer) for member, answer in asked if answer is not None]

    def between(self, identity: str, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        from recollect.store.sqlite.vector_rows import between  # noqa: PLC0415  start-up time

        stored = self.stored(identity, ids)
        return between({id: stored[id] for id in ids if id in stored})

    def stored(self, identity: str, ids: Sequence[str]) -> dict[str, list[StoredVector]]:
        return self._fan_out.owned(
            self._fan_out.ask(lambda one: one.store.vectors.stored(identity, one.inward(ids)))
        )

    def coverage(self, identity: str) -> Coverage:
        found = self._fan_out.ask(lambda one: one.store.vectors.coverage(identity))
        return Coverage(*map(sum, zip(*(one for _, one in found), strict=True)))


class FannedTopics(FannedPart):
    part = "topics"

    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        depth = self._fan_out.depth(limit)
        found = self._fan_out.ask(
            lambda one: one.store.topics.carrying(words, depth, one.narrowed(filter))
        )
        return self._fan_out.merged(found, limit, newest=True)


class FannedVocabulary(FannedPart):
    part = "vocabulary"

    def documents(self) -> int:
        found = self._fan_out.ask(lambda one: one.store.vocabulary.documents())
        return max(documents for _, documents in found)

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        words = list(tokens)
        return self._together(lambda one: one.store.vocabulary.frequencies(words))

    def beginning(self, start: str, shortest: int, longest: int) -> dict[str, int]:
        return self._together(lambda one: one.store.vocabulary.beginning(start, shortest, longest))

    def _together(self, count: Callable[[Member], dict[str, int]]) -> dict[str, int]:
        found = [counts for _, counts in self._fan_out.ask(count)]
        return {
            word: max(counts.get(word, 0) for counts in found)
            for word in dict.fromkeys(chain(*found))
        }
