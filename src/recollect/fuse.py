"""Fusions of the channels' rankings: by features, by rank, by shares of the largest score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from msgspec import Struct, structs

from recollect.context import SearchContext, passages_of
from recollect.models.english import can_read
from recollect.query.likeness import scale_of
from recollect.recipes.ranges import Count, Depth, Number, Smoothing, Weight
from recollect.types import Hit, Ranking, Term, combine, leaf, ranked, weighted

# The usual cosine of a query is the mean of the eighth to fifteenth nearest memories, which are
# rarely the answer. In a small vault, missing ones count as unrelated texts.
USUAL = slice(7, 15)
USUAL_COSINE = 0.55
# A cosine this far above the usual one counts 1, and at most MOST_LEAD.
LEAD = 0.2
MOST_LEAD = 2.0

# This BM25 counts 1, and at most MOST_AMOUNT. A word in one memory of 100 is worth 4 to 9.
AMOUNT = 20.0
MOST_AMOUNT = 2.0

START = "starting score: unlikely without evidence"


class FeatureWeights(Struct, frozen=True, forbid_unknown_fields=True):
    """The base of every score, and the weight of each feature."""

    base: Number
    keyword: Weight = 0.0
    bm25: Weight = 0.0
    vector: Weight = 0.0
    maxsim: Weight = 0.0

    def nonzero(self) -> dict[str, float]:
        """Return the weights of the features that count."""
        weights = structs.asdict(self)
        return {name: weight for name, weight in weights.items() if weight and name != "base"}


class FeatureSum(Struct, frozen=True, tag="feature_sum", forbid_unknown_fields=True):
    """`base + Σ weight · feature`, the log odds that a memory answers the query: with fitted
    weights `logistic(score)` is a probability.

    Features:
    keyword: BM25 plus the scores of the `added` channels, divided by the largest score that the
        query's words can get; a word that no memory has counts as the rarest.
    bm25: the same sum, divided by AMOUNT, at most MOST_AMOUNT. In a small vault every word is
        common, so a chance match says little.
    vector: how far the cosine is above the usual one for this query: 1 at LEAD, between −1 and
        MOST_LEAD. A candidate without a vector gets the average.
    maxsim: like vector, for the comparison by token vectors, if the model has them. It is computed
        for the best `compared`, which are then scored with the weights `tokens`; a candidate
        without token vectors gets the usual value.

    Without vectors, or if the model cannot read the query's script, the weights are `alone`. The
    best `pool` are kept, and everything that a channel in `kept` found. benchmarks/fit_blend.py
    fits the weights.
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
        # Without usable vectors, results of the vector channel alone are no candidates.
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
        base, nonzero = leaf("base", weights.base, START), weights.nonzero().items()
        hits = []
        for id in chosen:
            terms = (features.term(name, weight, id) for name, weight in nonzero)
            hits.append(Hit(id, combine(self.name, "sum", (base, *terms))))
        gone = len(ids) - len(chosen)
        return ranked(hits, {"pool": gone} if gone else {})

    def _found(self, context: SearchContext, channels: Sequence[str]) -> list[str]:
        found = (context.channels.get(name, Ranking()).ids for name in channels)
        # Sorted, so that sums of floats do not depend on the order of the channels.
        return sorted({id for each in found for id in each})

    def _words(self, context: SearchContext) -> dict[str, float]:
        """Return the BM25 of each memory plus the scores of the added channels."""
        scores = dict(context.scores("keyword"))
        for name in self.added:
            for id, score in context.scores(name).items():
                scores[id] = scores.get(id, 0.0) + score
        return scores

    def _cosines(self, context: SearchContext, ids: Sequence[str]) -> dict[str, float]:
        """Return the cosine of each candidate with a vector, on the bundled model's scale; empty if
        vectors took no part, or the model cannot read the query."""
        if not context.vectors_answered:
            return {}
        identity = context.embedder.identity
        if not can_read(identity, context.search.query):
            return {}
        scale = scale_of(identity)
        known = context.cosines(ids)
        return {id: scale.to_english(known[id]) for id in ids if id in known}

    def _pool(self, context: SearchContext, totals: Mapping[str, float]) -> list[str]:
        # Sorted by totals, as most candidates need no explanation. Since they are in the order of
        # their ids, ties are in the order of `ranked`.
        best = sorted(totals, key=totals.__getitem__, reverse=True)
        size = self.pool.at(context.limit)
        kept = {id for name in self.kept for id in context.channels.get(name, Ranking()).ids}
        return [*best[:size], *(id for id in best[size:] if id in kept)]


