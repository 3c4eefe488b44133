"""Whether what was found answers the query at all: strong, weak or no evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from recollect.context import SearchContext
from recollect.maths import logistic, logit
from recollect.models.base import Embedder, Reranker
from recollect.query.function_words import content_words, without_asking
from recollect.query.subwords import pairs, unspaced_runs
from recollect.query.terms import words
from recollect.query.understanding import Understanding, inverse_frequency
from recollect.recipes.ranges import Number, Share, Weight
from recollect.stages.base import Stage
from recollect.stages.rerank_interpolation import readable
from recollect.types import Evidence, Judgement, Ranking

# The best answer is rarely further down in the order of fusion.
READ = 10
# A correction is right where a memory holds so much of what was typed without an error, by rarity.
SUPPORT = 0.5
# Of a confidence; one unit of the last keeps it below the next verdict.
DIGITS = 4


class Signs(NamedTuple):
    """What speaks for a memory as an answer: the share of the query's words that it holds, how far
    that stands out from the other candidates, and the cosine, where there is one that counts."""

    coverage: float
    distinct: float
    cosine: float | None


class EvidenceRule(Struct, frozen=True, forbid_unknown_fields=True):
    """`logistic(bias + coverage · d + cosine · c)`: d the distinct coverage, c the cosine."""

    bias: Number
    coverage: Number
    cosine: Number = 0.0

    def confidence(self, signs: Signs) -> float:
        seen = self.cosine * (signs.cosine or 0.0)
        return logistic(self.bias + self.coverage * signs.distinct + seen)


class JudgeEvidence(Stage, frozen=True, tag="evidence"):
    """Judges the best candidates of fusion: each by the rule `seen` where it has a cosine that
    counts, by `words` where it has none or holds every word of the query; the best counts. From
    `strong` on the evidence is strong, under `weak` there is none; nothing is dropped for it.

    The verdict is made of what every search has, so it is the same however much the reranker read.
    The best logit that the reranker gave, times `opinion`, moves the confidence within the verdict.
    What a cosine or a logit means differs from model to model, so only those of the models in
    `fitted_with` count, and these read no other script than Latin. Fitted and measured by
    benchmarks/evidence.py; docs/quality.md shows the outcome.
    """

    needs = ("limit",)

    seen: EvidenceRule
    words: EvidenceRule
    opinion: Weight = 0.0
    strong: Share = 0.9
    weak: Share = 0.2
    fitted_with: tuple[str, ...] = ()
    name: str = "evidence"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return structs.replace(ranking, judgement=self._judgement(ranking, context))

    def _judgement(self, ranking: Ranking, context: SearchContext) -> Judgement:
        if not ranking:
            return Judgement(0.0, "none")
        if context.understanding.lists:
            return Judgement(1.0, "strong")  # a list holds what is asked for, or is empty
        confidence, level = self.verdict(self.signs(context))
        if level == "strong" and not supported(context):
            level = "weak"
        least, most = self._bounds(level)
        said = ranking.best_logit
        if said is not None and 0 < confidence < 1 and self._knows(context.models.reranker()):
            confidence = logistic(logit(confidence) + self.opinion * said)
        return Judgement(round(min(max(confidence, least), most), DIGITS), level)

    def signs(self, context: SearchContext) -> list[Signs]:
        """What speaks for each of the best candidates, in the order of fusion: the order of the
        results is the reranker's, who may not have come far."""
        ids = context.fused.ids[:READ]
        covered = coverage(context, ids)
        cosines = context.cosines(ids) if self._sees(context) else {}
        usual = background(covered)
        return [
            Signs(share, (share - usual) / (1 - usual) if usual < 1 else 1.0, cosines.get(id))
            for id, share in zip(ids, covered, strict=True)
        ]

    def verdict(self, signs: Sequence[Signs]) -> Judgement:
        """What the signs of the best candidates say, before any reranker."""
        confidence = max(map(self._confidence, signs), default=0.0)
        if confidence >= self.strong:
            return Judgement(confidence, "strong")
        return Judgement(confidence, "weak" if confidence >= self.weak else "none")

    def _confidence(self, signs: Signs) -> float:
        by_words = self.words.confidence(signs)
        if signs.cosine is None:
            return by_words
        seen = self.seen.confidence(signs)
        return max(seen, by_words) if signs.coverage >= 1 else seen

    def _bounds(self, level: Evidence) -> tuple[float, float]:
        """The least and the largest confidence that a verdict has."""
        below = 10**-DIGITS
        if level == "strong":
            return self.strong, 1.0
        return (self.weak, self.strong - below) if level == "weak" else (0.0, self.weak - below)

    def _sees(self, context: SearchContext) -> bool:
        """Whether a cosine of this query counts: a known model can read most of its words."""
        text = context.search.query
        if not context.vectors_answered or 2 * len(readable(text)) < len(words(text)):
            return False
        return self._knows(context.models.embedder())

    def _knows(self, model: Embedder | Reranker) -> bool:
        return any(name in model.identity for name in self.fitted_with)


def background(shares: Sequence[float]) -> float:
    """What a candidate usually has: the mean of the lower half without the best; 0 where there is
    no other."""
    others = sorted(shares)[:-1]
    lower = others[: (len(others) + 1) // 2]
    return sum(lower) / len(lower) if lower else 0.0


def supported(context: SearchContext) -> bool:
    """Whether typing errors were corrected in a query whose other words speak for it, or none."""
    query = context.understanding
    typed = [word for word in query.timeless_keywords if word not in query.corrections]
    if len(typed) == len(query.timeless_keywords):
        return True
    return max(_covered(context, context.fused.ids[:READ], typed), default=0.0) >= SUPPORT


def coverage(context: SearchContext, ids: Sequence[str]) -> list[float]:
    """For each memory the share of the query's content words that it holds, each counted by its
    rarity; a word that stands nowhere in the vault is the rarest, and in none, unless a typing
    error made it of one that is."""
    return _covered(context, ids, context.understanding.timeless_keywords)


def _covered(context: SearchContext, ids: Sequence[str], keywords: Sequence[str]) -> list[float]:
    query = context.understanding
    texts = [context.text(id).every_stem for id in ids]
    total, covered = 0.0, [0.0] * len(texts)
    for word in content_words(keywords):
        rarity = query.rarity(word)
        total += rarity
        for place, share in enumerate(_shares(word, query, texts)):
            covered[place] += share * rarity
    return [held / total if total else 0.0 for held in covered]


def _shares(word: str, query: Understanding, texts: Sequence[frozenset[str]]) -> list[float]:
    """How much of a word each text holds: all or nothing, but of a run of words without spaces
    between them the share of its pairs of characters, each counted by its rarity among the texts.
    """
    spellings = [query.stems_of(form) for form in (word, *query.corrections.get(word, ()))]
    whole = [float(any(stems <= text for stems in spellings)) for text in texts]
    runs = [piece for run in unspaced_runs(word) for piece in without_asking(run)]
    if not runs or all(whole):
        return whole
    weights = {
        pair: inverse_frequency(len(texts), sum(pair in text for text in texts))
        for run in runs
        for pair in pairs(run)
    }
    total = sum(weights.values())
    return [
        max(held, sum(weight for pair, weight in weights.items() if pair in text) / total)
        for held, text in zip(whole, texts, strict=True)
    ]
