"""`vector`: the cosine of the dense vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.at import At
from recollect.signals.base import Signal, Value


class Cosine(Signal, frozen=True, tag="vector", kw_only=True):
    """Never below 0, and 0 without a vector; also for memories the keywords alone found."""

    def values(self, at: At, ids: Sequence[str]) -> Mapping[str, Value]:
        if "vector" not in at.channels or at.query_vector is None:
            return {}
        known = at.scores("vector")
        others = [id for id in ids if id not in known]
        if others:
            identity = at.models.embedder().identity
            known |= at.store.vectors.similarities(identity, at.query_vector, others)
        where = at.where("vector")
        return {
            id: Value(max(0.0, known[id]), f"cosine of {where[id]}" if id in where else "cosine")
            for id in ids
            if id in known
        }
