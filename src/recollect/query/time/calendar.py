"""The values of a time in a query (name, interval, period), and calendar arithmetic.

All is on the user's clock, labelled UTC so that all days have 24 hours; `periods` converts the
result. Weeks begin on Monday.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from recollect.types import Span


class Period(Struct, frozen=True):
    """A time that a query names. `said`: the user's words; `span`: the part that `without` removes.

    They differ only if other words are between a preposition and its date: of `before the release
    of 2026-03-01` only `of 2026-03-01` is removed, since `release` still says what is searched for.
    """

    said: str
    span: Span
    start: datetime | None  # inclusive; None: open
    end: datetime | None  # exclusive; None: open
    exact: bool  # the user bounded the time on purpose; otherwise it is a hint


class Interval(NamedTuple):
    """The time of a name, before its preposition is read."""

    start: datetime
    end: datetime
    exact: bool = True
    point: datetime | None = None  # what `before` and `after` mean by `the end of March`


class Lead(NamedTuple):
    """The preposition of a name: the words, their role, and the starts of the words and of the
    span."""

    words: str
    role: str
    start: int
    span_start: int


class TimeName(NamedTuple):
    """A name of a time found in the query by a rule."""

    rule: str
    match: re.Match[str]
    start: int
    end: int
    lead: Lead | None
    listed: bool = False  # one more in a list that began with `in` or `on`

    def has(self, *groups: str) -> bool:
        """Return True if any of these groups matched."""
        parts = self.match.groupdict()
        return any(parts.get(group) for group in groups)


HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
WEEK = timedelta(weeks=1)
SATURDAY = 5


def midnight_of(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def monday_of(moment: datetime) -> datetime:
    return midnight_of(moment) - moment.weekday() * DAY


def whole_day(midnight: datetime, exact: bool = True) -> Interval:
    return Interval(midnight, midnight + DAY, exact)


def first_of(year: int, month: int) -> datetime:
    """Return the first of a month; months below 1 and above 12 are those of other years."""
    years, index = divmod(month - 1, 12)
    return datetime(year + years, index + 1, 1, tzinfo=UTC)


def calendar_unit(unit: str, shift: int, now: datetime) -> Interval:
    """Return the calendar unit that contains now, shifted by `shift` units."""
    if unit == "day":
        return whole_day(midnight_of(now) + shift * DAY)
    if unit in ("week", "weekend"):
        monday = monday_of(now) + shift * WEEK
        return Interval(monday if unit == "week" else monday + SATURDAY * DAY, monday + WEEK)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    first = (now.month - 1) // months * months + 1 + shift * months
    return Interval(first_of(now.year, first), first_of(now.year, first + months))


def back_from(count: int, unit: str, now: datetime) -> Interval:
    """Return the last `count` units up to and including today; a day that a month lacks is its
    last."""
    end = midnight_of(now) + DAY
    if unit == "hour":
        return Interval(now - count * HOUR, end)
    if unit in ("day", "week"):
        return Interval(midnight_of(now) - count * (WEEK if unit == "week" else DAY), end)
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    first, after = (
        first_of(now.year, now.month - months),
        first_of(now.year, now.month - months + 1),
    )
    return Interval(min(first + (now.day - 1) * DAY, after - DAY), end)


def third_of(part: str | None, whole: Interval) -> Interval:
    """Return the early, middle or late third of a period, in whole days; of a year, four months."""
    if not part:
        return whole
    start, end = whole.start, whole.end
    days = (end - start).days
    if days < 3:
        return whole._replace(exact=False)  # a weekend has no thirds
    third = days // 3 * DAY
    cuts = (start + third, start + 2 * third)
    if days > 360 and start.day == 1:
        cuts = (first_of(start.year, start.month + 4), first_of(start.year, start.month + 8))
    word = part.lower().split()[0]
    if word in ("early", "beginning", "start"):
        return Interval(start, cuts[0], False, None if word == "early" else start)
    if word in ("mid", "middle"):
        return Interval(cuts[0], cuts[1], False)
    return Interval(cuts[1], end, False, None if word == "late" else end)
