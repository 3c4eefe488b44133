"""Whether a memory holds at a time: not before `valid_from`, and not from `valid_until` on."""

from __future__ import annotations

from datetime import datetime

from recollect.types import Memory


def validity(memory: Memory, now: datetime) -> str:
    """`expired 2026-04-30`, `valid from 2027-01-01`; empty for a memory that holds now."""
    if memory.valid_until is not None and memory.valid_until <= now:
        return f"expired {memory.valid_until:%Y-%m-%d}"
    if memory.valid_from is not None and memory.valid_from > now:
        return f"valid from {memory.valid_from:%Y-%m-%d}"
    return ""
