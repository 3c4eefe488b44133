"""`time_match`: memories of the time that the query's words name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from recollect.context import SearchContext
from recollect.query.time.periods import understood
from recollect.query.time.values import Period
from recollect.recipes.ranges import Share
from recollect.signals.base import Signal, SignalValue


class TimeMatch(Signal, frozen=True, tag="time_match", kw_only=True):
    """1 for a memory made in a period that the query bounds ("last week", "before 2026-03-01"),
    `hint` for one that it only hints at ("recently"). Favours and never drops: a memory may speak
    of a time without having been made in it."""

    about = "made in the time asked for"
    family = "time"
    reads_time = True

    hint: Share = 0.5

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        named = context.understanding.asked_periods
        if not named:
            return {}
        raw = 1.0 if named[0].exact else self.hint
        how = "made in the time asked for: " + "; ".join(map(understood, named))
        return {
            id: SignalValue(raw, how) for id in ids if within(context.memory(id).created_at, named)
        }


def within(moment: datetime, named: Sequence[Period]) -> bool:
    """In one of the closed periods, where there are any ("in March and April"), and in all of the
    open ones ("after March and before June")."""
    closed = [period for period in named if None not in (period.start, period.end)]
    rest = [period for period in named if None in (period.start, period.end)]
    return (not closed or any(_in(moment, period) for period in closed)) and all(
        _in(moment, period) for period in rest
    )


def _in(moment: datetime, period: Period) -> bool:
    after = period.start is None or moment >= period.start
    return after and (period.end is None or moment < period.end)
