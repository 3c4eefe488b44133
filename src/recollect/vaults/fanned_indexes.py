"""The indexes of the personal store, with those of every collection behind them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from recollect.store.base import (
    Coverage,
    KeywordIndex,
    KeywordIndexName,
    KeywordMatches,
    Match,
    TopicIndex,
    VectorIndex,
    VectorMatch,
    Vocabulary,
    Waiting,
)
from recollect.types import Filter, Memory, Span
from recollect.vaults.fan_out import OVER_FETCH, FanOut

if TYPE_CHECKING:
    from recollect.store.base import Vector


class FannedKeyword(KeywordIndex):
    def __init__(self, fan_out: FanOut) -> None:
        self._fan_out = fan_out

    def match(
        self,
        index: KeywordIndexName,
        expression: str,
        weights: Mapping[str, float],
        limit: int,
        filter: Filter,
    ) -> KeywordMatches:
        more = OVER_FETCH * limit
        own = self._fan_out.personal.keyword.match(index, expression, weights, more, filter)
        others = self._fan_out.ask(
            lambda collection: (
                collection.store.keyword.match(
                    index, expression, weights, more, collection.narrowed(filter)
                ).matches
            )
        )
        return KeywordMatches(self._fan_out.merged(own.matches, others, limit), own.note)

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        """The most that any of them counts, as of the vocabulary."""
        found = dict(self._fan_out.personal.keyword.holding(index, words))
        for _, counts in self._fan_out.ask(
            lambda collection: collection.store.keyword.holding(index, words)
        ):
            found = {word: max(count, counts[word]) for word, count in found.items()}
        return found

    def tokens(self, text: str) -> list[str]:
        return self._fan_out.personal.keyword.tokens(text)

    def snippets(
        self, index: KeywordIndexName, expression: str, memories: Sequence[Memory]
    ) -> dict[str, str]:
        return self._fan_out.personal.keyword.snippets(index, expression, memories)


class FannedVectors(VectorIndex):
    def __init__(self, fan_out: FanOut) -> None:
        self._fan_out = fan_out

    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        more = OVER_FETCH * limit
        own = self._fan_out.personal.vectors.nearest(identity, vector, more, filter, dimensions)
        others = self._fan_out.ask(
            lambda collection: collection.store.vectors.nearest(
                identity, vector, more, collection.narrowed(filter), dimensions
            )
        )
        return self._fan_out.merged(own, others, limit)

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        found = dict(self._fan_out.personal.vectors.similarities(identity, vector, ids, dimensions))
        for collection, near in self._fan_out.ask(
            lambda collection: collection.store.vectors.similarities(
                identity, vector, collection.inward(ids), dimensions
            )
        ):
            found |= {collection.outward(id): cosine for id, cosine in near.items()}
        return found

    def between(self, identity: str, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        """Of two memories of different vaults nothing is known."""
        found = dict(self._fan_out.personal.vectors.between(identity, ids))
        for collection, near in self._fan_out.ask(
            lambda collection: collection.store.vectors.between(identity, collection.inward(ids))
        ):
            found |= {
                (collection.outward(a), collection.outward(b)): cosine
                for (a, b), cosine in near.items()
            }
        return found

    def coverage(self, identity: str) -> Coverage:
        every = [self._fan_out.personal.vectors.coverage(identity)]
        every += [
            theirs
            for _, theirs in self._fan_out.ask(
                lambda collection: collection.store.vectors.coverage(identity)
            )
        ]
        return Coverage(sum(one.embedded for one in every), sum(one.memories for one in every))

    def put(
        self,
        identity: str,
        dimensions: int,
        vectors: Iterable[tuple[int, Vector]],
        texts: Mapping[int, str] | None = None,
        spans: Sequence[Span] | None = None,
        *,
        patient: bool = True,
    ) -> None:
        own = self._fan_out.personal.vectors
        own.put(identity, dimensions, vectors, texts, spans, patient=patient)

    def waiting(
        self,
        identity: str,
        limit: int,
        *,
        size: int | None = None,
        among: Sequence[str] | None = None,
        without: Collection[int] = (),
    ) -> list[Waiting]:
        own = self._fan_out.personal.vectors
        return own.waiting(identity, limit, size=size, among=among, without=without)

    def lease(self) -> AbstractContextManager[bool]:
        return self._fan_out.personal.vectors.lease()

    def adopt(self, identity: str, dimensions: int) -> None:
        self._fan_out.personal.vectors.adopt(identity, dimensions)

    def remove(self, identity: str) -> int:
        return self._fan_out.personal.vectors.remove(identity)

    def keep_only(self, identity: str) -> int:
        return self._fan_out.personal.vectors.keep_only(identity)


class FannedTopics(TopicIndex):
    def __init__(self, fan_out: FanOut) -> None:
        self._fan_out = fan_out

    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        more = OVER_FETCH * limit
        own = self._fan_out.personal.topics.carrying(words, more, filter)
        others = self._fan_out.ask(
            lambda collection: collection.store.topics.carrying(
                words, more, collection.narrowed(filter)
            )
        )
        return self._fan_out.merged(own, others, limit, newest=True)


class FannedVocabulary(Vocabulary):
    """The most that any of them counts: copies of what one has already add nothing."""

    def __init__(self, fan_out: FanOut) -> None:
        self._fan_out = fan_out

    def documents(self) -> int:
        others = self._fan_out.ask(lambda collection: collection.store.vocabulary.documents())
        return max(self._fan_out.personal.vocabulary.documents(), *(n for _, n in others), 0)

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        words = list(tokens)
        found = dict(self._fan_out.personal.vocabulary.frequencies(words))
        for _, counts in self._fan_out.ask(
            lambda collection: collection.store.vocabulary.frequencies(words)
        ):
            for word, count in counts.items():
                found[word] = max(found.get(word, 0), count)
        return found

    def similar(self, words: Sequence[str]) -> dict[str, list[str]]:
        return self._fan_out.personal.vocabulary.similar(words)
