"""Fusion by absolute features: a score means the same for every query and in every vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct, structs

from recollect.context import SearchContext, passages_of
from recollect.models.english import can_read
from recollect.query.likeness import scale_of
from recollect.recipes.ranges import Count, Depth, Number, Weight
from recollect.types import Hit, Ranking, Term, combine, leaf, ranked, weighted

# The nearest memories that are rarely the answer say what cosine is usual for a query: the eighth
# to the fifteenth. Where a vault has fewer, the missing ones count as unrelated texts do.
USUAL = slice(7, 15)
USUAL_COSINE = 0.55
# A cosine this far above the usual one counts 1; none counts more than MOST_LEAD.
LEAD = 0.2
MOST_LEAD = 2.0

# BM25 of this much counts 1; none counts more than MOST_AMOUNT. A word that one memory of 100 holds
# is worth 4 to 9.
AMOUNT = 20.0
MOST_AMOUNT = 2.0

START = "starting score: unlikely without evidence"


class FeatureWeights(Struct, frozen=True, forbid_unknown_fields=True):
    """What every memory begins with, and the weight of each feature."""

    base: Number
    keyword: Weight = 0.0
    bm25: Weight = 0.0
    vector: Weight = 0.0
    maxsim: Weight = 0.0

    def used(self) -> dict[str, float]:
        """The weight of each feature that counts."""
        weights = structs.asdict(self)
        return {name: weight for name, weight in weights.items() if weight and name != "base"}


class FeatureSum(Struct, frozen=True, tag="feature_sum", forbid_unknown_fields=True):
    """`base + Σ weight · feature`, the log odds that a memory answers the query: with fitted
    weights `logistic(score)` is a probability.

    keyword: BM25, with the scores of the `added` channels, as a share of the most that the query's
    words can get; a word that no memory holds counts as the rarest.
    bm25: the same BM25 itself, 1 at AMOUNT, at most MOST_AMOUNT. In a small vault every word is
    common, so that one that happens to match says little.
    vector: how far the cosine is above what is usual for this query: 1 at LEAD, between −1 and
    MOST_LEAD. A candidate without a vector counts as the average one.
    maxsim: the same for the comparison word by word, where the model gives token vectors: then
    `tokens` are the weights for the best `compared`; one without token vectors has the usual value.
    Where no vectors took part, or the model cannot read the query's script, `alone` has the
    weights. The best `pool` stay, and everything that a channel in `kept` found.
    benchmarks/fit_blend.py fits the weights.
    """

    gives: ClassVar[tuple[str, ...]] = ("log_odds",)

    weights: FeatureWeights
    alone: FeatureWeights
    tokens: FeatureWeights | None = None
    compared: Count = 100
    added: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    pool: Depth = Depth(per_result=3, at_least=30)
    name: str = "fused"

    @property
    def channels(self) -> tuple[str, ...]:
        return ("keyword", "vector", *self.added, *self.kept)

    def fuse(self, context: SearchContext) -> Ranking:
        cosines = self._cosines(context, self._found(context, self.channels))
        # Where no vector can tell, what only vectors found is no candidate.
        without = [name for name in self.channels if name != "vector"]
        ids = self._found(context, self.channels if cosines else without)
        if not ids:
            return Ranking()
        words = self._words(context)
        features = Features(context, ids, words, cosines)
        weights = self.weights if cosines else self.alone
        totals = features.totals(weights, ids)
        if cosines and self.tokens is not None and context.query_tokens is not None:
            best = sorted(ids, key=totals.__getitem__, reverse=True)[: self.compared]
            features.compare(best)
            weights = self.tokens
            totals = features.totals(weights, ids)
        chosen = self._pool(context, totals)
        base, used = leaf("base", weights.base, START), weights.used().items()
        hits = []
        for id in chosen:
            terms = (features.term(name, weight, id) for name, weight in used)
            hits.append(Hit(id, combine(self.name, "sum", (base, *terms))))
        gone = len(ids) - len(chosen)
        return ranked(hits, {"pool": gone} if gone else {})

    def _found(self, context: SearchContext, channels: Sequence[str]) -> list[str]:
        found = (context.channels.get(name, Ranking()).ids for name in channels)
        # Sorted, so that sums do not depend on the order of the channels.
        return sorted({id for each in found for id in each})

    def _words(self, context: SearchContext) -> dict[str, float]:
        """The BM25 of each memory that holds a word, with what the added channels give it."""
        scores = dict(context.scores("keyword"))
        for name in self.added:
            for id, score in context.scores(name).items():
                scores[id] = scores.get(id, 0.0) + score
        return scores

    def _cosines(self, context: SearchContext, ids: Sequence[str]) -> dict[str, float]:
        """The cosine of each candidate that has a vector, on the bundled model's scale; empty where
        vectors took no part or cannot tell."""
        if not context.vectors_answered:
            return {}
        identity = context.embedder.identity
        if not can_read(identity, context.search.query):
            return {}
        scale = scale_of(identity)
        known = context.cosines(ids)
        return {id: scale.to_english(known[id]) for id in ids if id in known}

    def _pool(self, context: SearchContext, totals: Mapping[str, float]) -> list[str]:
        # By the bare totals: most candidates never need an explanation. As `ranked` orders them,
        # since they are in the order of their ids.
        best = sorted(totals, key=totals.__getitem__, reverse=True)
        size = self.pool.at(context.limit)
        kept = {id for name in self.kept for id in context.channels.get(name, Ranking()).ids}
        return [*best[:size], *(id for id in best[size:] if id in kept)]


class Features:
    """The features of a query's candidates, each as a value and in words."""

    def __init__(
        self,
        context: SearchContext,
        ids: Sequence[str],
        words: Mapping[str, float],
        cosines: Mapping[str, float],
    ) -> None:
        self._words = words
        self._unknown = frozenset(ids).difference(cosines)
        average = sum(cosines.values()) / len(cosines) if cosines else 0.0
        self._cosines = {**dict.fromkeys(self._unknown, average), **cosines}
        self._most = context.understanding.largest_bm25
        self._details, self._passages = (
            passages_of(context.channels.get(name, Ranking())) for name in ("details", "vector")
        )
        self._usual = self._usual_cosine(context) if cosines else 0.0
        self._context = context
        self._maxsims: dict[str, float] = {}
        self._usual_maxsim = 0.0

    def compare(self, ids: Sequence[str]) -> None:
        """Compare these candidates with the query word by word."""
        from recollect.models.vectors import maxsim  # noqa: PLC0415  start-up time: numpy

        self._context.compare(ids)
        query = self._context.query_tokens
        assert query is not None
        found = self._context.compared.items()
        self._maxsims = {id: maxsim(query, one.cosines) for id, one in found}
        self._usual_maxsim = _usual(sorted(self._maxsims.values(), reverse=True))

    def totals(self, weights: FeatureWeights, ids: Sequence[str]) -> dict[str, float]:
        """Return the weighted sum of each candidate's features."""
        used = weights.used().items()
        return {id: sum(weight * self.value(name, id) for name, weight in used) for id in ids}

    def value(self, name: str, id: str) -> float:
        """Return the value of a feature."""
        if name == "keyword":
            return min(1.0, self._words.get(id, 0.0) / self._most)
        if name == "bm25":
            return min(MOST_AMOUNT, self._words.get(id, 0.0) / AMOUNT)
        if name == "maxsim":
            return _lead(self._maxsims.get(id, self._usual_maxsim), self._usual_maxsim)
        return _lead(self._cosines[id], self._usual)

    def term(self, name: str, weight: float, id: str) -> Term:
        return weighted(name, weight, self.value(name, id), self._how(name, id))

    def _how(self, name: str, id: str) -> str:
        if name == "keyword":
            share = self.value(name, id)
            if not share:
                return "no matching word"
            note = self._details.get(id)
            how = f"matching words, {share:.0%} of the maximum"
            return f"{how}, {note}" if note else how
        if name == "bm25":
            return f"BM25 {self._words.get(id, 0.0):.1f}: higher for rare words and for more words"
        if name == "maxsim":
            return "word by word" if id in self._maxsims else "not compared word by word"
        if id in self._unknown:
            return "no vector here: as the average of the candidates"
        cosine, note = self._cosines[id], self._passages.get(id, "")
        side = "nearer" if cosine >= self._usual else "further"
        figures = f"(cosine {cosine:.2f}, usual for this query {self._usual:.2f})"
        return f"{side} in meaning than most {figures} {note}".rstrip()

    @staticmethod
    def _usual_cosine(context: SearchContext) -> float:
        """The mean cosine of the nearest memories that are rarely the answer."""
        scale = scale_of(context.embedder.identity)
        return _usual([scale.to_english(hit.score) for hit in context.by_vectors()])


def _lead(cosine: float, usual: float) -> float:
    """How far a cosine is above the usual one: 1 at LEAD."""
    return min(MOST_LEAD, max(-1.0, (cosine - usual) / LEAD))


def _usual(best: Sequence[float]) -> float:
    """The mean of those, of the best first, that are rarely the answer's."""
    padded = [*best[: USUAL.stop], *[USUAL_COSINE] * (USUAL.stop - len(best))]
    return sum(padded[USUAL]) / (USUAL.stop - USUAL.start)
