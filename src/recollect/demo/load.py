"""The sample memories, dated relative to now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

import msgspec

from recollect.ingest.draft import Draft, make_draft
from recollect.times import moved

# A field with an age in days → the memory's field, and the direction of time.
RELATIVE = {
    "created_days_ago": ("created_at", -1),
    "updated_days_ago": ("updated_at", -1),
    "valid_from_days_ago": ("valid_from", -1),
    "valid_for_days": ("valid_until", 1),
}


def sample(now: datetime) -> Iterator[Draft]:
    """Every sample memory as a draft."""
    text = files("recollect.demo").joinpath("memories.jsonl").read_bytes()
    for line in text.splitlines():
        yield make_draft(_dated(msgspec.json.decode(line), now))


def _dated(raw: dict[str, Any], now: datetime) -> dict[str, Any]:
    for name, (field, direction) in RELATIVE.items():
        if name in raw:
            raw[field] = moved(now, direction * timedelta(days=raw.pop(name)))
    return raw
