"""`severity`: how much it matters to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.recipes.ranges import Share
from recollect.signals.base import Signal, SignalValue


class Severity(Signal, frozen=True, tag="severity", kw_only=True):
    """One value per severity; unset counts as suggestion."""

    about = "how severe it is"
    family = "rarity"

    critical: Share = 1.0
    warning: Share = 0.7
    suggestion: Share = 0.4

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        named = {id: context.memory(id).severity or "suggestion" for id in ids}
        return {id: SignalValue(getattr(self, name), name) for id, name in named.items()}
