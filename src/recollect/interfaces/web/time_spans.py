"""The stretches of time that the timeline is drawn in: days, weeks, months or years."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Literal

from recollect.store.base import Dates

Grain = Literal["day", "week", "month", "year"]
Span = Literal["fit", "all", "year", "quarter", "month"]

# More bars than this would be thinner than a finger and a screen allow.
MOST_BARS = 130
# Without a choice, a grain is taken whose bars are easy to distinguish.
USUAL_BARS = 64
# How far "fit" looks ahead: one memory that expires in 2099 must not flatten the picture.
AHEAD = timedelta(days=400)
# The least that "fit" shows: a new vault is drawn as days, not as one bar.
LEAST = timedelta(days=13)
# The most that "all" shows: memories farther from today are counted in words.
FARTHEST = timedelta(days=64 * 365)
SPANS: dict[Span, tuple[str, timedelta | None]] = {
    "fit": ("Fit", None),
    "all": ("Everything", None),
    "year": ("A year around today", timedelta(days=183)),
    "quarter": ("Three months", timedelta(days=46)),
    "month": ("A month", timedelta(days=15)),
}
GRAINS: dict[Grain, int] = {"day": 1, "week": 7, "month": 30, "year": 365}


def spanned(dates: Dates, span: Span, today: date) -> tuple[date, date] | None:
    """The first and last day of the picture; None where there is nothing to draw."""
    days = [*dates.made, *dates.expiring]
    if not days:
        return None
    around = SPANS[span][1]
    if around is not None:
        return _moved(today, -around), _moved(today, around)
    first, last = min(*days, today), max(*days, today)
    if span == "fit" and dates.made:
        first = min(_begun(dates.made, today), _moved(today, -LEAST))
        last = min(last, max(*dates.made, _moved(today, AHEAD)))
    return max(first, _moved(today, -FARTHEST)), min(last, _moved(today, FARTHEST))


def _begun(made: Mapping[date, int], today: date) -> date:
    """The first day on which memories were made, without the few that are by far older than all
    others: a wrong date must not flatten the picture."""
    few = max(1, sum(made.values()) // 50)
    days, passed = sorted(made), 0
    for day in days:
        passed += made[day]
        if passed > few:
            return day if (today - day) * 3 < today - days[0] else days[0]
    return days[0]


def start_of(day: date, grain: Grain) -> date:
    """The first day of the stretch that the day lies in; weeks begin on Monday."""
    match grain:
        case "day":
            return day
        case "week":
            return _moved(day, -timedelta(days=day.weekday()))
        case "month":
            return day.replace(day=1)
    return day.replace(month=1, day=1)


def end_of(start: date, grain: Grain) -> date:
    """The last day of the stretch that begins here."""
    match grain:
        case "day":
            return start
        case "week":
            return _moved(start, timedelta(days=6))
        case "month":
            return start.replace(day=monthrange(start.year, start.month)[1])
    return start.replace(month=12, day=31)


def bars_needed(window: tuple[date, date], grain: Grain) -> int:
    """About how many bars a grain gives."""
    return (window[1] - window[0]).days // GRAINS[grain] + 1


def chosen_grain(window: tuple[date, date], by: Grain | None) -> Grain:
    """The chosen grain where it fits; else the finest with bars that are easy to distinguish."""
    if by and bars_needed(window, by) <= MOST_BARS:
        return by
    return next((grain for grain in GRAINS if bars_needed(window, grain) <= USUAL_BARS), "year")


def _moved(day: date, by: timedelta) -> date:
    """The day moved by so much, and never out of the calendar."""
    try:
        return day + by
    except OverflowError:
        return date.max if by > timedelta(0) else date.min
