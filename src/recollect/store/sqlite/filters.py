"""A Filter as SQL: one translation for every channel, so that a filter holds before any limit; and
topics: tags as keyed hashes, so that a lookup reads no words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import apsw
from msgspec.structs import replace

from recollect.errors import Damaged
from recollect.hashing import topic_hash
from recollect.query.fts5 import all_of
from recollect.store.base import ANYWHERE, KeywordIndexName, Match
from recollect.store.memory_rows import Conditions, stored_id
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.fts5_index import TABLES
from recollect.types import Filter

if TYPE_CHECKING:
    from recollect.store.sqlite.keyword import PackedIndexes

# The condition that a memory has not changed since a write.
UNCHANGED = "NOT EXISTS (SELECT 1 FROM versions v WHERE v.memory = m.key AND v.write > ?)"
INDEXED = ("space", "project", "kind")  # each leads an index in browsing order
TAGGED = (
    "EXISTS (SELECT 1 FROM memory_tags mt JOIN tags t ON t.key = mt.tag "
    "WHERE mt.memory = m.key AND t.topic = ?)"
)
MATCHING = "SELECT rowid FROM {table} WHERE {table} MATCH ?"
KEYS = "SELECT value FROM json_each(?)"
ANY_ARCHIVED = """
SELECT 1 FROM memories WHERE archived_at IS NOT NULL AND forgotten_at IS NULL LIMIT 1"""


class Condition(NamedTuple):
    sql: str
    values: list[apsw.SQLiteValue]


def where(
    filter: Filter, topics: SqliteTopics, by: str | None = None, *, forgotten: bool = False
) -> Condition:
    """Return a condition on the table memories, named `m`, and its values; never empty. `by`: of
    INDEXED only this column may choose the index. `forgotten`: only memories in the trash pass."""
    # SQLite uses no index for a term with a unary plus.
    made = Conditions("?", [column for column in INDEXED if by not in (None, column)])
    made.add(f"m.forgotten_at IS {'NOT ' if forgotten else ''}NULL")
    if not forgotten and topics.resolve_archived(filter).archived is False:
        made.add("m.archived_at IS NULL")
    made.columns(filter)
    made.times(filter)
    made.tags(filter, TAGGED, topics.hash_word)
    if filter.holding:
        holding = _holding(("stemmed",), filter.holding, topics)
        made.add(holding.sql, *holding.values)
    for words in filter.without:
        each = [_holding(ANYWHERE, [word], topics) for word in words]
        together = " AND ".join(one.sql for one in each)
        made.add(f"NOT ({together})", *(value for one in each for value in one.values))
    if filter.among is not None:
        made.add("m.id IN (SELECT value FROM json_each(?))", as_json_list(filter.among))
    if filter.unchanged_since is not None:
        made.add(UNCHANGED, filter.unchanged_since)
    return Condition(" AND ".join(made.parts), made.values)


def _holding(
    indexes: Sequence[KeywordIndexName], words: Sequence[str], topics: SqliteTopics
) -> Condition:
    """Return the condition that one of these indexes holds all the words of a memory."""
    found, values = [], []
    for index in indexes:
        keys = topics.holding(index, words)
        found.append(MATCHING.format(table=TABLES[index]))
        values.append(all_of(words))
        if keys is not None:
            found.append(KEYS)
            values.append(as_json_list(keys))
    return Condition(f"m.key IN ({' UNION '.join(found)})", [*values])


class SqliteTopics:
    """The tags of memories by a hash, and other lookups of a filter in the vault."""

    def __init__(self, database: Database, packed: PackedIndexes) -> None:
        self._database = database
        self._packed = packed

    @cached_property
    def _key(self) -> bytes:
        for (key,) in self._database.rows("SELECT value FROM meta WHERE key = 'topic_key'"):
            with suppress(ValueError):
                return bytes.fromhex(str(key))
        raise Damaged(
            f"The vault {self._database.path} is damaged (its key for topics is missing); "
            "`recollect doctor --fix` repairs it."
        )

    def forget(self) -> None:
        self.__dict__.pop("_key", None)

    def hash_word(self, word: str) -> bytes:
        """Return HMAC-SHA-256 of the lower-cased word, in any script, under the vault's own key."""
        return topic_hash(self._key, word)

    def resolve_archived(self, filter: Filter) -> Filter:
        """Return the filter with `archived` False if it leaves out archived memories and the vault
        has any: without them, no search pays for the condition."""
        if filter.archived is None and self._database.rows(ANY_ARCHIVED):
            return replace(filter, archived=False)
        return filter

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> list[int] | None:
        """Return the memories with all these words in an index's segments, or None without any."""
        with self._database.reading():
            packed = self._packed.search(index, all_of(words))
            return None if packed is None else packed.keys()

    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        if not self._database.rows("SELECT 1 FROM tags LIMIT 1"):
            return []
        hashes = as_json_list(self.hash_word(word).hex() for word in dict.fromkeys(words))
        condition, values = where(filter, self)
        sql = f"""
            SELECT m.id, count(DISTINCT t.topic) AS matches
              FROM json_each(?) wanted
              JOIN tags t ON t.topic = unhex(wanted.value)
              JOIN memory_tags mt ON mt.tag = t.key
              JOIN memories m ON m.key = mt.memory
             WHERE {condition}
             GROUP BY m.key
             ORDER BY matches DESC, m.updated_at DESC, m.id
             LIMIT ?
            """
        with self._database.translate_errors():
            rows = self._database.rows(sql, hashes, *values, limit)
            return [Match(stored_id(id), float(matches)) for id, matches in rows]  # type: ignore[arg-type]
