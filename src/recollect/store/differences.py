"""Differences: the fields of a memory as they were before a change.

A difference is a CRC-32 and a MessagePack array: the number of the version that the change made,
and the old values by the number of their field. Of a longer text it keeps only the part that
differs, with how many characters before and after it are those of the new text. The checksum
covers the whole old texts, so that neither a damaged difference nor a damaged memory is taken for
the past.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any
from zlib import crc32

import msgspec
from msgspec.structs import replace

from recollect.store.base import Stored
from recollect.store.memory_rows import BadRow
from recollect.times import from_micros, to_micros
from recollect.types import TIMES

# Fields are stored by their place here: add new ones at the end.
FIELDS = (
    "forgotten_at", "title", "text", "context", "why", "impact", "details", "tags", "kind",
    "severity", "domain", "project", "source", "tier", "space", "path", "created_at", "updated_at",
    "valid_from", "valid_until", "superseded_by", "archived_at",
)  # fmt: skip
MOMENTS = ("forgotten_at", *TIMES)
SHORT = 16  # characters: a shorter text is kept whole
CHECK = 4  # bytes of the checksum
MADE = b""  # the difference of the change that made the memory

_fields = attrgetter(*FIELDS[1:])


def difference(before: Stored, after: Stored, number: int) -> bytes:
    """Return the fields of `before` that differ from `after`, for the change that made version
    `number`; empty bytes if none do."""
    kept: dict[int, Any] = {}
    cut: list[str] = []
    pairs = zip(
        (before.forgotten_at, *_fields(before.memory)),
        (after.forgotten_at, *_fields(after.memory)),
        strict=True,
    )
    for place, (old, new) in enumerate(pairs):
        if old == new:
            continue
        kept[place] = old
        if isinstance(old, datetime):
            kept[place] = to_micros(old)
        elif isinstance(old, str) and isinstance(new, str) and len(old) > SHORT:
            start = _common(old, new)
            most = min(len(old), len(new)) - start
            end = _common(old[len(old) - most :][::-1], new[len(new) - most :][::-1])
            if start + end > SHORT:
                kept[place] = (start, end, old[start : len(old) - end])
                cut.append(old)
    if not kept:
        return b""
    payload = msgspec.msgpack.encode((number, kept))
    return _check(payload, cut) + payload


def number_of(difference: bytes) -> int:
    """Return the number of the version that the change made."""
    return _decode(difference)[0] if difference else 1


def changed_by(difference: bytes) -> tuple[str, ...]:
    """Return the names of the fields that differ."""
    places = _decode(difference)[1] if difference else {}
    return tuple([FIELDS[place] for place in sorted(places)])


def earlier(after: Stored, difference: bytes) -> Stored | None:
    """Return the memory before the change, or None if the change made it. Raise BadRow if the
    difference does not belong to `after`, or either is damaged."""
    if not difference:
        return None
    _, kept = _decode(difference)
    old: dict[str, Any] = {}
    cut: list[str] = []
    try:
        for place in sorted(kept):
            name, value = FIELDS[place], kept[place]
            if name in MOMENTS:
                value = None if value is None else from_micros(value)
            elif name == "tags":
                value = tuple(value)
            elif isinstance(value, list):
                start, end, middle = value
                new = getattr(after.memory, name)
                value = new[:start] + middle + new[len(new) - end :]
                cut.append(value)
            old[name] = value
        if _check(difference[CHECK:], cut) != difference[:CHECK]:
            raise ValueError
        forgotten_at = old.pop("forgotten_at", after.forgotten_at)
        return Stored(after.key, replace(after.memory, **old), forgotten_at)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise _damage_error() from error


def _decode(difference: bytes) -> tuple[int, dict[int, Any]]:
    try:
        return msgspec.msgpack.decode(difference[CHECK:], type=tuple[int, dict[int, Any]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _damage_error() from error


def _damage_error() -> BadRow:
    return BadRow("an earlier version of a memory is not what was written")


def _check(payload: bytes, texts: Sequence[str]) -> bytes:
    value = crc32(payload)
    for text in texts:
        value = crc32(text.encode(), value)
    return value.to_bytes(CHECK, "little")


def _common(a: str, b: str) -> int:
    """Return the length of the common prefix."""
    if a == b:
        return len(a)
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
