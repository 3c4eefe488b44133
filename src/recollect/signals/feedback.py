"""`feedback`: what people said of a memory when they asked something like this before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.query.terms import keywords
from recollect.signals.base import Signal, SignalValue
from recollect.signals.tags import jaccard


class Feedback(Signal, frozen=True, tag="feedback", kw_only=True):
    """The sum of +1 for each time it was accepted and −1 for each time it was dismissed, each
    counted by how alike the questions are (Jaccard of their keywords), within −1…1: what was
    dismissed for another question is not worse for this one."""

    about = "accepted or dismissed before"
    family = "rarity"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        judged = context.store.feedback.about(ids)
        asked = frozenset(keywords(context.search.query)) if judged else frozenset[str]()
        totals: dict[str, float] = {}
        for memory_id, query, accepted in judged:
            alike = jaccard(asked, frozenset(keywords(query)))
            totals[memory_id] = totals.get(memory_id, 0.0) + (alike if accepted else -alike)
        return {
            id: SignalValue(max(-1.0, min(1.0, total)), "accepted" if total > 0 else "dismissed")
            for id, total in totals.items()
            if total
        }
