"""Memories in SQLite: reading them, browsing them, and the one way to write them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from recollect.store.base import Dates, Facets, FeedbackEvent, MemoryStamp, Stored
from recollect.store.prepared import PreparedMemories
from recollect.store.sqlite.browsing import BROWSING, ListRanges, narrowest
from recollect.store.sqlite.checksums import (
    SAME_CONTENT,
    TAGS,
    TEXTS,
    checksum,
    content_hash,
)
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.counts import CountsChange, scope_of
from recollect.store.sqlite.facets import dates, facets
from recollect.store.sqlite.feedback_rows import complete_feedback
from recollect.store.sqlite.filters import where
from recollect.store.sqlite.folders import SqliteFileWriting
from recollect.store.sqlite.segments.bulk import AddedMemories
from recollect.store.sqlite.subwords import SubwordsChange
from recollect.store.sqlite.topics import SqliteTopics
from recollect.store.sqlite.vault_files import SET
from recollect.store.sqlite.vocabulary import VocabularyChange
from recollect.times import from_micros, to_micros
from recollect.types import TIMES, Filter, Memory, Place

if TYPE_CHECKING:
    from recollect.store.sqlite.history.recording import VersionsChange

FIELDS = (*TEXTS, *TIMES)
COLUMNS = (*FIELDS, "content_hash", "checksum")

READ = f"""
SELECT m.key, m.forgotten_at,
       {TAGS},
       {", ".join("m." + column for column in FIELDS)}
  FROM memories m"""
# The list travels as one value: any number of ids, one prepared statement. CROSS JOIN keeps the
# planner from scanning the memories and probing the list.
READ_IDS = READ.replace(
    "FROM memories m", "FROM json_each(?) j CROSS JOIN memories m ON m.id = j.value"
)
READ_UNTAGGED = READ.replace(TAGS, "'[]'")
INSERT = f"INSERT INTO memories (key, {', '.join(COLUMNS)}) VALUES (?{', ?' * len(COLUMNS)})"
UPDATE = (
    f"UPDATE memories SET {', '.join(f'{column} = ?' for column in COLUMNS)}, forgotten_at = NULL "
    "WHERE key = ?"
)
UNSCRUBBED = "unscrubbed"  # in `meta` from a purge until nothing of it is left in the file
# From one kind to the next in the index: there are few, however many memories there are.
KINDS = """
    WITH RECURSIVE used (kind) AS (
        SELECT min(kind) FROM memories WHERE forgotten_at IS NULL
         UNION ALL
        SELECT (SELECT min(kind) FROM memories WHERE forgotten_at IS NULL AND kind > used.kind)
          FROM used WHERE kind IS NOT NULL
    )
    SELECT kind FROM used WHERE kind IS NOT NULL LIMIT 100
