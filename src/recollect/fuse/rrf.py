"""Reciprocal rank fusion. Source: Cormack, Clarke and Büttcher, 2009; k = 60 is theirs."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct, structs

from recollect.context import SearchContext
from recollect.recipes.ranges import Smoothing
from recollect.types import Hit, Ranking, Term, combine, ranked

Alone = Literal["rrf", "scores"]


def reciprocal(rank: int, k: float) -> float:
    """`1 / (k + rank)`, ranks from 1; a memory absent from a list has no such term there."""
    return 1.0 / (k + rank)


class Rrf(Struct, frozen=True, tag="rrf", forbid_unknown_fields=True):
    """The sum of `1/(k + rank)` over the channels that hold a memory.

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
