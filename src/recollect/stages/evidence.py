"""Whether what was found answers the query at all: strong, weak or no evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct, structs

from recollect.context import SearchContext
from recollect.maths import logistic, logit
from recollect.models.base import Embedder, Reranker
from recollect.models.english import is_word
from recollect.query.function_words import is_english
from recollect.query.terms import words
from recollect.recipes.ranges import Number, Share, Weight
from recollect.stages.base import Stage
from recollect.stages.coverage import WordCoverage, whole_words
from recollect.stages.rerank_interpolation import readable
from recollect.types import Evidence, Judgement, Ranking

# The best answer is rarely further down in the order of fusion.
READ = 10
# The nearest by vectors, whose weaker half says what cosine is usual for the query.
NEAREST = 15
# A query in another language has fewer words that are English ones as well.
ENGLISH = 0.7
# A correction is right where a memory holds so much of what was typed without an error, by rarity.
SUPPORT = 0.5
# Of a confidence; one unit of the last keeps it below the next verdict.
DIGITS = 4


# What an English model can read of a query: its language, its letters, nothing. A model for many
# languages reads any.
Reads = Literal["language", "letters", "nothing", "any"]


class Signs(NamedTuple):
    """What speaks for a memory as an answer.

    Of the query's words, by rarity: the share that it holds (`coverage`), how far that stands out
    from the other candidates (`distinct`), the share that it holds close together (`near`), how
    many of the rarest they are worth (`held`), the share that anything holds (`known`). Then the
    cosine, where one counts, how far it stands out, and how well the model reads the query.
    """

    coverage: float
    distinct: float
    near: float
    held: float
    known: float
    cosine: float | None = None
    lead: float = 0.0
    reads: Reads = "language"


class EvidenceRule(Struct, frozen=True, forbid_unknown_fields=True):
    """`logistic(bias + the sum of weight · sign)`, a weight for each sign; `coverage` weighs the
    distinct one."""

    bias: Number
    coverage: Weight = 0.0
    near: Weight = 0.0
    held: Weight = 0.0
    known: Weight = 0.0
    cosine: Weight = 0.0
    lead: Weight = 0.0

    def confidence(self, signs: Signs) -> float:
        by_words = self.coverage * signs.distinct + self.near * signs.near
        by_words += self.held * signs.held + self.known * signs.known
        seen = self.cosine * (signs.cosine or 0.0) + self.lead * signs.lead
        return logistic(self.bias + by_words + seen)


class JudgeEvidence(Stage, frozen=True, tag="evidence"):
    """Judges the best candidates of fusion, and the best counts. The rule is `seen` for a query in
    English and a candidate with a cosine that counts, `foreign` for one in another language,
    `words` without such a cosine, and `unread` for a query in other letters than Latin; for a query
    in any language it is `many` where the cosine is of a model in `many_with`. A candidate
    that holds every word of the query has at least the confidence `complete`. From `strong` on the
    evidence is strong, under `weak` there is none; nothing is dropped for it.

    The verdict is made of what every search has, so it is the same however much the reranker read.
    The best logit that the reranker gave, times `opinion`, moves the confidence within the verdict.
    What a cosine or a logit means differs from model to model, so only those of the models in
    `fitted_with` count, and these read no other script than Latin. Fitted and measured by
    benchmarks/evidence.py; docs/quality.md shows the outcome.
    """

    needs = ("limit",)

    seen: EvidenceRule
    foreign: EvidenceRule
    words: EvidenceRule
    unread: EvidenceRule
    many: EvidenceRule
    complete: Share = 0.95
    opinion: Weight = 0.0
    strong: Share = 0.9
    weak: Share = 0.2
    fitted_with: tuple[str, ...] = ()
    many_with: tuple[str, ...] = ()
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
        best = ranking.best_logit
        if best is not None and 0 < confidence < 1 and self._knows(context.models.reranker()):
            confidence = logistic(logit(confidence) + self.opinion * best)
        return Judgement(round(min(max(confidence, least), most), DIGITS), level)

    def signs(self, context: SearchContext) -> list[Signs]:
        """What speaks for each of the best candidates, in the order of fusion: the order of the
        results is the reranker's, who may not have come far."""
        ids = context.fused.ids[:READ]
        texts = [context.text(id) for id in ids]
        coverage = WordCoverage(
            context.understanding, whole_words(context.understanding.timeless), texts
        )
        reads = reading(context.search.query)
        if context.vectors_answered and _is_of(context.embedder, self.many_with):
            reads = "any"
        sees = reads == "any" or (reads != "nothing" and self._sees(context))
        cosines = context.cosines(ids) if sees else {}
        shares = coverage.shares
        usual = background(shares)
        usual_cosine = background([hit.score for hit in context.by_vectors()][:NEAREST])
        known = coverage.known
        return [
            Signs(
                share,
                (share - usual) / (1 - usual) if usual < 1 else 1.0,
                near,
                share * coverage.size,
                known,
                cosines.get(id),
                cosines.get(id, usual_cosine) - usual_cosine,
                reads,
            )
            for id, share, near in zip(ids, shares, coverage.near, strict=True)
        ]

    def verdict(self, signs: Sequence[Signs]) -> Judgement:
        """What the signs of the best candidates say, before any reranker."""
        confidence = max(map(self._confidence, signs), default=0.0)
        if confidence >= self.strong:
            return Judgement(confidence, "strong")
        return Judgement(confidence, "weak" if confidence >= self.weak else "none")

    def _confidence(self, signs: Signs) -> float:
        if signs.reads == "nothing":
            rule = self.unread
        elif signs.cosine is None:
            rule = self.words
        else:
            rule = {"language": self.seen, "any": self.many}.get(signs.reads, self.foreign)
        found = rule.confidence(signs)
        return max(found, self.complete) if signs.coverage >= 1 else found

    def _bounds(self, level: Evidence) -> tuple[float, float]:
        """The least and the largest confidence that a verdict has."""
        below = 10**-DIGITS
        if level == "strong":
            return self.strong, 1.0
        return (self.weak, self.strong - below) if level == "weak" else (0.0, self.weak - below)

    def _sees(self, context: SearchContext) -> bool:
        """Whether cosines are those of a known model."""
        return context.vectors_answered and self._knows(context.embedder)

    def _knows(self, model: Embedder | Reranker) -> bool:
        return _is_of(model, self.fitted_with)