"""


_same_content = attrgetter(*SAME_CONTENT)
_texts = attrgetter(*TEXTS)
_times = attrgetter(*TIMES)


def unscrubbed(database: Database) -> list[tuple[apsw.SQLiteValue, ...]]:
    """The note that a purge left which was not scrubbed."""
    return database.rows("SELECT key, value FROM meta WHERE key = ?", UNSCRUBBED)


class SqliteMemories:
    """Reading."""

    def __init__(self, database: Database, topics: SqliteTopics) -> None:
        self._database = database
        self._topics = topics

    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        found = self.find(ids).values()
        return {memory.id: memory for _, memory, forgotten_at in found if forgotten_at is None}

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        with self._database.translated():
            return _find(self._database.connection(), ids)

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        rows = self._database.rows(
            "SELECT id, content_hash, updated_at FROM memories "
            "WHERE forgotten_at IS NULL AND id IN (SELECT value FROM json_each(?))",
            as_json_list(ids),
        )
        return {str(id): MemoryStamp(bytes(hash), int(at)) for id, hash, at in rows}  # type: ignore[arg-type]

    def ids(self, *, forgotten: bool = False) -> list[str]:
        condition = "" if forgotten else "WHERE m.forgotten_at IS NULL"
        order = f"m.forgotten_at IS NOT NULL, {BROWSING}"
        sql = f"SELECT m.id FROM memories m {condition} ORDER BY {order}"
        return [str(id) for (id,) in self._database.rows(sql)]

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        found: list[Memory] = []
        with self._database.reading():
            for part in ListRanges(self._database, filter, self._topics).pages(after):
                if len(found) < limit:
                    found += self._listed(*part, limit - len(found))
        return found

    def newest(self, filter: Filter, limit: int) -> list[Memory]:
        with self._database.reading():
            parts = ListRanges(self._database, filter, self._topics).newest()
            found = [memory for part in parts for memory in self._listed(*part, limit)]
        found.sort(key=lambda memory: memory.id)
        found.sort(key=lambda memory: memory.updated_at, reverse=True)
        return found[:limit]

    def made(self, filter: Filter, limit: int, *, oldest: bool = False) -> list[Memory]:
        condition, values = where(filter, self._topics)
        order = "m.created_at, m.id" if oldest else "m.created_at DESC, m.id"
        return self._listed(condition, values, order, limit)

    def replaced(self, ids: Sequence[str]) -> list[Memory]:
        condition = "m.forgotten_at IS NULL AND m.superseded_by <> '' "
        condition += "AND m.superseded_by IN (SELECT value FROM json_each(?))"
        order = "m.updated_at DESC, m.id"
        return self._listed(condition, [as_json_list(ids)], order, -1)

    def kinds(self) -> list[str]:
        return [str(kind) for (kind,) in self._database.rows(KINDS)]

    def projects(self, names: Sequence[str]) -> list[str]:
        found = self._database.rows(
            "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM memories "
            "WHERE project = value AND forgotten_at IS NULL)",
            as_json_list(names),
        )
        return [str(name) for (name,) in found]

    def expiring(
        self, filter: Filter, limit: int, *, until: datetime, since: datetime | None = None
    ) -> list[Memory]:
        condition, values = where(filter, self._topics)
        condition += " AND m.valid_until <= ?"
        values.append(to_micros(until))
        if since is None:
            return self._listed(condition, values, "m.valid_until DESC, m.id", limit)
        condition += " AND m.valid_until > ?"
        values.append(to_micros(since))
        return self._listed(condition, values, "m.valid_until, m.id", limit)

    def facets(self, filter: Filter, most: int, now: datetime) -> Facets:
        filter = self._topics.settled(filter)
        condition = where(filter, self._topics, narrowest(self._database, filter))
        return facets(self._database, scope_of(filter), condition, most, now)

    def dates(self, filter: Filter) -> Dates:
        filter = self._topics.settled(filter)
        condition = where(filter, self._topics, narrowest(self._database, filter))
        return dates(self._database, scope_of(filter), condition)

    def _listed(
        self, condition: str, values: list[apsw.SQLiteValue], order: str, limit: int
    ) -> list[Memory]:
        sql = f"{READ} WHERE {condition} ORDER BY {order} LIMIT ?"
        rows = self._database.rows(sql, *values, limit)
        with self._database.translated():
            return [from_row(row).memory for row in rows]


class SqliteWriting:
    """One write transaction."""

    def __init__(
        self,
        connection: apsw.Connection,
        topics: SqliteTopics,
        versions: VersionsChange,
        *,
        bulk: bool = False,
    ) -> None:
        self._connection = connection
        self._versions = versions
        self.files = SqliteFileWriting(connection)
        self._topics = topics
        self._vocabulary = VocabularyChange()
        self._counts = CountsChange(topics.hashed)
        self._subwords = SubwordsChange(connection)
        self.added = AddedMemories(connection, self._vocabulary, self._subwords, bulk=bulk)
        self._tag_keys: dict[str, int] = {}
        self._next_key: int | None = None

    def find(self, ids: Iterable[str]) -> dict[str, Stored]:
        return _find(self._connection, ids)

    def add(self, memory: Memory) -> Stored:
        key = self._new_key()
        self._write_tags(key, memory.tags)
        self._connection.execute(INSERT, (key, *_values(key, memory)))
        self._counts.add(memory)
        self.added.add(key, memory)
        self._versions.made(key)
        return Stored(key, memory)

    def replace(self, before: Stored, after: Memory) -> Stored:
        self.added.settle(before.key)
        if before.memory.tags != after.tags:
            self._connection.execute("DELETE FROM memory_tags WHERE memory = ?", (before.key,))
            self._write_tags(before.key, after.tags)
        self._connection.execute(UPDATE, (*_values(before.key, after), before.key))
        self._no_longer(before)
        self._counts.add(after)
        self.added.now_live(before.key, after)
        stored = Stored(before.key, after)
        self._versions.changed(before, stored)
        return stored

    def forget(self, before: Stored, at: datetime) -> None:
        self.added.settle(before.key)
        self._set_forgotten(before, to_micros(at))
        self._no_longer_live(before.memory)
        self._counts.forgotten += 1
        self._subwords.remove(before.key)
        self._versions.changed(before, before._replace(forgotten_at=at))

    def restore(self, before: Stored) -> None:
        self._set_forgotten(before, None)
        self._counts.forgotten -= 1
        self._counts.add(before.memory)
        self.added.now_live(before.key, before.memory)
        self._versions.changed(before, before._replace(forgotten_at=None))

    def purge(self, before: Stored) -> None:
        self.added.settle(before.key)
        self._connection.execute(SET, (UNSCRUBBED, os.urandom(8).hex()))
        self._versions.purge(before)
        self._connection.execute("DELETE FROM memories WHERE key = ?", (before.key,))
        self._subwords.remove(before.key)
        self._no_longer(before)
        self._unlink(before.memory.id)

    def _unlink(self, id: str) -> None:
        """Remove the links to a purged memory, without a version: that would keep its id."""
        rows = self._connection.execute(f"{READ} WHERE m.superseded_by = ?", (id,)).fetchall()
        for key, memory, forgotten_at in map(from_row, rows):
            at = None if forgotten_at is None else to_micros(forgotten_at)
            alone = msgspec.structs.replace(memory, superseded_by="")
            check = checksum((key, *_fields(alone), at), alone.tags)
            sql = "UPDATE memories SET superseded_by = '', checksum = ? WHERE key = ?"
            self._connection.execute(sql, (check, key))

    def index_added(self, prepared: PreparedMemories | None = None) -> None:
        self.added.index(prepared)

    def complete_feedback(self, events: Iterable[tuple[FeedbackEvent, int]]) -> int:
        return complete_feedback(self._connection, events)

    def finish(self) -> None:
        """Write what is written once per transaction."""
        self.added.finish()
        self._vocabulary.apply(self._connection)
        self._counts.apply(self._connection)
        self._subwords.apply()
        self._versions.apply()

    def _set_forgotten(self, stored: Stored, at: int | None) -> None:
        fields = (stored.key, *_fields(stored.memory), at)
        sql = "UPDATE memories SET forgotten_at = ?, checksum = ? WHERE key = ?"
        self._connection.execute(sql, (at, checksum(fields, stored.memory.tags), stored.key))

    def _no_longer(self, before: Stored) -> None:
        """Count the memory no longer as what it was, live or forgotten."""
        if before.forgotten:
            self._counts.forgotten -= 1
        else:
            self._no_longer_live(before.memory)

    def _no_longer_live(self, memory: Memory) -> None:
        self._vocabulary.remove(memory)
        self._counts.remove(memory)

    def _new_key(self) -> int:
        if self._next_key is None:
            sql = "SELECT coalesce(max(key), 0) FROM memories"
            [(last,)] = self._connection.execute(sql).fetchall()
            assert isinstance(last, int)
            self._next_key = last + 1
        key = self._next_key
        self._next_key += 1
        return key

    def _write_tags(self, key: int, names: Sequence[str]) -> None:
        for position, name in enumerate(names):
            self._connection.execute(
                "INSERT INTO memory_tags (memory, tag, position) VALUES (?, ?, ?)",
                (key, self._tag_key(name), position),
            )

    def _tag_key(self, name: str) -> int:
        if name not in self._tag_keys:
            self._connection.execute(
                "INSERT INTO tags (name, topic) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (name, self._topics.hashed(name)),
            )
            sql = "SELECT key FROM tags WHERE name = ?"
            [(found,)] = self._connection.execute(sql, (name,)).fetchall()
            assert isinstance(found, int)
            self._tag_keys[name] = found
        return self._tag_keys[name]


def _find(connection: apsw.Connection, ids: Iterable[str]) -> dict[str, Stored]:
    found = map(from_row, connection.execute(READ_IDS, (as_json_list(ids),)))
    return {stored.memory.id: stored for stored in found}


def _values(key: int, memory: Memory) -> tuple[apsw.SQLiteValue, ...]:
    """The columns of a live memory."""
    fields = _fields(memory)
    check = checksum((key, *fields, None), memory.tags)
    return *fields, content_hash(_same_content(memory)), check


def _fields(memory: Memory) -> tuple[apsw.SQLiteValue, ...]:
    times = (None if moment is None else to_micros(moment) for moment in _times(memory))
    return *_texts(memory), *times


def from_row(row: Sequence[apsw.SQLiteValue]) -> Stored:
    key, forgotten_at, tags, *rest = row
    names = msgspec.json.decode(str(tags)) if tags != "[]" else ()
    return as_stored(key, forgotten_at, names, rest)


def as_stored(
    key: apsw.SQLiteValue,
    forgotten_at: apsw.SQLiteValue,
    tags: Sequence[str],
    rest: Sequence[apsw.SQLiteValue],
) -> Stored:
    """A row as a memory; `rest` are the columns TEXTS and TIMES."""
    assert isinstance(key, int)
    fields: dict[str, Any] = dict(zip(FIELDS, rest, strict=True))
    for name in TIMES:
        if (micros := fields[name]) is not None:
            fields[name] = _moment(micros)
    memory = Memory(tags=tuple(tags), **fields)
    return Stored(key, memory, None if forgotten_at is None else _moment(forgotten_at))


def _moment(micros: apsw.SQLiteValue) -> datetime:
    """The time in a column; a damaged row may hold any value."""
    try:
        return from_micros(micros)  # type: ignore[arg-type]
    except (TypeError, OverflowError) as error:
        raise apsw.CorruptError("a time is not valid") from error
