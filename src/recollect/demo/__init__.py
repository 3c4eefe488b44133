"""The sample memories, dated relative to now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

import msgspec

from recollect.ingest.draft import Draft, make_draft
from recollect.times import shift

# A field with an age in days → the memory's field, and its sign.
RELATIVE = {
    "created_days_ago": ("created_at", -1),
    "updated_days_ago": ("updated_at", -1),
    "valid_from_days_ago": ("valid_from", -1),
    "valid_for_days": ("valid_until", 1),
}


def sample(now: datetime) -> Iterator[Draft]:
    """Yield the sample memories as drafts."""
    text = files("recollect.demo").joinpath("memories.jsonl").read_bytes()
    for line in text.splitlines():
        fields = msgspec.json.decode(line, type=dict[str, Any])
        for name, (field, sign) in RELATIVE.items():
            if name in fields:
                fields[field] = shift(now, sign * timedelta(days=fields.pop(name)))
        yield make_draft(fields)