def _is_of(model: Embedder | Reranker, names: Sequence[str]) -> bool:
    return any(name in model.identity for name in names)


def background(shares: Sequence[float]) -> float:
    """What a candidate usually has: the mean of the lower half without the best; 0 where there is
    no other."""
    others = sorted(shares)[:-1]
    lower = others[: (len(others) + 1) // 2]
    return sum(lower) / len(lower) if lower else 0.0


def has_plain_letters(text: str) -> bool:
    """Whether half of its words have letters that an English model knows."""
    return 2 * len(readable(text)) >= len(words(text))


def reading(text: str) -> Reads:
    """What an English model can read of a text: the letters where half of the words have plain
    ones, and the language, unless few words are English and some are of another language: names and
    identifiers are of none."""
    if not has_plain_letters(text):
        return "nothing"
    lowered = [word.lower() for word in words(text)]
    if text.isascii() and is_english(lowered):
        return "language"
    return "language" if sum(map(is_word, lowered)) >= ENGLISH * len(lowered) else "letters"


def supported(context: SearchContext) -> bool:
    """Whether typing errors were corrected in a query whose other words speak for it, or none."""
    query = context.understanding
    typed = [word for word in query.timeless_keywords if word not in query.corrections]
    if len(typed) == len(query.timeless_keywords):
        return True
    texts = [context.text(id) for id in context.fused.ids[:READ]]
    return max(WordCoverage(query, typed, texts).shares, default=0.0) >= SUPPORT
