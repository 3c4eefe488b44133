"""Signals of words and meaning: names, titles, TF-IDF, ranks, cosines, the first person."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import hypot, log

from recollect.context import ChannelRole, SearchContext, passages_of
from recollect.fuse import reciprocal
from recollect.query.terms import compose, keywords, semantic_text, words
from recollect.recipes.ranges import Share, Smoothing, Weight
from recollect.signals.base import Signal, SignalValue
from recollect.types import Ranking

# Case matters: "US" is a country.
FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|us|[Oo]urs?|[Oo]urselves)\b")


class ExactMatch(Signal, frozen=True, tag="exact", kw_only=True):
    """The share of the query's exact terms that the memory holds, ignoring case and accents:
    identifiers, versions, paths, quoted phrases."""

    about = "holds an exact term"
    family = "literal"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        names = context.understanding.names
        if not names:
            return {}
        held = {id: [term for term in context.exact_terms(id) if term in names] for id in ids}
        return {id: _value(terms, len(names)) for id, terms in held.items()}


def _value(found: Sequence[str], terms: int) -> SignalValue:
    how = f"holds {len(found)} of {terms} exact terms"
    named = f": {', '.join(found)}" if found else ""
    return SignalValue(len(found) / terms, how + named)


def holds_all(title: str, query: str) -> bool:
    """Return True if each white-space-separated word of the query is a substring of the title,
    ignoring case: `roadmap 1.4` is in `v1.4-ROADMAP.md`. False for an empty query."""
    wanted, folded = _folded_pieces(query), compose(title).casefold()
    return bool(wanted) and all(map(folded.__contains__, wanted))


@lru_cache(maxsize=16)  # the current queries
def _folded_pieces(query: str) -> list[str]:
    return compose(query).casefold().split()


PART = SignalValue(0.0, "not every word is in the title")


class Title(Signal, frozen=True, tag="title", kw_only=True):
    """`bonus` if the title holds every word of the query; a file's title is its path."""

    about = "words in the title"
    family = "structure"

    bonus: Weight = 0.01

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        whole = SignalValue(self.bonus, "every word is in the title")
        query = context.search.query
        return {id: whole if holds_all(context.memory(id).title, query) else PART for id in ids}


def idf(documents: int, holding: int) -> float:
    """Return `ln((N + 1) / (df + 1)) + 1` over N live memories; an unknown token has df = 0."""
    return log((documents + 1) / (holding + 1)) + 1


def tfidf(found: Sequence[str], weights: Mapping[str, float]) -> dict[str, float]:
    """Return tf · idf per token, where tf is the count divided by the number of tokens."""
    size = len(found)
    return {token: n / size * weights[token] for token, n in Counter(found).items()}


def cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the cosine of two sparse vectors; 0 if either is empty."""
    shared = sum(weight * other[token] for token, weight in one.items() if token in other)
    if not shared:
        return 0.0
    return shared / (hypot(*one.values()) * hypot(*other.values()))


class Semantic(Signal, frozen=True, tag="semantic", kw_only=True):
    """TF-IDF cosine of query and memory (title, text, context, tags)."""

    about = "holds the words"
    family = "words"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        asked = keywords(context.search.query)
        texts = {id: keywords(semantic_text(context.memory(id))) for id in ids}
        every = set(asked).union(*texts.values())
        documents, holding = (
            context.store.vocabulary.documents(),
            context.store.vocabulary.frequencies(every),
        )
        # Many tokens are equally rare: one logarithm for each rarity is enough.
        rarity = {count: idf(documents, count) for count in {0, *holding.values()}}
        weights = {token: rarity[holding.get(token, 0)] for token in every}
        wanted = tfidf(asked, weights)
        figures = f"(TF-IDF cosine, {documents} in the vault)"
        raw = {id: cosine(wanted, tfidf(found, weights)) for id, found in texts.items()}
        return {
            id: SignalValue(value, f"{'' if value else 'no '}shared words {figures}")
            for id, value in raw.items()
        }


class _Rank(Signal, frozen=True, kw_only=True):
    k: Smoothing = 60

    @property
    def channels(self) -> tuple[str, ...]:
        """The channel of the signal's name."""
        return (self.name,)

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        """Return `1 / (k + rank)` of the memories in the channel."""
        where = passages_of(context.channels.get(self.name, Ranking()))
        return {
            id: SignalValue(
                reciprocal(rank, self.k),
                f"{self.about} {rank} (1/({self.k:g} + {rank})) {where.get(id, '')}".rstrip(),
            )
            for id, rank in context.ranks(self.name).items()
        }


class KeywordRank(_Rank, frozen=True, tag="keyword_rank", kw_only=True):
    """The rank by BM25."""

    about = "rank by words"
    family = "words"

    @property
    def name(self) -> str:
        return "keyword"


class VectorRank(_Rank, frozen=True, tag="vector_rank", kw_only=True):
    """The rank by cosine."""

    about = "rank by meaning"
    family = "meaning"

    @property
    def name(self) -> str:
        return "vector"


class Cosine(Signal, frozen=True, tag="vector", kw_only=True):
    """Cosine of query and memory, never below 0, and 0 without a vector; also of memories that only
    keywords found."""

    about = "near in meaning"
    family = "meaning"

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        return ("vector",)

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        known = context.cosines(ids)
        where = passages_of(context.by_vectors())
        return {
            id: SignalValue(
                max(0.0, known[id]), f"similar meaning {known[id]:.2f} {where.get(id, '')}".rstrip()
            )
            for id in ids
            if id in known
        }


class Person(Signal, frozen=True, tag="person", kw_only=True):
    """For a query in the first person ("where did I leave my bike?"): how much the memory is too. 1
    if at least `share` of its words are I, my, we and the like, proportional below. In a
    conversation this distinguishes what users said of themselves from the answers."""

    about = "speaks in the first person, as the query does"
    family = "structure"

    share: Share = 0.06

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        if not FIRST_PERSON.search(context.search.query):
            return {}
        shares = {id: self._share(context.memory(id).text) for id in ids}
        return {
            id: SignalValue(share, f"{'' if share else 'not '}in the first person")
            for id, share in shares.items()
        }

    def _share(self, text: str) -> float:
        own = sum(1 for _ in FIRST_PERSON.finditer(text))
        return min(1.0, own / (self.share * len(words(text)))) if own else 0.0
