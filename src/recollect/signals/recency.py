"""`recency`: a gentle preference for what is fresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from recollect.context import SearchContext
from recollect.recipes.ranges import Span
from recollect.signals.base import Signal, SignalValue

HOUR = timedelta(hours=1)
YEAR_HOURS = 8760.0


def hyperbolic(updated_at: datetime, now: datetime, hours: float = YEAR_HOURS) -> SignalValue:
    """`1 / (1 + age / 8760 h)`: a year 0.5, two years a third. Age is never below 0."""
    age = max(0.0, (now - updated_at) / HOUR)
    how = f"{age / 24:.1f} days old (1/(1 + {age:.1f} h / {hours:g} h))"
    return SignalValue(1.0 / (1.0 + age / hours), how)


class Recency(Signal, frozen=True, tag="recency", kw_only=True):
    """Age counts from `updated_at`; for a file that is its modification time."""

    about = "how new it is"
    family = "time"

    hours: Span = YEAR_HOURS

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        return {
            id: hyperbolic(context.memory(id).updated_at, context.now, self.hours) for id in ids
        }
