"""Fusions by rank, by shares of the largest score, and none."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct, structs

from recollect.context import SearchContext, passages_of
from recollect.recipes.ranges import Smoothing, Weight
from recollect.types import Hit, Ranking, Term, combine, leaf, ranked, weighted

Alone = Literal["rrf", "scores"]


def reciprocal(rank: int, k: float) -> float:
    """`1 / (k + rank)`, ranks from 1; a memory absent from a list has no such term there."""
    return 1.0 / (k + rank)


class Rrf(Struct, frozen=True, tag="rrf", forbid_unknown_fields=True):
    """The sum of `1/(k + rank)` over the channels that hold a memory. Source: Cormack, Clarke and
    Büttcher, 2009; k = 60 is theirs.

    `alone` says what holds when only one of the channels took part: `rrf`, the same formula over
    that one list, or `scores`, the channel's own scores.
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
    """No fusion: everything the channels found, each memory once, unscored, for a stage that scores
    it afresh."""

    gives: ClassVar[tuple[str, ...]] = ()

    channels: tuple[str, ...]

    def fuse(self, context: SearchContext) -> Ranking:
        found = {hit.memory_id for name in self.channels for hit in context.channels.get(name, ())}
        return ranked(Hit(id, leaf("candidate", 0.0, "not scored yet")) for id in found)


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
