"""`time_match`: memories of the time that the query's words name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
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
        from recollect.query.time.periods import understood, within  # noqa: PLC0415  start-up time

        raw = 1.0 if named[0].exact else self.hint
        how = "made in the time asked for: " + "; ".join(map(understood, named))
        return {
            id: SignalValue(raw, how) for id in ids if within(context.memory(id).created_at, named)
        }
