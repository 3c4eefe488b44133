"""`vector`: the cosine of the dense vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import ChannelRole, SearchContext, passages_of
from recollect.signals.base import Signal, SignalValue


class Cosine(Signal, frozen=True, tag="vector", kw_only=True):
    """Never below 0, and 0 without a vector; also for memories the keywords alone found."""

    about = "near in meaning"
    family = "meaning"

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        return ("vector",)

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        known = context.cosines(ids)
        where = passages_of(context.by_vectors())
        return {
            id: SignalValue(
                max(0.0, known[id]), f"similar meaning {known[id]:.2f} {where.get(id, '')}".rstrip()
            )
            for id in ids
            if id in known
        }
