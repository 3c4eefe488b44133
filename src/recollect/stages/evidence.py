"""Whether what was found answers the query at all: strong, weak or no evidence."""

from __future__ import annotations

from msgspec import Struct, structs

from recollect.context import SearchContext
from recollect.maths import logistic
from recollect.recipes.ranges import Number, Share
from recollect.stages.base import Stage
from recollect.types import Evidence, Judgement, Ranking

# The best answer is rarely further down; reading more would cost time and tell nothing.
READ = 5


class EvidenceRule(Struct, frozen=True, forbid_unknown_fields=True):
    """`logistic(bias + coverage · k + cosine · c + opinion · l)`: k the largest coverage, c the
    largest cosine, l the cross-encoder's best logit."""

    bias: Number
    coverage: Number
    cosine: Number = 0.0
    opinion: Number = 0.0

    def confidence(self, coverage: float, cosine: float = 0.0, opinion: float = 0.0) -> float:
        total = self.coverage * coverage + self.cosine * cosine + self.opinion * opinion
        return logistic(self.bias + total)


class JudgeEvidence(Stage, frozen=True, tag="evidence"):
    """Judges the best results by one of three rules: `read` where the cross-encoder has read them,
    `seen` where there are vectors, `words` where there are only words. From `strong` on the
    evidence is strong, under `weak` there is none; nothing is dropped for it.

    Fitted on questions asked of their own conversation and of another one, where nothing can
    answer them; docs/quality.md shows how well the rules tell these apart. What a cosine or a logit
    means differs from model to model, so only those of the models in `fitted_with` count.
    """

    needs = ("limit",)

    read: EvidenceRule
    seen: EvidenceRule
    words: EvidenceRule
    strong: Share = 0.6
    weak: Share = 0.1
    fitted_with: tuple[str, ...] = ()
    name: str = "evidence"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return structs.replace(ranking, judgement=self._judgement(ranking, context))

    def _judgement(self, ranking: Ranking, context: SearchContext) -> Judgement:
        best = ranking.ids[:READ]
        if not best:
            return Judgement(0.0, "none")
        if context.understanding.lists:
            return Judgement(1.0, "strong")  # a list holds what is asked for, or is empty
        covered = max(coverage(context, best))
        known = context.cosines(best)
        cosines = [known[id] for id in best if id in known]
        if ranking.best_logit is not None and self._knows(context.models.reranker().identity):
            confidence = self.read.confidence(covered, opinion=ranking.best_logit)
        elif cosines and self._knows(context.models.embedder().identity):
            confidence = self.seen.confidence(covered, cosine=max(cosines))
        else:
            confidence = self.words.confidence(covered)
        return Judgement(round(confidence, 4), self._level(confidence))

    def _knows(self, identity: str) -> bool:
        return any(name in identity for name in self.fitted_with)

    def _level(self, confidence: float) -> Evidence:
        if confidence >= self.strong:
            return "strong"
        return "weak" if confidence >= self.weak else "none"


def coverage(context: SearchContext, ids: tuple[str, ...]) -> list[float]:
    """For each memory the share of the query's keywords it holds, each counted by its rarity; a
    word that stands nowhere in the vault is the rarest, and in none, unless a typing error made it
    of one that is."""
    query = context.understanding
    weights = {word: query.rarity(word) for word in query.timeless_keywords}
    total = sum(weights.values())
    if not total:
        return [0.0] * len(ids)
    spellings = {
        word: [query.stems_of(form) for form in (word, *query.corrections.get(word, ()))]
        for word in weights
    }
    return [
        sum(
            weight
            for word, weight in weights.items()
            if any(stems <= context.text(id).stem_set for stems in spellings[word])
        )
        / total
        for id in ids
    ]
