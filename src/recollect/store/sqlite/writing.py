"""Writing memories: what a save writes, in one transaction and in this order.

1. BEGIN IMMEDIATE, on the files that are at the vault's path.
2. In the block of `write_memories`: tags, memory_tags and memories. Triggers:
   memories_insert → corpus, waiting; memories_insert_indexed, memories_update, memories_delete,
   memory_tags_insert, memory_tags_delete, tags_rename → indexed; indexed_write → segment_changes,
   stemmed, plain, parts, details_words; memories_update → corpus, vectors, waiting;
   vectors_delete → waiting.
3. At the end of the block: parts (subwords), or segments if `write_many` adds many; vocabulary;
   writes, versions and the size of history in meta; usage; the mark of this write in meta.
4. COMMIT: what was written is durable.
5. Then: the operation gets its number, the spool of uses is removed, and merging begins if the
   buffer is full.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

import apsw
import msgspec

from recollect.errors import StoreError
from recollect.lifetime import Lifetime
from recollect.maths import batched
from recollect.store.base import Stored
from recollect.store.feedback import FeedbackEvent, complete_feedback
from recollect.store.folders import StoredFiles
from recollect.store.history import Change
from recollect.store.memory_rows import FIELDS, PreparedMemories, content_hash_of, values_of
from recollect.store.sqlite.checksums import checksum
from recollect.store.sqlite.connection import Database, as_json_list, let_others_write, sqlite_sql
from recollect.store.sqlite.feedback import remove_feedback
from recollect.store.sqlite.filters import SqliteTopics
from recollect.store.sqlite.fts5_index import SubwordsChange
from recollect.store.sqlite.history import NoVersions, VersionsChange
from recollect.store.sqlite.memories import READ, UNSCRUBBED, find_stored, from_row
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.vault_files import SET
from recollect.store.sqlite.vocabulary import VocabularyChange
from recollect.times import to_micros
from recollect.types import Memory

if TYPE_CHECKING:
    from recollect.store.sqlite.segments.tables import StagedSegment
    from recollect.store.sqlite.store import SqliteStore

COLUMNS = (*FIELDS, "content_hash", "checksum")
INSERT = f"INSERT INTO memories (key, {', '.join(COLUMNS)}) VALUES (?{', ?' * len(COLUMNS)})"
UPDATE = (
    f"UPDATE memories SET {', '.join(f'{column} = ?' for column in COLUMNS)}, forgotten_at = NULL "
    "WHERE key = ?"
)
# The key of a purged memory is never used again: a segment that is being made during the purge
# must not count for a new memory with that key. `meta` has the largest purged key.
LAST_KEY = """
SELECT max(coalesce((SELECT max(key) FROM memories), 0),
           coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'last_key'), 0))"""
SET_LAST_KEY = """
INSERT INTO meta VALUES ('last_key', ?) ON CONFLICT DO UPDATE
   SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))"""
ENDING_S = 2.0  # how long closing waits for the thread; a merge may be interrupted at any point
BULK = "bulk"  # key in `meta` while triggers leave new memories out of the buffer
TRIGGERS = apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER
# The work of the trigger `memories_insert`, for all memories from a key on.
COUNT = "UPDATE corpus SET documents = documents + ?"
WAIT = "INSERT INTO waiting SELECT o.key, m.key FROM models o JOIN memories m WHERE m.key >= ?"


class SqliteWriting:
    made_segments = False
    staged: StagedSegment | None = None  # the segment that `write_many` has written before it

    def __init__(
        self, connection: apsw.Connection, topics: SqliteTopics, versions: VersionsChange
    ) -> None:
        self._connection = connection
        self._versions = versions
        self.files = StoredFiles(connection, sqlite_sql, as_json_list, self.flush)
        self._topics = topics
        self._vocabulary = VocabularyChange()
        self._subwords = SubwordsChange(connection)
        self._tag_keys: dict[str, int] = {}
        self._next_key: int | None = None

    def find(self, ids: Iterable[str]) -> dict[str, Stored]:
        self.flush()
        return find_stored(self._connection, ids)

    def add(self, memory: Memory) -> Stored:
        key = self._new_key()
        self._write_tags(key, memory.tags)
        self._insert(key, memory)
        self._versions.note_made(key)
        return Stored(key, memory)

    def _insert(self, key: int, memory: Memory) -> None:
        self._connection.execute(INSERT, (key, *_values(key, memory)))
        self._index(key, memory)

    def _index(self, key: int, memory: Memory) -> None:
        """Index the parts of a live memory that need Python; triggers do the rest."""
        self._vocabulary.add(memory)
        self._subwords.add(key, memory)

    def flush(self) -> None:
        """Write delayed memories, before anything is read."""

    def _before_change(self, key: int) -> None:
        """Write and index this memory if it was delayed."""

    def replace(self, before: Stored, after: Memory) -> Stored:
        self._before_change(before.key)
        if before.memory.tags != after.tags:
            self._connection.execute("DELETE FROM memory_tags WHERE memory = ?", (before.key,))
            self._write_tags(before.key, after.tags)
        self._connection.execute(UPDATE, (*_values(before.key, after), before.key))
        if not before.forgotten:
            self._vocabulary.remove(before.memory)
        self._index(before.key, after)
        stored = Stored(before.key, after)
        self._versions.note_changed(before, stored)
        return stored

    def forget(self, before: Stored, at: datetime) -> None:
        self._before_change(before.key)
        self._set_forgotten(before, to_micros(at))
        self._vocabulary.remove(before.memory)
        self._subwords.remove(before.key)
        self._versions.note_changed(before, before._replace(forgotten_at=at))

    def restore(self, before: Stored) -> None:
        self._before_change(before.key)
        self._set_forgotten(before, None)
        self._index(before.key, before.memory)
        self._versions.note_changed(before, before._replace(forgotten_at=None))

    def purge(self, before: Stored) -> None:
        self._before_change(before.key)
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
        """Do nothing: each memory is indexed when it is added."""

    def complete_feedback(self, events: Iterable[tuple[FeedbackEvent, int]]) -> int:
        self.flush()
        return complete_feedback(self._connection, sqlite_sql, events)

    def finish(self) -> None:
        """Write the parts that are written once per transaction."""
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
                (name, self._topics.hash_word(name)),
            )
            sql = "SELECT key FROM tags WHERE name = ?"
            [(found,)] = self._connection.execute(sql, (name,)).fetchall()
            assert isinstance(found, int)
            self._tag_keys[name] = found
        return self._tag_keys[name]


class ManyMemories(SqliteWriting):
    """A write of many new memories. Their rows are written together, and so are their words: as a
    segment, which is part of the write, and never pass through the buffer. Triggers are off until
    anything but an addition comes; their work for each memory is done for all at once."""

    def __init__(
        self, connection: apsw.Connection, topics: SqliteTopics, versions: VersionsChange
    ) -> None:
        super().__init__(connection, topics, versions)
        self._put_off: dict[int, Memory] = {}
        self._unindexed: dict[int, Memory] = {}
        self._triggers = False
        self._untriggered: list[int] = []  # keys of memories added without triggers
        connection.execute(SET, (BULK, ""))
        connection.config(TRIGGERS, 0)

    def _insert(self, key: int, memory: Memory) -> None:
        self._put_off[key] = self._unindexed[key] = memory
        if not self._triggers:
            self._untriggered.append(key)

    def flush(self) -> None:
        if self._put_off:
            rows = [(key, *_values(key, memory)) for key, memory in self._put_off.items()]
            self._put_off.clear()
            self._connection.executemany(INSERT, rows)

    def _before_change(self, key: int) -> None:
        self.flush()
        self._turn_triggers_on()
        if key in self._unindexed:
            self._index(key, self._unindexed.pop(key))

    def _turn_triggers_on(self) -> None:
        """Turn triggers on for the rest of the write: off and on again would be slower."""
        if not self._triggers:
            self._triggers = True
            self._connection.config(TRIGGERS, 1)
            if self._untriggered:
                self._connection.execute(COUNT, (len(self._untriggered),))
                self._connection.execute(WAIT, (self._untriggered[0],))
                self._untriggered.clear()

    def index_added(self, prepared: PreparedMemories | None = None) -> None:
        self.flush()
        keys, memories = [*self._unindexed], [*self._unindexed.values()]
        self._unindexed.clear()
        # After prepared memories, more will come.
        if len(keys) < (buffer.MOST if prepared else buffer.limit(self._connection)):
            buffer.fill_words(self._connection, keys)
            for key, memory in zip(keys, memories, strict=True):
                self._index(key, memory)
            return
        from recollect.store.sqlite.segments import packing, tables  # noqa: PLC0415  numpy

        if prepared is not None and prepared.ids == [memory.id for memory in memories]:
            contents = iter([prepared])
            each = [keys]
        else:
            some = batched(memories, tables.AT_ONCE)
            contents = (packing.prepare(map(packing.fields_of, one)) for one in some)
            each = [*batched(keys, tables.AT_ONCE)]
        for content, own in zip(contents, each, strict=True):
            tables.write(self._connection, content.indexes, own, self.staged)
            self._vocabulary.add_counts(content.vocabulary)
        self.made_segments = True

    def finish(self) -> None:
        self.index_added()
        self._turn_triggers_on()
        self._connection.execute("DELETE FROM meta WHERE key = ?", (BULK,))
        super().finish()


@contextmanager
def write_memories(
    store: SqliteStore, change: Change, kind: type[SqliteWriting] = SqliteWriting
) -> Iterator[SqliteWriting]:
    with store.database.writing() as connection:
        versions = (VersionsChange if store.keeps_history else NoVersions)(connection, change)
        write = kind(connection, store.topics, versions)
        try:
            yield write
            write.finish()
        finally:
            connection.config(TRIGGERS, 1)
        if counted := store.usage.due:
            store.usage.add_to(connection)
    change.set_number(versions.write)
    if counted:
        store.usage.mark_added()
    store.merging.wrote(segments=write.made_segments)


@contextmanager
def write_many(
    store: SqliteStore, change: Change, prepared: PreparedMemories | None
) -> Iterator[SqliteWriting]:
    """Like `write_memories`, for many new memories. The `prepared` words are written before the
    transaction, in short writes."""
    from recollect.store.sqlite.segments.merging import Merger  # noqa: PLC0415  start-up: numpy

    with Merger(store.database).stage(prepared) as staged:
        let_others_write()
        with write_memories(store, change, ManyMemories) as write:
            write.staged = staged
            yield write
        write.staged = None  # many megabytes, which would stay until the garbage collector runs


def _values(key: int, memory: Memory) -> tuple[apsw.SQLiteValue, ...]:
    fields = values_of(memory)
    check = checksum((key, *fields, None), memory.tags)
    return *fields, content_hash_of(memory), check


class BackgroundMerging:
    """Merges when the buffer is full. A command merges when it closes the vault, and only a little.
    A merge that fails is left to the next one."""

    def __init__(self, database: Database, *, lifetime: Lifetime) -> None:
        self._database = database
        self._once = lifetime is Lifetime.ONCE
        self._due = False
        self._segments = False  # some were made that may be joined
        self._closing = False
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def wrote(self, *, segments: bool = False) -> None:
        """Check for work after a write, which may have made segments. Those are joined after the
        next write without any: a continuing import would have to wait for it."""
        with self._database.translate_errors():
            full = buffer.is_full(self._database.connection())
        self._segments |= segments
        self._due = full or self._segments
        if not segments and self._due and not self._once:
            self._start()

    def resume(self) -> None:
        """Merge what ended processes have left: an import joins none of its segments."""
        with self._database.translate_errors():
            connection = self._database.connection()
            if buffer.is_alone(connection) and not buffer.is_full(connection):
                return
        self._start()

    def _start(self) -> None:
        with self._guard:
            if not self._closing and (self._thread is None or not self._thread.is_alive()):
                self._segments = False
                work = self._merge
                self._thread = threading.Thread(target=work, name="recollect-merge", daemon=True)
                self._thread.start()

    def _merge(self) -> None:
        from recollect.store.sqlite.segments.merging import Merger  # noqa: PLC0415  start-up time

        with suppress(StoreError):
            Merger(self._database, lambda: self._closing).run(briefly=self._once)

    def close(self) -> None:
        if self._once and self._due:
            self._merge()
        with self._guard:
            self._closing = True
        if self._thread is not None:
            self._thread.join(ENDING_S)
