"""A Filter as SQL: one translation for every channel, so that a filter holds before any limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import apsw

from recollect.query.fts5 import all_of
from recollect.store.sqlite.connection import as_json_list
from recollect.times import to_micros
from recollect.types import Filter

EQUAL = ("project", "source", "domain", "kind", "space", "severity", "tier")

TIMES = {
    "since": "m.updated_at >= ?",
    "until": "m.updated_at <= ?",
    "made_since": "m.created_at >= ?",
    "made_before": "m.created_at < ?",
}
HOLDING = "SELECT rowid FROM stemmed WHERE stemmed MATCH ?"
KEYS = "SELECT value FROM json_each(?)"


class Condition(NamedTuple):
    sql: str
    values: list[apsw.SQLiteValue]


class FilterLookup(Protocol):
    """What a filter has to look up in the vault."""

    def hashed(self, word: str) -> bytes:
        """The keyed hash of a tag, which ignores case in every script."""

    def holding(self, words: Sequence[str]) -> list[int] | None:
        """The keys of the memories that hold all of these words; None where FTS5 has them all."""


def where(filter: Filter, lookup: FilterLookup) -> Condition:
    """A condition on the memories table, named `m`, and its values; never empty."""
    parts = ["m.forgotten_at IS NULL"]
    values: list[apsw.SQLiteValue] = []
    for column in EQUAL:
        wanted = getattr(filter, column)
        if wanted is not None:
            parts.append(f"m.{column} = ?")
            values.append(wanted)
    for name, condition in TIMES.items():
        moment = getattr(filter, name)
        if moment is not None:
            parts.append(condition)
            values.append(to_micros(moment))
    for tag in filter.tags:
        parts.append(
            "EXISTS (SELECT 1 FROM memory_tags mt JOIN tags t ON t.key = mt.tag "
            "WHERE mt.memory = m.key AND t.topic = ?)"
        )
        values.append(lookup.hashed(tag))
    if filter.valid_at is not None:
        parts.append("(m.valid_from IS NULL OR m.valid_from <= ?)")
        parts.append("(m.valid_until IS NULL OR m.valid_until > ?)")
        values += (to_micros(filter.valid_at),) * 2
    held = [("IN", filter.holding)] if filter.holding else []
    for operator, words in (*held, *(("NOT IN", words) for words in filter.without)):
        keys = lookup.holding(words)
        parts.append(f"m.key {operator} ({HOLDING if keys is None else KEYS})")
        values.append(all_of(words) if keys is None else as_json_list(keys))
    for kind in filter.without_kinds:
        parts.append("m.kind <> ?")
        values.append(kind)
    if filter.among is not None:
        parts.append("m.id IN (SELECT value FROM json_each(?))")
        values.append(as_json_list(filter.among))
    return Condition(" AND ".join(parts), values)
