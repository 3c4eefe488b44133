"""Whether what was found answers the query at all: strong, weak or no evidence."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from recollect import types
from recollect.context import SearchContext
from recollect.maths import logistic
from recollect.query.terms import keywords
from recollect.recipes.ranges import Number, Share
from recollect.signals.max_idf import rarity
from recollect.types import Ranking

# The best answer is rarely further down; reading more would cost time and tell nothing.
READ = 5


class Judged(NamedTuple):
    """How sure the recipe is that the answer is there, 0…1, and what that means in a word."""

    confidence: float
    evidence: types.Evidence


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """`logistic(bias + coverage · k + cosine · c + opinion · l)`: k the largest coverage, c the
    largest cosine, l the cross-encoder's best logit."""

    bias: Number
    coverage: Number
    cosine: Number = 0.0
    opinion: Number = 0.0

    def confidence(self, coverage: float, cosine: float = 0.0, opinion: float = 0.0) -> float:
        said = self.coverage * coverage + self.cosine * cosine + self.opinion * opinion
        return logistic(self.bias + said)


class Evidence(Struct, frozen=True, forbid_unknown_fields=True):
    """Judges the best results by one of three rules: `read` where the cross-encoder has read them,
    `seen` where there are vectors, `words` where there are only words. From `strong` on the
    evidence is strong, under `weak` there is none; nothing is dropped for it.

    Fitted on questions asked of their own conversation and of another one, where nothing can
    answer them; docs/quality.md shows how well the rules tell these apart. What a cosine or a logit
    means differs from model to model, so only those of the models in `fitted_with` count.
    """

    read: Rule
    seen: Rule
    words: Rule
    strong: Share = 0.6
    weak: Share = 0.1
    fitted_with: tuple[str, ...] = ()

    def judged(self, ranking: Ranking, context: SearchContext) -> Judged:
        best = ranking.ids[:READ]
        if not best:
            return Judged(0.0, "none")
        covered, cosines = max(coverage(context, best)), _kept(context.cosines(best), best)
        if context.opinions and self._knows(context.models.reranker().identity):
            sure = self.read.confidence(covered, opinion=max(context.opinions.values()))
        elif cosines and self._knows(context.models.embedder().identity):
            sure = self.seen.confidence(covered, cosine=max(cosines.values()))
        else:
            sure = self.words.confidence(covered)
        return Judged(round(sure, 4), self._level(sure))

    def _knows(self, identity: str) -> bool:
        return any(name in identity for name in self.fitted_with)

    def _level(self, confidence: float) -> types.Evidence:
        if confidence >= self.strong:
            return "strong"
        return "weak" if confidence >= self.weak else "none"


def _kept(cosines: dict[str, float], ids: tuple[str, ...]) -> dict[str, float]:
    return {id: cosines[id] for id in ids if id in cosines}


def coverage(context: SearchContext, ids: tuple[str, ...]) -> list[float]:
    """For each memory the share of the query's keywords it holds, each counted by its rarity; a
    word that stands nowhere in the vault is the rarest, and in none, unless a typing error made it
    of one that is."""
    words = list(dict.fromkeys(keywords(context.timeless)))
    counts = context.store.vocabulary.frequencies(words)
    documents = context.store.vocabulary.documents()
    weights = {word: rarity(documents, counts.get(word, 0)) for word in words}
    stems = {
        word: [
            frozenset(context.store.keyword.tokens(one))
            for one in (word, *context.mended.get(word, ()))
        ]
        for word in words
    }
    total = sum(weights.values())
    if not total:
        return [0.0] * len(ids)
    held = [context.reading(id).stem_set for id in ids]
    return [
        sum(weights[word] for word in words if any(some <= one for some in stems[word])) / total
        for one in held
    ]
