"""A Filter as SQL: one translation for every channel, so that a filter holds before any limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import apsw

from recollect.query.fts5 import all_of
from recollect.store.base import KeywordIndexName
from recollect.store.memory_rows import Conditions
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.fts5_index import TABLES
from recollect.types import Filter

# That a memory has not changed since a write.
UNCHANGED = "NOT EXISTS (SELECT 1 FROM versions v WHERE v.memory = m.key AND v.write > ?)"
INDEXED = ("space", "project", "kind")  # each leads an index in browsing order
TAGGED = (
    "EXISTS (SELECT 1 FROM memory_tags mt JOIN tags t ON t.key = mt.tag "
    "WHERE mt.memory = m.key AND t.topic = ?)"
)
MATCHING = "SELECT rowid FROM {table} WHERE {table} MATCH ?"
KEYS = "SELECT value FROM json_each(?)"
ANYWHERE: tuple[KeywordIndexName, ...] = ("stemmed", "details")  # together they hold every field


class Condition(NamedTuple):
    sql: str
    values: list[apsw.SQLiteValue]


class FilterLookup(Protocol):
    """What a filter has to look up in the vault."""

    def hashed(self, word: str) -> bytes:
        """The keyed hash of a tag, which ignores case in every script."""

    def settled(self, filter: Filter) -> Filter:
        """The filter, with `archived` False where the vault has archived memories that it leaves
        out: where there are none, no search pays for them."""

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> list[int] | None:
        """The keys of the memories of which an index's segments hold all of these words; None
        where FTS5 has the whole index."""


def where(
    filter: Filter, lookup: FilterLookup, by: str | None = None, *, forgotten: bool = False
) -> Condition:
    """A condition on the memories table, named `m`, and its values; never empty. `by`: of INDEXED
    only this column may choose the index. `forgotten`: only what is in the trash passes."""
    # SQLite takes no index for what has a plus before it.
    made = Conditions("?", [column for column in INDEXED if by not in (None, column)])
    made.add(f"m.forgotten_at IS {'NOT ' if forgotten else ''}NULL")
    if not forgotten and lookup.settled(filter).archived is False:
        made.add("m.archived_at IS NULL")
    made.columns(filter)
    made.times(filter)
    made.tags(filter, TAGGED, lookup.hashed)
    if filter.holding:
        holding = _holding(("stemmed",), filter.holding, lookup)
        made.add(holding.sql, *holding.values)
    for words in filter.without:
        each = [_holding(ANYWHERE, [word], lookup) for word in words]
        together = " AND ".join(one.sql for one in each)
        made.add(f"NOT ({together})", *(value for one in each for value in one.values))
    if filter.among is not None:
        made.add("m.id IN (SELECT value FROM json_each(?))", as_json_list(filter.among))
    if filter.unchanged_since is not None:
        made.add(UNCHANGED, filter.unchanged_since)
    return Condition(" AND ".join(made.parts), made.values)


def _holding(
    indexes: Sequence[KeywordIndexName], words: Sequence[str], lookup: FilterLookup
) -> Condition:
    """The memories of which one of these indexes holds all the words."""
    found, values = [], []
    for index in indexes:
        keys = lookup.holding(index, words)
        found.append(MATCHING.format(table=TABLES[index]))
        values.append(all_of(words))
        if keys is not None:
            found.append(KEYS)
            values.append(as_json_list(keys))
    return Condition(f"m.key IN ({' UNION '.join(found)})", [*values])