class Features:
    """The features of a query's candidates, as values and in words."""

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
        self._usual = 0.0
        if cosines:
            scale = scale_of(context.embedder.identity)
            self._usual = _usual([scale.to_english(hit.score) for hit in context.by_vectors()])
        self._context = context
        self._maxsims: dict[str, float] = {}
        self._usual_maxsim = 0.0

    def compare(self, ids: Sequence[str]) -> None:
        """Compare these candidates with the query by their token vectors."""
        from recollect.models.vectors import maxsim  # noqa: PLC0415  start-up time: numpy

        self._context.compare(ids)
        query = self._context.query_tokens
        assert query is not None
        found = self._context.compared.items()
        self._maxsims = {id: maxsim(query, one.cosines) for id, one in found}
        self._usual_maxsim = _usual(sorted(self._maxsims.values(), reverse=True))

    def totals(self, weights: FeatureWeights, ids: Sequence[str]) -> dict[str, float]:
        """Return the weighted sum of each candidate's features."""
        nonzero = weights.nonzero().items()
        return {id: sum(weight * self.value(name, id) for name, weight in nonzero) for id in ids}

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


def _lead(cosine: float, usual: float) -> float:
    """Return how far a cosine is above the usual one: 1 at LEAD."""
    return min(MOST_LEAD, max(-1.0, (cosine - usual) / LEAD))


def _usual(best: Sequence[float]) -> float:
    """Return the usual cosine, given the cosines in descending order; see USUAL."""
    padded = [*best[: USUAL.stop], *[USUAL_COSINE] * (USUAL.stop - len(best))]
    return sum(padded[USUAL]) / (USUAL.stop - USUAL.start)


Alone = Literal["rrf", "scores"]


def reciprocal(rank: int, k: float) -> float:
    """Return `1 / (k + rank)`, with ranks from 1. A memory absent from a list has no such term."""
    return 1.0 / (k + rank)


class Rrf(Struct, frozen=True, tag="rrf", forbid_unknown_fields=True):
    """The sum of `1/(k + rank)` over the channels that found a memory. Source: Cormack, Clarke and
    Büttcher, 2009, with their k = 60.

    alone: with only one channel, use `rrf`, the same formula, or `scores`, the channel's scores.
    """

    gives: ClassVar[tuple[str, ...]] = ("rrf",)

    channels: tuple[str, ...]
    k: Smoothing = 60
    alone: Alone = "rrf"

    def fuse(self, context: SearchContext) -> Ranking:
        took_part = [name for name in self.channels if name in context.channels]
        if self.alone == "scores" and len(took_part) == 1:
            return context.channels[took_part[0]]
        parts: dict[str, list[Term]] = {}
        for name in took_part:
            for rank, hit in enumerate(context.channels[name], start=1):
                value = reciprocal(rank, self.k)
                term = Term(name, value, f"1/({self.k:g} + {rank})", how=hit.why.how)
                parts.setdefault(hit.memory_id, []).append(term)
        fused = ranked(Hit(id, combine("fused", "sum", terms)) for id, terms in parts.items())
        return structs.replace(fused, largest=len(self.channels) * reciprocal(1, self.k))


class Union(Struct, frozen=True, tag="union", forbid_unknown_fields=True):
    """All memories that the channels found, with score 0, for a stage that scores them."""

    gives: ClassVar[tuple[str, ...]] = ()

    channels: tuple[str, ...]

    def fuse(self, context: SearchContext) -> Ranking:
        found = {hit.memory_id for name in self.channels for hit in context.channels.get(name, ())}
        return ranked(Hit(id, leaf("candidate", 0.0, "not scored yet")) for id in found)


def over_largest(scores: dict[str, float]) -> dict[str, float]:
    """Divide each score by the largest, unless that is 0 or less."""
    largest = max(scores.values(), default=0.0)
    if largest <= 0:
        return scores
    return {id: score / largest for id, score in scores.items()}


class WeightedMax(Struct, frozen=True, tag="weighted_max", forbid_unknown_fields=True):
    """`Σ weight · score / largest score of the channel`; a memory absent from a channel has no such
    term. If only one channel took part, its weight is `alone`. Source: the `echovault` recipe,
    "Tiered" and "Merge".
    """

    gives: ClassVar[tuple[str, ...]] = ()

    weights: dict[str, Weight]
    alone: Weight = 1.0

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(self.weights)

    def fuse(self, context: SearchContext) -> Ranking:
        took_part = [name for name in self.weights if name in context.channels]
        parts: dict[str, list[Term]] = {}
        for name in took_part:
            weight = self.weights[name] if len(took_part) > 1 else self.alone
            where = passages_of(context.channels[name])
            for id, share in over_largest(context.scores(name)).items():
                how = f"{name} score, as a share of the best {where.get(id, '')}".rstrip()
                parts.setdefault(id, []).append(weighted(name, weight, share, how))
        return ranked(Hit(id, combine("fused", "sum", terms)) for id, terms in parts.items())
