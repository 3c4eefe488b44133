"""Signals of time: the time that a query names, and the age of a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import exp, log

from recollect.context import SearchContext
from recollect.recipes.ranges import Share, Span
from recollect.signals.base import Signal, SignalValue
from recollect.types import Memory

HOUR = timedelta(hours=1)
YEAR_HOURS = 8760.0
DAY = timedelta(days=1)


class TimeMatch(Signal, frozen=True, tag="time_match", kw_only=True):
    """1 for a memory made in a period that the query bounds ("last week", "before 2026-03-01"),
    `hint` for a period that it only hints at ("recently"). Nothing is dropped: a memory may mention
    a time without having been made then."""

    about = "made in the time asked for"
    family = "time"
    reads_time = True

    hint: Share = 0.5

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        named = context.understanding.effective_periods
        if not named:
            return {}
        from recollect.query.time.periods import describe, within  # noqa: PLC0415  start-up time

        raw = 1.0 if named[0].exact else self.hint
        how = "made in the time asked for: " + "; ".join(map(describe, named))
        return {
            id: SignalValue(raw, how) for id in ids if within(context.memory(id).created_at, named)
        }


def hyperbolic(updated_at: datetime, now: datetime, hours: float = YEAR_HOURS) -> SignalValue:
    """Return `1 / (1 + age / 8760 h)`: a year 0.5, two years a third. Age is never below 0."""
    age = max(0.0, (now - updated_at) / HOUR)
    how = f"{age / 24:.1f} days old (1/(1 + {age:.1f} h / {hours:g} h))"
    return SignalValue(1.0 / (1.0 + age / hours), how)


class Recency(Signal, frozen=True, tag="recency", kw_only=True):
    """Newer is better. Age counts from `updated_at`; for a file that is its modification time."""

    about = "how new it is"
    family = "time"

    hours: Span = YEAR_HOURS

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        return {
            id: hyperbolic(context.memory(id).updated_at, context.now, self.hours) for id in ids
        }


def half_life(updated_at: datetime, now: datetime, days: float) -> SignalValue:
    """Return `exp(-ln 2 · age / half-life)`: 1 new, 0.5 after one half-life. Age is never below
    0."""
    age = max(0.0, (now - updated_at) / DAY)
    return SignalValue(exp(-log(2) * age / days), f"{age:.1f} days old (half-life {days:g} days)")


def window(memory: Memory, until: datetime, now: datetime, zone_share: float) -> SignalValue:
    """Return 1 until the last `zone_share` of the validity window, then down linearly to 0 at its
    end.

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
    """By age, or by validity window for a memory with `valid_until`."""

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
