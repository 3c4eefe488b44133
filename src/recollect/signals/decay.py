"""`temporal_decay`: memories fade, or hold until their window closes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import exp, log

from recollect.context import SearchContext
from recollect.recipes.ranges import Share, Span
from recollect.signals.base import Signal, SignalValue
from recollect.types import Memory

DAY = timedelta(days=1)


def half_life(updated_at: datetime, now: datetime, days: float) -> SignalValue:
    """`exp(-ln 2 · age / half-life)`: 1 new, 0.5 after one half-life. Age is never below 0."""
    age = max(0.0, (now - updated_at) / DAY)
    return SignalValue(exp(-log(2) * age / days), f"{age:.1f} days old (half-life {days:g} days)")


def window(memory: Memory, until: datetime, now: datetime, zone_share: float) -> SignalValue:
    """1 until the last `zone_share` of the window, then down in a line to 0 at its end.

    A window of no length, or a negative one, counts as 1 until it has expired.
    """
    remaining = until - now
    if remaining <= timedelta(0):
        return SignalValue(0.0, "expired")
    zone = zone_share * (until - (memory.valid_from or memory.created_at))
    if remaining > zone:
        return SignalValue(1.0, f"valid for {remaining / DAY:.1f} more days")
    return SignalValue(
        remaining / zone, f"{remaining / DAY:.1f} of the last {zone / DAY:.1f} days left"
    )


class TemporalDecay(Signal, frozen=True, tag="temporal_decay", kw_only=True):
    """By age, or by validity window for a memory that has `valid_until`."""

    about = "how new it is, or how long it stays valid"
    family = "time"

    half_life_days: Span = 365.0
    zone: Share = 0.25

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        return {id: self._value(context.memory(id), context.now) for id in ids}

    def _value(self, memory: Memory, now: datetime) -> SignalValue:
        if memory.valid_until is not None:
            return window(memory, memory.valid_until, now, self.zone)
        return half_life(memory.updated_at, now, self.half_life_days)
