"""Times as other tools write them."""

from __future__ import annotations

import re
from datetime import date, timedelta

from recollect import UserError
from recollect.plugin.importers import EPOCH, iso, parse_time

# So many seconds are over in the year 5138, so many milliseconds were over in 1973: the size of a
# number tells its unit, in steps of a thousand.
LARGEST_SECONDS = 1e11
UNITS = (1.0, 1e3, 1e6, 1e9)


def moment(value: object) -> str | None:
    """A time as ISO 8601 in UTC: from ISO 8601, or from a number of seconds, milli-, micro- or
    nanoseconds since 1970. None for anything else."""
    if isinstance(value, str):
        try:
            return _since_1970(float(value)) if _is_number(value) else iso(parse_time(value, ""))
        except UserError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _since_1970(value)


def _is_number(text: str) -> bool:
    """True for more digits than a date written without hyphens has."""
    return re.fullmatch(r"\s*\d{9,25}(\.\d{1,12})?\s*", text, re.ASCII) is not None


def _since_1970(number: float) -> str | None:
    for unit in UNITS:
        if abs(number) < LARGEST_SECONDS * unit:
            try:
                return iso(EPOCH + timedelta(seconds=number / unit))
            except OverflowError:  # before the first year
                return None
    return None  # too large, or not a number at all


def end_of_day(value: object) -> object:
    """A bare date as the next midnight: what is valid until a day is valid on that day as well. Any
    other value stays as it is."""
    try:
        return (date.fromisoformat(str(value)) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return value
