"""Fusion by scores: how far each candidate stands out in each channel."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from msgspec import Struct, field

from recollect.context import SearchContext
from recollect.depth import Depth
from recollect.recipes.ranges import Weight
from recollect.types import Hit, Ranking, Term, combine, leaf, ranked, weighted


class Spread(Struct, frozen=True):
    """The weakest candidate of a channel, and the standard deviation of all."""

    least: float
    deviation: float

    def share(self, score: float) -> float:
        """`(score − least) / deviation`. Subtracting the mean instead would give the z-score, and
        the same order; this way the weakest stands at 0. Where all are equal, none stands out:
        each counts 1 if it was found at all."""
        if self.deviation > 0:
            return (score - self.least) / self.deviation
        return 1.0 if score > 0 else 0.0


def spread(scores: Iterable[float], least_deviation: float = 0.0) -> Spread:
    """Of the whole list: the standard deviation divides by the number of candidates. In a vault of
    a few memories scores may hardly differ, and dividing by next to nothing would make much of it:
    the deviation counts as `least_deviation` at least."""
    held = list(scores)
    mean = sum(held) / len(held)
    # Equal scores may differ from their mean by a rounding error, which is no deviation.
    if max(held) == min(held):
        return Spread(held[0], 0.0)
    deviation = sqrt(sum((score - mean) ** 2 for score in held) / len(held))
    return Spread(min(held), max(deviation, least_deviation))


class ZScoreFusion(Struct, frozen=True, tag="zscore", forbid_unknown_fields=True):
    """`Σ weight · (score − least) / standard deviation`, over all candidates of all channels.

    A candidate that a channel did not return counts there with score 0; its cosine is looked up,
    since every memory has one. `added` channels find candidates too, and their scores are added to
    another channel's before that one is compared. Of the best, `pool` stay, and everything that a
    channel in `kept` found. `least_deviation` bounds what a channel's scores are divided by.
    Source: z-score fusion, as in Wu, Crestani and Bi, "Evaluating score normalization methods in
    data fusion", 2006; the order is the same.
    """

    weights: dict[str, Weight]
    added: dict[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    pool: Depth = Depth(per_result=3, at_least=30)
    least_deviation: dict[str, Weight] = field(default_factory=dict)
    name: str = "fused"

    def fuse(self, context: SearchContext) -> Ranking:
        ids = self._candidates(context)
        if not ids:
            return Ranking()
        shares = {
            name: self._shares(context, name, ids)
            for name in self.weights
            if name in context.channels
        }
        totals = {
            id: sum(self.weights[name] * held[id][0] for name, held in shares.items()) for id in ids
        }
        chosen = self._pool(context, totals)
        where = context.where("vector")
        hits = (Hit(id, self._term(id, shares, where)) for id in chosen)
        gone = len(ids) - len(chosen)
        return ranked(hits, {"pool": gone} if gone else {})

    def _candidates(self, context: SearchContext) -> list[str]:
        """Sorted, so that sums do not depend on the order of the channels."""
        names = (*self.weights, *self.added, *self.kept)
        return sorted({hit.memory_id for name in names for hit in context.channels.get(name, ())})

    def _scores(self, context: SearchContext, name: str, ids: list[str]) -> dict[str, float]:
        scores = context.cosines(ids) if name == "vector" else context.scores(name)
        for other in (one for one, into in self.added.items() if into == name):
            for id, score in context.scores(other).items():
                scores[id] = scores.get(id, 0.0) + score
        return scores

    def _shares(
        self, context: SearchContext, name: str, ids: list[str]
    ) -> dict[str, tuple[float, float]]:
        """For each candidate its share of the channel, and the score that it comes from."""
        scores = self._scores(context, name, ids)
        held = [scores.get(id, 0.0) for id in ids]
        measured = spread(held, self.least_deviation.get(name, 0.0))
        return {id: (measured.share(score), score) for id, score in zip(ids, held, strict=True)}

    def _pool(self, context: SearchContext, totals: dict[str, float]) -> list[str]:
        # Ordered by the bare totals: most candidates never need an explanation.
        order = ranked(Hit(id, leaf(self.name, total, "sum")) for id, total in totals.items()).ids
        size = self.pool.at(context.limit)
        kept = {hit.memory_id for name in self.kept for hit in context.channels.get(name, ())}
        return [*order[:size], *(id for id in order[size:] if id in kept)]

    def _term(
        self, id: str, shares: dict[str, dict[str, tuple[float, float]]], where: dict[str, str]
    ) -> Term:
        parts = []
        for name, held in shares.items():
            share, score = held[id]
            passage = f", {where[id]}" if name == "vector" and id in where else ""
            how = f"deviations above the weakest, from {score:.4g}{passage}"
            parts.append(weighted(name, self.weights[name], share, how))
        return combine(self.name, "sum", parts)
