"""`vector`: the cosine of the dense vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, Value


class Cosine(Signal, frozen=True, tag="vector", kw_only=True):
    """Never below 0, and 0 without a vector; also for memories the keywords alone found."""

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, Value]:
        known = context.cosines(ids)
        where = context.where("vector")
        return {
            id: Value(max(0.0, known[id]), f"cosine of {where[id]}" if id in where else "cosine")
            for id in ids
            if id in known
        }
