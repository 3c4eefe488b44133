"""Weighted fusion of normalised scores."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from recollect.context import SearchContext, passages_of
from recollect.recipes.ranges import Weight
from recollect.types import Hit, Ranking, Term, combine, ranked, weighted


def over_largest(scores: dict[str, float]) -> dict[str, float]:
    """Each score divided by the largest; a list whose largest is not above 0 stays as it is."""
    largest = max(scores.values(), default=0.0)
    if largest <= 0:
        return scores
    return {id: score / largest for id, score in scores.items()}


class WeightedMax(Struct, frozen=True, tag="weighted_max", forbid_unknown_fields=True):
    """`Σ weight · score / largest score of the list`; a memory in one list gets that part alone.

    When only one channel took part, its scores over the largest stand alone, weight `alone`.
    Source: the `echovault` recipe, "Tiered" and "Merge".
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
                how = f"{name} score over the largest {where.get(id, '')}".rstrip()
                parts.setdefault(id, []).append(weighted(name, weight, share, how))
        return ranked(Hit(id, combine("fused", "sum", terms)) for id, terms in parts.items())
