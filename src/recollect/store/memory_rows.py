"""A memory as the columns of a row, and back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from recollect.hashing import content_digest
from recollect.store.base import Stored
from recollect.times import from_micros, to_micros
from recollect.types import TIMES, Memory

TEXTS = (
    "id", "title", "text", "context", "why", "impact", "details", "kind", "severity", "domain",
    "project", "source", "tier", "space", "path", "superseded_by",
)  # fmt: skip
FIELDS = (*TEXTS, *TIMES)  # the columns, without the tags
SAME_CONTENT = ("title", "text", "context", "why", "impact", "details", "kind")

_texts = attrgetter(*TEXTS)
_times = attrgetter(*TIMES)
_same_content = attrgetter(*SAME_CONTENT)


class BadRow(ValueError):
    """What is stored of a memory is not what was written."""


def values_of(memory: Memory) -> tuple[str | int | None, ...]:
    """The columns FIELDS of a memory."""
    times = (None if moment is None else to_micros(moment) for moment in _times(memory))
    return *_texts(memory), *times


def content_hash(texts: Sequence[str]) -> bytes:
    """A hash of the fields SAME_CONTENT: equal for two memories that say the same, in any vault."""
    return content_digest("\0".join(texts), 16)


def content_hash_of(memory: Memory) -> bytes:
    return content_hash(_same_content(memory))


def as_stored(key: Any, forgotten_at: Any, tags: Sequence[str], fields: Sequence[Any]) -> Stored:
    """A row as a memory; `fields` are the columns FIELDS. BadRow where a time is not valid."""
    values: dict[str, Any] = dict(zip(FIELDS, fields, strict=True))
    for name in TIMES:
        if (micros := values[name]) is not None:
            values[name] = _moment(micros)
    memory = Memory(tags=tuple(tags), **values)
    return Stored(key, memory, None if forgotten_at is None else _moment(forgotten_at))


def _moment(micros: Any) -> datetime:
    """The time in a column; a damaged row may hold any value."""
    try:
        return from_micros(micros)
    except (TypeError, OverflowError) as error:
        raise BadRow("a time is not valid") from error
