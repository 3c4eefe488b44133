"""Days that end something."""

from __future__ import annotations

from datetime import date, timedelta


def end_of_day(value: object) -> object:
    """What holds until a day holds on that day as well: a bare date is the next midnight. Anything
    else stays as it is."""
    try:
        return (date.fromisoformat(str(value)) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return value
