"""Fusion by scores: how far each candidate stands out in each channel."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import ClassVar, NamedTuple

from msgspec import Struct, field

from recollect.context import SearchContext, passages_of
from recollect.recipes.ranges import Depth, Weight
from recollect.types import Hit, Ranking, Term, combine, ranked, weighted

FAR = 2.0  # standard deviations above the mean


class Spread(Struct, frozen=True):
    """The lowest score of a channel's candidates, the standard deviation and the mean of all."""

    least: float
    deviation: float
    mean: float

    def share(self, score: float) -> float:
        """`(score − least) / deviation`. Subtracting the mean instead would give the z-score, and
        the same order; this way the weakest stands at 0. Where all are equal, none stands out:
        each counts 1 if it was found at all."""
        if self.deviation > 0:
            return (score - self.least) / self.deviation
        return 1.0 if score > 0 else 0.0

    def standing(self, score: float) -> str:
        """Compare a score with the mean, in words to append; empty where all are equal."""
        if self.deviation <= 0:
            return ""
        if score <= self.mean:
            return ", average" if score == self.mean else ", below average"
        far = "far " if score - self.mean >= FAR * self.deviation else ""
        return f", {far}above average"


def spread(scores: Iterable[float], least_deviation: float = 0.0) -> Spread:
    """Of the whole list: the standard deviation divides by the number of candidates. In a vault of
    a few memories scores may hardly differ, and dividing by next to nothing would make much of it:
    the deviation counts as `least_deviation` at least."""
    listed = list(scores)
    mean = sum(listed) / len(listed)
    # Equal scores may differ from their mean by a rounding error, which is no deviation.
    if max(listed) == min(listed):
        return Spread(listed[0], 0.0, listed[0])
    deviation = sqrt(sum((score - mean) ** 2 for score in listed) / len(listed))
    return Spread(min(listed), max(deviation, least_deviation), mean)


class Measured(NamedTuple):
    """How a channel's scores spread, each candidate's score, and for whom it is not known."""

    spread: Spread
    scores: dict[str, float]
    unknown: frozenset[str]


class ZScoreFusion(Struct, frozen=True, tag="zscore", forbid_unknown_fields=True):
    """`Σ weight · (score − least) / standard deviation`, over all candidates of all channels.

    A candidate that a channel did not return counts there with score 0; its cosine is looked up.
    One without a vector of the model, in a vault of another model for example, counts as the mean
    of the others: nothing is known of its meaning. `added` channels find candidates too, and their
    scores are added to another channel's before that one is compared. Of the best, `pool` stay,
    and everything that a channel in `kept` found. `least_deviation` bounds what a channel's scores
    are divided by.
    Source: z-score fusion, as in Wu, Crestani and Bi, "Evaluating score normalization methods in
    data fusion", 2006; the order is the same.
    """

    gives: ClassVar[tuple[str, ...]] = ()

    weights: dict[str, Weight]
    added: dict[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    pool: Depth = Depth(per_result=3, at_least=30)
    least_deviation: dict[str, Weight] = field(default_factory=dict)
    name: str = "fused"

    @property
    def channels(self) -> tuple[str, ...]:
        return (*self.weights, *self.added, *self.added.values(), *self.kept)

    def fuse(self, context: SearchContext) -> Ranking:
        ids = self._candidates(context)
        if not ids:
            return Ranking()
        measured = {
            name: self._measured(context, name, ids)
            for name in self.weights
            if name in context.channels
        }
        totals = dict.fromkeys(ids, 0.0)
        for name, channel in measured.items():
            weight, share = self.weights[name], channel.spread.share
            for id, score in channel.scores.items():
                totals[id] += weight * share(score)
        chosen = self._pool(context, totals)
        notes = {name: self._notes(context, name) for name in measured}
        hits = (Hit(id, self._term(id, measured, notes, context)) for id in chosen)
        gone = len(ids) - len(chosen)
        return ranked(hits, {"pool": gone} if gone else {})

    def _candidates(self, context: SearchContext) -> list[str]:
        """Sorted, so that sums do not depend on the order of the channels."""
        names = (*self.weights, *self.added, *self.kept)
        return sorted({hit.memory_id for name in names for hit in context.channels.get(name, ())})

    def _scores(self, context: SearchContext, name: str, ids: list[str]) -> dict[str, float]:
        by_vectors = context.is_vector_channel(name)
        scores = context.cosines(ids) if by_vectors else context.scores(name)
        for other in (added for added, into in self.added.items() if into == name):
            for id, score in context.scores(other).items():
                scores[id] = scores.get(id, 0.0) + score
        return scores

    def _measured(self, context: SearchContext, name: str, ids: list[str]) -> Measured:
        """How a channel's scores spread, and the score of each candidate there."""
        known = self._scores(context, name, ids)
        by_vectors = context.is_vector_channel(name)
        unknown = frozenset(id for id in ids if id not in known) if by_vectors else frozenset()
        cosines = [known[id] for id in ids if id in known] if unknown else []
        missing = sum(cosines) / len(cosines) if cosines else 0.0
        scores = {id: known.get(id, missing) for id in ids}
        least = self.least_deviation.get(name, 0.0)
        return Measured(spread(scores.values(), least), scores, unknown)

    def _notes(self, context: SearchContext, name: str) -> dict[str, str]:
        """Where the channel, or one that is added to it, found a memory, as far as it says so."""
        names = (name, *(added for added, into in self.added.items() if into == name))
        found = (passages_of(context.channels.get(other, Ranking())) for other in names)
        return {id: note for notes in found for id, note in notes.items()}

    def _pool(self, context: SearchContext, totals: dict[str, float]) -> list[str]:
        # By the bare totals: most candidates never need an explanation. As `ranked` orders them,
        # since they are in the order of their ids.
        best = sorted(totals, key=totals.__getitem__, reverse=True)
        size = self.pool.at(context.limit)
        kept = {hit.memory_id for name in self.kept for hit in context.channels.get(name, ())}
        return [*best[:size], *(id for id in best[size:] if id in kept)]

    def _term(
        self,
        id: str,
        measured: dict[str, Measured],
        notes: dict[str, dict[str, str]],
        context: SearchContext,
    ) -> Term:
        parts = []
        for name, (spread, scores, unknown) in measured.items():
            score = scores[id]
            note = notes[name].get(id, "")
            if id in unknown:
                how = f"no vector here: counts as the average, {score:.2f}"
            elif context.is_vector_channel(name):
                how = f"similar meaning {score:.2f}{spread.standing(score)} {note}".rstrip()
            elif score:
                by, hold = ("BM25 and details", f", {note}") if note else ("BM25", "")
                how = f"matching words{spread.standing(score)}{hold} ({by} {score:.4g})"
            else:
                how = "no matching word"
            parts.append(weighted(name, self.weights[name], spread.share(score), how))
        return combine(self.name, "sum", parts)
