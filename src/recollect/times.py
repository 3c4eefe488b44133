"""Times: stored and exchanged as ISO 8601 in UTC, read and shown in the user's time zone."""

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
    """Return the time in the user's zone: the one in TZ, or the system's."""
    try:
        return moment.astimezone()
    except (OverflowError, ValueError, OSError):  # the ends of the calendar
        return moment


def from_clock(shown: datetime) -> datetime:
    """Return the time in UTC for one in the user's zone; the given zone is ignored."""
    try:
        return shown.replace(tzinfo=None).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return shown.replace(tzinfo=UTC)


def parse_iso(text: str, what: str, *, clock: bool = False) -> datetime | None:
    """Parse an ISO 8601 date or time into UTC; return None if it is not one, and raise UserError if
    it is out of range. The default zone is UTC, or with `clock` the user's."""
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
    """Parse an ISO 8601 time, as programs write it, into UTC. `query.time.moments.read_time` reads
    times that people write."""
    moment = parse_iso(text, what)
    if moment is None:
        raise not_a_time(text, what)
    return moment


def not_a_time(text: str, what: str) -> UserError:
    """Return the error for a field that is not a time."""
    return UserError(f"{what} {text!r} is not a time; write it like {TIME_FORMS}.")


def out_of_range(text: str, what: str) -> UserError:
    """Return the error for a time outside the calendar."""
    return UserError(
        f"{what} {text!r} is not within the years 1 to 9999 in UTC; write it like {TIME_FORMS}."
    )


def with_zone(text: str) -> str:
    """Return an ISO 8601 time with the user's zone if it has no zone; other texts unchanged."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    return text if moment.tzinfo else from_clock(moment).isoformat()


def current_time(environment: Mapping[str, str] = os.environ) -> datetime:
    """Return the current time, or the one in RECOLLECT_NOW."""
    if value := environment.get("RECOLLECT_NOW"):
        return parse_time(value, "RECOLLECT_NOW")
    return datetime.now(UTC)


def in_utc(moment: datetime, what: str = "The time") -> datetime:
    """Convert a time to UTC, the default zone; raise UserError if it is then out of the years 1 to
    9999."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise UserError(
            f"{what} {moment.isoformat()} is not within the years 1 to 9999 in UTC; "
            "give a time that is."
        ) from error


def shift(moment: datetime, by: timedelta) -> datetime:
    """Add a duration to a time; out of range, return the first or last time of the calendar."""
    try:
        return moment + by
    except OverflowError:
        end = datetime.max if by > timedelta(0) else datetime.min
        return end.replace(tzinfo=UTC)


def duration_of(found: re.Match[str]) -> timedelta:
    """Return the duration of a match of DURATION."""
    unit = found["unit"]
    return int(found["count"]) * UNITS[unit[:2] if unit[0] == "m" else unit[0]]


def to_micros(moment: datetime) -> int:
    """Return microseconds since 1970, as the store keeps times."""
    return (moment - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + micros * MICROSECOND


def iso(moment: datetime) -> str:
    """Return `2026-03-01T09:30:00Z`, with a fraction only if there is one."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def minute(moment: datetime) -> str:
    """Return `2026-03-01 09:30 CET`, in the user's zone."""
    return f"{on_clock(moment):%Y-%m-%d %H:%M %Z}"


def day(moment: datetime) -> str:
    """Return `2026-03-01`, in the user's zone."""
    return f"{on_clock(moment):%Y-%m-%d}"


def validity(memory: Memory, now: datetime) -> str:
    """Return `expired 2026-04-30` or `valid from 2027-01-01`; empty for a memory that is valid now:
    from `valid_from` until before `valid_until`."""
    if memory.valid_until is not None and memory.valid_until <= now:
        return f"expired {day(memory.valid_until)}"
    if memory.valid_from is not None and memory.valid_from > now:
        return f"valid from {day(memory.valid_from)}"
    return ""
