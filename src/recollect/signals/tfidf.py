"""`semantic`: how alike the words of query and memory are, weighted by rarity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import hypot, log

from recollect.context import SearchContext
from recollect.query.terms import semantic_text, tokens
from recollect.signals.base import Signal, SignalValue


def idf(documents: int, holding: int) -> float:
    """`ln((N + 1) / (df + 1)) + 1` over N live memories; a token never seen has df = 0."""
    return log((documents + 1) / (holding + 1)) + 1


def tfidf(found: Sequence[str], weights: Mapping[str, float]) -> dict[str, float]:
    """tf · idf per token, where tf is the count divided by the number of tokens."""
    size = len(found)
    return {token: n / size * weights[token] for token, n in Counter(found).items()}


def cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """The cosine of two sparse vectors; 0 when either is empty."""
    shared = sum(weight * other[token] for token, weight in one.items() if token in other)
    if not shared:
        return 0.0
    return shared / (hypot(*one.values()) * hypot(*other.values()))


class Semantic(Signal, frozen=True, tag="semantic", kw_only=True):
    """TF-IDF cosine of query and memory (title, text, context, tags)."""

    about = "holds the words"
    family = "words"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        asked = tokens(context.search.query)
        texts = {id: tokens(semantic_text(context.memory(id))) for id in ids}
        every = set(asked).union(*texts.values())
        documents, holding = (
            context.store.vocabulary.documents(),
            context.store.vocabulary.frequencies(every),
        )
        # Many tokens are equally rare: one logarithm for each rarity is enough.
        rarity = {count: idf(documents, count) for count in {0, *holding.values()}}
        weights = {token: rarity[holding.get(token, 0)] for token in every}
        wanted = tfidf(asked, weights)
        how = f"shared words (TF-IDF cosine, {documents} in the vault)"
        return {
            id: SignalValue(cosine(wanted, tfidf(found, weights)), how)
            for id, found in texts.items()
        }
