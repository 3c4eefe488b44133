"""Writing memories: the one way to do it, a transaction at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import apsw
import msgspec

from recollect.store.base import FeedbackEvent, Stored
from recollect.store.feedback_log import complete_feedback
from recollect.store.file_rows import StoredFiles
from recollect.store.memory_rows import FIELDS, content_hash_of, values_of
from recollect.store.prepared import PreparedMemories
from recollect.store.sqlite.checksums import checksum
from recollect.store.sqlite.connection import as_json_list, sqlite_sql
from recollect.store.sqlite.feedback import remove_feedback
from recollect.store.sqlite.memories import READ, UNSCRUBBED, find_stored, from_row
from recollect.store.sqlite.segments.bulk import AddedMemories
from recollect.store.sqlite.subwords import SubwordsChange
from recollect.store.sqlite.topics import SqliteTopics
from recollect.store.sqlite.vault_files import SET
from recollect.store.sqlite.vocabulary import VocabularyChange
from recollect.times import to_micros
from recollect.types import Memory

if TYPE_CHECKING:
    from recollect.store.sqlite.history.recording import VersionsChange
    from recollect.store.sqlite.segments.writer import StagedSegment

COLUMNS = (*FIELDS, "content_hash", "checksum")
INSERT = f"INSERT INTO memories (key, {', '.join(COLUMNS)}) VALUES (?{', ?' * len(COLUMNS)})"
UPDATE = (
    f"UPDATE memories SET {', '.join(f'{column} = ?' for column in COLUMNS)}, forgotten_at = NULL "
    "WHERE key = ?"
)
# The key of a purged memory is never given again: a segment that is being made while it is purged
# does not speak for that key. `meta` has the largest key that was purged.
LAST_KEY = """
SELECT max(coalesce((SELECT max(key) FROM memories), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'last_key'), 0))"""
SET_LAST_KEY = """
INSERT INTO meta VALUES ('last_key', ?) ON CONFLICT DO UPDATE
   SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))"""


class SqliteWriting:
    """One write transaction. With `bulk` new memories are put off until something else is done:
    rows that are made together, then written together, take less time than one by one."""

    def __init__(
        self,
        connection: apsw.Connection,
        topics: SqliteTopics,
        versions: VersionsChange,
        *,
        bulk: bool = False,
        staged: StagedSegment | None = None,
    ) -> None:
        self._connection = connection
        self._versions = versions
        self.files = StoredFiles(connection, sqlite_sql, as_json_list, self.flush)
        self._topics = topics
        self._vocabulary = VocabularyChange()
        self._subwords = SubwordsChange(connection)
        changes = self._vocabulary, self._subwords
        self.added = AddedMemories(connection, *changes, bulk=bulk, staged=staged)
        self._bulk = bulk
        self._put_off: dict[int, Memory] = {}
        self._tag_keys: dict[str, int] = {}
        self._next_key: int | None = None

    def find(self, ids: Iterable[str]) -> dict[str, Stored]:
        self.flush()
        return find_stored(self._connection, ids)

    def add(self, memory: Memory) -> Stored:
        key = self._new_key()
        self._write_tags(key, memory.tags)
        self._put_off[key] = memory
        if not self._bulk:
            self.flush()
        self.added.add(key, memory)
        self._versions.made(key)
        return Stored(key, memory)

    def flush(self) -> None:
        """Write the memories that were put off."""
        if self._put_off:
            rows = [(key, *_values(key, memory)) for key, memory in self._put_off.items()]
            self._put_off.clear()
            self._connection.executemany(INSERT, rows)

    def replace(self, before: Stored, after: Memory) -> Stored:
        self.flush()
        self.added.settle(before.key)
        if before.memory.tags != after.tags:
            self._connection.execute("DELETE FROM memory_tags WHERE memory = ?", (before.key,))
            self._write_tags(before.key, after.tags)
        self._connection.execute(UPDATE, (*_values(before.key, after), before.key))
        if not before.forgotten:
            self._vocabulary.remove(before.memory)
        self.added.now_live(before.key, after)
        stored = Stored(before.key, after)
        self._versions.changed(before, stored)
        return stored

    def forget(self, before: Stored, at: datetime) -> None:
        self.flush()
        self.added.settle(before.key)
        self._set_forgotten(before, to_micros(at))
        self._vocabulary.remove(before.memory)
        self._subwords.remove(before.key)
        self._versions.changed(before, before._replace(forgotten_at=at))

    def restore(self, before: Stored) -> None:
        self.flush()
        self.added.settle(before.key)
        self._set_forgotten(before, None)
        self.added.now_live(before.key, before.memory)
        self._versions.changed(before, before._replace(forgotten_at=None))

    def purge(self, before: Stored) -> None:
        self.flush()
        self.added.settle(before.key)
        self._connection.execute(SET, (UNSCRUBBED, os.urandom(8).hex()))
        self._connection.execute(SET_LAST_KEY, (before.key,))
        self._versions.purge(before)
        self._connection.execute("DELETE FROM memories WHERE key = ?", (before.key,))
        self._subwords.remove(before.key)
        if not before.forgotten:
            self._vocabulary.remove(before.memory)
        self._unlink(before.memory.id)
        remove_feedback(self._connection, before.memory.id)

    def _unlink(self, id: str) -> None:
        """Remove the links to a purged memory, without a version: that would keep its id."""
        rows = self._connection.execute(f"{READ} WHERE m.superseded_by = ?", (id,)).fetchall()
        for stored in map(from_row, rows):
            self._versions.unlink(stored)
            key, memory, forgotten_at = stored
            at = None if forgotten_at is None else to_micros(forgotten_at)
            alone = msgspec.structs.replace(memory, superseded_by="")
            check = checksum((key, *values_of(alone), at), alone.tags)
            sql = "UPDATE memories SET superseded_by = '', checksum = ? WHERE key = ?"
            self._connection.execute(sql, (check, key))

    def index_added(self, prepared: PreparedMemories | None = None) -> None:
        self.flush()
        self.added.index(prepared)

    def complete_feedback(self, events: Iterable[tuple[FeedbackEvent, int]]) -> int:
        self.flush()
        return complete_feedback(self._connection, sqlite_sql, events)

    def finish(self) -> None:
        """Write what is written once per transaction."""
        self.flush()
        self.added.finish()
        self._vocabulary.apply(self._connection)
        self._subwords.apply()
        self._versions.apply()

    def _set_forgotten(self, stored: Stored, at: int | None) -> None:
        fields = (stored.key, *values_of(stored.memory), at)
        sql = "UPDATE memories SET forgotten_at = ?, checksum = ? WHERE key = ?"
        self._connection.execute(sql, (at, checksum(fields, stored.memory.tags), stored.key))

    def _new_key(self) -> int:
        if self._next_key is None:
            [(last,)] = self._connection.execute(LAST_KEY).fetchall()
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


def _values(key: int, memory: Memory) -> tuple[apsw.SQLiteValue, ...]:
    """The columns of a live memory."""
    fields = values_of(memory)
    check = checksum((key, *fields, None), memory.tags)
    return *fields, content_hash_of(memory), check
