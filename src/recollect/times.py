"""Points in time: stored and exchanged as ISO 8601 in UTC, read and shown on the user's clock."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from recollect.errors import UserError
from recollect.types import Memory

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# A length of time: 30d, 2 weeks; its units by their first letters.
DURATION = (
    r"(?P<count>[0-9]{1,5}) ?"
    r"(?P<unit>mins?|[hdwy]|(?:second|minute|hour|day|week|month|year)s?)"
)
UNITS = {
    "s": timedelta(seconds=1), "mi": timedelta(minutes=1), "h": timedelta(hours=1),
    "d": timedelta(days=1), "w": timedelta(days=7), "mo": timedelta(days=30),
    "y": timedelta(days=365),
}  # fmt: skip
TIME_FORMS = "2026-03-01, 7d or friday"  # in messages


def on_clock(moment: datetime) -> datetime:
    """Return the moment in the user's time zone: the one that TZ names, else the system's."""
    try:
        return moment.astimezone()
    except (OverflowError, ValueError, OSError):  # the ends of the calendar
        return moment


def from_clock(shown: datetime) -> datetime:
    """Return the moment, in UTC, at which the user's clock shows this; its own zone is ignored."""
    try:
        return shown.replace(tzinfo=None).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return shown.replace(tzinfo=UTC)


def parse_iso(text: str, what: str, *, clock: bool = False) -> datetime | None:
    """Return an ISO 8601 date or time in UTC, or None if it is not one; UserError for one out of
    the calendar. Without a zone it is in UTC, or with `clock` in the user's."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    moment = from_clock(moment) if clock and moment.tzinfo is None else moment
    try:
        return in_utc(moment, what)
    except UserError as error:
        raise out_of_range(text, what) from error


def parse_time(text: str, what: str) -> datetime:
    """Return an ISO 8601 time, as programs write it, in UTC. What people write is read by
    `query.time.moments.read_time`."""
    moment = parse_iso(text, what)
    if moment is None:
        raise not_a_time(text, what)
    return moment


def not_a_time(text: str, what: str) -> UserError:
    """Say that the value of a field is no time, and what one looks like."""
    return UserError(f"{what} {text!r} is not a time; write it like {TIME_FORMS}.")


def out_of_range(text: str, what: str) -> UserError:
    """Say that UTC's calendar has no such time."""
    return UserError(
        f"{what} {text!r} is not within the years 1 to 9999 in UTC; write it like {TIME_FORMS}."
    )


def with_zone(text: str) -> str:
    """Return an ISO 8601 time with the user's zone if it has none; any other text as it is."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    return text if moment.tzinfo else from_clock(moment).isoformat()


def current_time(environment: Mapping[str, str] = os.environ) -> datetime:
    """Return the present, or the one moment that RECOLLECT_NOW names."""
    if value := environment.get("RECOLLECT_NOW"):
        return parse_time(value, "RECOLLECT_NOW")
    return datetime.now(UTC)


def in_utc(moment: datetime, what: str = "The time") -> datetime:
    """The moment in UTC, which times without a zone are in. UserError where that is before the year
    1 or after 9999: a calendar of the zone may have the moment, the one of UTC has not."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise UserError(
            f"{what} {moment.isoformat()} is not within the years 1 to 9999 in UTC; "
            "give a time that is."
        ) from error


def moved(moment: datetime, by: timedelta) -> datetime:
    """The moment so much later, or earlier, and never out of the calendar."""
    try:
        return moment + by
    except OverflowError:
        end = datetime.max if by > timedelta(0) else datetime.min
        return end.replace(tzinfo=UTC)


def duration_of(found: re.Match[str]) -> timedelta:
    """Return the length of time that DURATION has found."""
    unit = found["unit"]
    return int(found["count"]) * UNITS[unit[:2] if unit[0] == "m" else unit[0]]


def to_micros(moment: datetime) -> int:
    """Whole microseconds since 1970, as the store keeps times."""
    return (moment - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + micros * MICROSECOND


def iso(moment: datetime) -> str:
    """`2026-03-01T09:30:00Z`, with a fraction only where there is one."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def minute(moment: datetime) -> str:
    """`2026-03-01 09:30 CET`, on the user's clock."""
    return f"{on_clock(moment):%Y-%m-%d %H:%M %Z}"


def day(moment: datetime) -> str:
    """`2026-03-01`, on the user's clock."""
    return f"{on_clock(moment):%Y-%m-%d}"


def validity(memory: Memory, now: datetime) -> str:
    """`expired 2026-04-30`, `valid from 2027-01-01`; empty for a memory that holds now: not before
    `valid_from`, and not from `valid_until` on."""
    if memory.valid_until is not None and memory.valid_until <= now:
        return f"expired {day(memory.valid_until)}"
    if memory.valid_from is not None and memory.valid_from > now:
        return f"valid from {day(memory.valid_from)}"
    return ""
