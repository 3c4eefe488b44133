"""Dates in the formats of data sets."""

from __future__ import annotations

from datetime import UTC, datetime

from recollect.errors import UserError
from recollect.times import parse_time

# What ISO 8601 does not cover: LoCoMo, LongMemEval, BEAM.
FORMATS = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%B-%d-%Y")


def as_moment(value: object) -> datetime | None:
    """The field's time in UTC; None where it cannot be read as one."""
    if not isinstance(value, str):
        return None
    for format in FORMATS:
        try:
            return datetime.strptime(value.strip(), format).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        return parse_time(value, "date")
    except UserError:
        return None
