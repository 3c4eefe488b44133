"""Points in time: stored and exchanged as ISO 8601 in UTC, read and shown on the user's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from recollect.errors import UserError
from recollect.types import Memory

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
AGES = {"h": "hours", "d": "days", "w": "weeks"}


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


def parse_time(text: str, what: str, also: str = "", *, clock: bool = False) -> datetime:
    """An ISO 8601 date or time as a UTC datetime; `what` names the field in the error. A time
    without a zone is in UTC, or with `clock` in the user's."""
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = from_clock(moment) if clock and moment.tzinfo is None else moment
    except ValueError as error:
        raise UserError(
            f"{what} {text!r} is not a time; write it like 2026-03-01 or 2026-03-01T09:30:00Z"
            f"{also}."
        ) from error
    try:
        return in_utc(moment, what)
    except UserError as error:
        raise UserError(
            f"{what} {text!r} is not within the years 1 to 9999 in UTC; write a time like "
            f"2026-03-01T09:30:00Z{also}."
        ) from error


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


def parse_moment(text: str, now: datetime, what: str) -> datetime:
    """Like `parse_time` on the user's clock, and `7d`, `12h` or `2w` for that long before now."""
    before = _relative(text, now, -1, f"{what} {text!r} is too far in the past.")
    return before or parse_time(text, what, ", or 7d, 12h or 2w for that long ago", clock=True)


def parse_expiry(text: str, now: datetime, what: str) -> datetime:
    """Like `parse_time`, and `90d`, `12h` or `2w` for that long from now."""
    later = _relative(text, now, 1, f"{what} {text!r} is too far in the future.")
    return later or parse_time(text, what, ", or 90d, 12h or 2w for that long from now")


def _relative(text: str, now: datetime, direction: int, too_far: str) -> datetime | None:
    """So long before (-1) or after (1) now; None where the text is no span of time."""
    number, unit = text[:-1], text[-1:]
    if unit not in AGES or not (number.isascii() and number.isdigit()):
        return None
    try:
        return now + direction * timedelta(**{AGES[unit]: int(number)})
    except (OverflowError, ValueError) as error:  # the latter for thousands of digits
        raise UserError(too_far) from error


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
