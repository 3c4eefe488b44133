"""A memory as JSON, the same for export, the command line and every server."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from recollect.hashing import content_digest
from recollect.times import iso
from recollect.types import Memory

LATER = ("superseded_by", "archived_at")  # what may become of a memory, and mostly does not


def memory_json(memory: Memory) -> dict[str, Any]:
    """Every field, times in UTC; those of LATER only where they are set."""
    values = ((name, getattr(memory, name)) for name in Memory.__struct_fields__)
    return {name: _plain(value) for name, value in values if value or name not in LATER}


def revision(memory: Memory) -> str:
    """A hash of every field: it changes whenever the memory changes."""
    encoded = msgspec.json.encode(memory_json(memory)).decode()
    return content_digest(encoded, 12).hex()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return iso(value)
    return list(value) if isinstance(value, tuple) else value
