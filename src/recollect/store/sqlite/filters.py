"""A Filter as SQL: one translation for every channel, so that a filter holds before any limit."""

from __future__ import annotations

from collections.abc import Callable

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
# The same in every field.
ANYWHERE = f"{HOLDING} UNION SELECT rowid FROM details_words WHERE details_words MATCH ?"


def where(filter: Filter, topic: Callable[[str], bytes]) -> tuple[str, list[apsw.SQLiteValue]]:
    """A condition on the memories table, named `m`, and its values; never empty.

    Tags are compared by `topic`, their keyed hash, which ignores case in every script.
    """
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
        values.append(topic(tag))
    if filter.valid_at is not None:
        parts.append("(m.valid_from IS NULL OR m.valid_from <= ?)")
        parts.append("(m.valid_until IS NULL OR m.valid_until > ?)")
        values += (to_micros(filter.valid_at),) * 2
    if filter.holding:
        parts.append(f"m.key IN ({HOLDING})")
        values.append(all_of(filter.holding))
    for words in filter.without:
        every = " AND ".join(f"m.key IN ({ANYWHERE})" for _ in words)
        parts.append(f"NOT ({every})")
        values += (all_of([word]) for word in words for _ in range(2))
    for kind in filter.without_kinds:
        parts.append("m.kind <> ?")
        values.append(kind)
    if filter.among is not None:
        parts.append("m.id IN (SELECT value FROM json_each(?))")
        values.append(as_json_list(filter.among))
    return " AND ".join(parts), values
