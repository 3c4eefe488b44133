"""A memory as the columns of a row, and back; and the conditions of a Filter on those columns,
which both stores write alike, but for the sign of a value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from recollect.hashing import content_digest
from recollect.store.base import Stored
from recollect.times import from_micros, to_micros
from recollect.types import TIMES, Filter, Memory

TEXTS = (
    "id", "title", "text", "context", "why", "impact", "details", "kind", "severity", "domain",
    "project", "source", "tier", "space", "path", "superseded_by",
)  # fmt: skip
FIELDS = (*TEXTS, *TIMES)  # the columns, without the tags
SAME_CONTENT = ("title", "text", "context", "why", "impact", "details", "kind")
EQUAL = ("project", "source", "domain", "kind", "space", "severity", "tier")
UNEQUAL = {"without_kinds": "kind", "without_projects": "project", "without_sources": "source"}
MOMENTS = {
    "since": "m.updated_at >= {}",
    "until": "m.updated_at <= {}",
    "made_since": "m.created_at >= {}",
    "made_before": "m.created_at < {}",
}

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


class Conditions:
    """Conditions on the memories table, named `m`, with their values. `sign` stands for a value;
    a column of `unindexed` chooses no index."""

    def __init__(self, sign: str, unindexed: Collection[str] = ()) -> None:
        self._sign = sign
        self._unindexed = unindexed
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:
        self.parts.append(condition)
        self.values += values

    def columns(self, filter: Filter) -> None:
        """What a memory's columns must be, and must not be; any of several values is right."""
        for column in EQUAL:
            wanted = getattr(filter, column)
            plus = "+" if column in self._unindexed else ""
            if isinstance(wanted, tuple):
                self.add(f"{plus}m.{column} IN ({self._signs(wanted)})", *wanted)
            elif wanted is not None:
                self.add(f"{plus}m.{column} = {self._sign}", wanted)
        for name, column in UNEQUAL.items():
            if unwanted := getattr(filter, name):
                self.add(f"m.{column} NOT IN ({self._signs(unwanted)})", *unwanted)

    def times(self, filter: Filter) -> None:
        for name, condition in MOMENTS.items():
            moment = getattr(filter, name)
            if moment is not None:
                self.add(condition.format(self._sign), to_micros(moment))
        if filter.valid_at is not None:
            at = to_micros(filter.valid_at)
            self.add(f"(m.valid_from IS NULL OR m.valid_from <= {self._sign})", at)
            self.add(f"(m.valid_until IS NULL OR m.valid_until > {self._sign})", at)

    def tags(self, filter: Filter, tagged: str, stored: Callable[[str], Any]) -> None:
        """`tagged`: that a memory has a tag; `stored`: how the store writes one."""
        for no, tags in (("", filter.tags), ("NOT ", filter.without_tags)):
            for tag in tags:
                self.add(no + tagged, stored(tag))

    def _signs(self, values: Collection[object]) -> str:
        return ", ".join([self._sign] * len(values))
