"""`tier`: how much a memory's source is trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.fuse.fusions import reciprocal
from recollect.recipes.ranges import AtLeastOne, Smoothing
from recollect.signals.base import Signal, SignalValue


class Tier(Signal, frozen=True, tag="tier", kw_only=True):
    """`1/(k + tier)` with core 1, file 2, capture 3."""

    about = "how much its source is trusted"
    family = "trust"

    k: Smoothing = 60
    core: AtLeastOne = 1
    file: AtLeastOne = 2
    capture: AtLeastOne = 3

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        return {id: self._value(context.memory(id).tier) for id in ids}

    def _value(self, name: str) -> SignalValue:
        rank: int = getattr(self, name)
        return SignalValue(reciprocal(rank, self.k), f"tier {name} (1/({self.k:g} + {rank}))")
