"""Merging segments, and scrubbing the words of purged memories.

The buffer becomes a segment, and many small segments become a large one.

No save waits for it. A segment is begun, made in short writes before any search reads it, and
published in one small write, which also takes its memories out of the buffer or drops the segments
that it replaces. Every change after the beginning is logged as a change for the new segment too, so
the segment does not count for it. Killed at any point, it leaves a segment that is not ready: the
next merge removes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import apsw
import numpy as np

from recollect.deadline import may_wait
from recollect.files import exclusive
from recollect.index import Row
from recollect.index.postings import encode_rows, select_occurrences
from recollect.index.segments import (
    Documents,
    ReadBehind,
    Segment,
    join_documents,
    join_rows,
    occurrences,
    sort_occurrences,
)
from recollect.store.base import KeywordIndexName
from recollect.store.memory_rows import Packed, PreparedMemories
from recollect.store.sqlite.connection import Database, as_json_list, let_others_write
from recollect.store.sqlite.errors import BUSY_SECONDS
from recollect.store.sqlite.fts5_index import TABLES
from recollect.store.sqlite.memories import UNSCRUBBED
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.packing import pack
from recollect.store.sqlite.segments.tables import (
    AT_ONCE,
    PLACES,
    POSTINGS,
    STORED,
    TEXTS,
    WORDS,
    RowsChecksum,
    Segments,
    StagedSegment,
    begin,
    documents_of,
    is_segment,
    make_ready,
    remove_rows,
    remove_segment,
    remove_tokens,
    rows_checksum,
    write_documents,
    write_rows,
)
from recollect.store.sqlite.vault_files import SET, log_copied

LOCK = "-merging.lock"
AT_THE_END = 4_096  # memories that a command merges before it ends: about a second
STAGED_ROWS = 10_000  # rows of one write of an import, which lets others write in between
ROWS = 2_000  # rows of one write: it blocks other writers for some milliseconds
KEPT_FREE = 1_000  # pages, 4 MB, that the next writes fill
# A segment with at most this many times the memories of all smaller ones together is joined with
# them: so a vault has few segments, and a memory is written again a few times for each doubling.
TIMES = 4
LARGEST = 262_144  # memories of a segment: joining one takes some 200 MB
MOST_DEAD = 0.25  # the share of changed memories from which a segment is rebuilt
UNREADY = "SELECT number FROM segments WHERE NOT ready"
CHANGED = "SELECT DISTINCT memory FROM segment_changes WHERE segment >= ?"
KNOWN = "SELECT 1 FROM json_each(?) j CROSS JOIN memories m ON m.id = j.value LIMIT 1"
REPLACED = """
    UPDATE segments SET ready = 0, last = 0
     WHERE ready AND number IN (SELECT value FROM json_each(?))"""
# Changes older than every segment; and a later change of a memory makes earlier ones redundant.
OUTDATED = """
    DELETE FROM segment_changes WHERE segment < (SELECT min(number) FROM segments WHERE ready)
        OR seq NOT IN (SELECT max(seq) FROM segment_changes GROUP BY memory)"""
TOKENS = 2_000  # tokens of the largest segment that are joined at a time
NEXT = """
    SELECT token FROM postings WHERE segment = ? AND words = ? AND token > ?
     ORDER BY token LIMIT 1 OFFSET ?"""
WITHIN = f"""
    SELECT p.token, {POSTINGS}, {PLACES} FROM {STORED} WHERE p.segment = ? AND p.words = ?
       AND p.token > ? AND (p.token <= ? OR ? IS NULL) ORDER BY p.token"""
NOTHING = Documents(np.zeros(0, np.int64), np.zeros(0, np.uint32))
# Segments that are not ready, and rows without a segment: an interrupted import may leave both.
REMOVABLE = """
    SELECT number FROM segments WHERE NOT ready
     UNION SELECT segment FROM postings WHERE segment NOT IN (SELECT number FROM segments)"""
TOKEN = "SELECT token, large FROM postings WHERE segment = ? AND words = ? AND token = ?"


class SegmentSize(NamedTuple):
    """The number of live memories of a segment, and of all in it."""

    live: int
    every: int


class Abandoned(Exception):
    """The segment that is being made is not wanted any more."""


class Merger:
    """Merges the segments of a vault, until `stop` returns True."""

    def __init__(self, database: Database, stop: Callable[[], bool] = lambda: False) -> None:
        self._database = database
        self._segments = Segments()
        self._stop = stop

    def run(self, *, briefly: bool = False) -> None:
        """Empty a full buffer, and join segments; do nothing if another process does. `briefly`:
        one step, for a command that is about to end."""
        with self._alone() as alone:
            while alone and self._step(briefly=briefly) and not briefly:
                pass

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Yield True if no other process merges. Remove before what an interrupted merge left, and
        afterwards what this one has replaced."""
        with exclusive(Path(f"{self._database.path}{LOCK}")) as alone:
            if alone:
                self._remove_unready()
            with suppress(Abandoned):
                yield alone
            if alone and not self._stop():
                self._remove_unready()
                self._return_pages()

    @contextmanager
    def stage(self, prepared: PreparedMemories | None) -> Iterator[StagedSegment | None]:
        """Yield a segment of the prepared memories, written in short writes before the write that
        makes it ready, which then takes less time; None if nothing is prepared, another process
        merges, or a purge has removed the segment."""
        if prepared is None:
            yield None
            return
        with self._alone() as alone:
            known = self._database.rows(KNOWN, as_json_list(prepared.ids))
            new = alone and not known and len(prepared.ids) >= buffer.MOST
            yield self._stage(prepared.indexes) if new else None

    def _stage(self, packed: Packed) -> StagedSegment | None:
        connection = self._database.connection()
        connection.pragma("synchronous", "NORMAL")  # the write that makes it ready syncs it too
        try:
            let_others_write()
            with self._database.writing() as connection:
                number = begin(connection)
            for index, content in packed.items():
                for start in range(0, len(content.rows), STAGED_ROWS):
                    some = content.rows[start : start + STAGED_ROWS]
                    let_others_write()
                    with self._building(number) as connection:
                        write_rows(connection, number, WORDS[index], some)
        except Abandoned:
            return None
        finally:
            connection.pragma("synchronous", "FULL")
        checksums = {index: RowsChecksum().add(content.rows) for index, content in packed.items()}
        return StagedSegment(number, packed, checksums)

    def _step(self, *, briefly: bool) -> bool:
        """Do the next step; return False if nothing is left."""
        at_once = AT_THE_END if briefly else AT_ONCE
        with self._database.reading() as connection:
            full = buffer.is_full(connection)
            whole = not full or len(buffer.keys(connection, at_once + 1)) <= at_once
        if briefly and not whole:
            return False  # a segment and a large buffer make every search slower
        if full:
            self._empty_buffer(at_once)
            return True
        with self._database.reading() as connection:
            found = self._segments.each(connection, "stemmed")
        sizes = {one.number: SegmentSize(one.rows, len(one.keys)) for one in found}
        group = choose_segments(sizes)
        if not group or (briefly and sum(sizes[number].live for number in group) > 2 * at_once):
            return False
        self._join(group)
        return True

    def _empty_buffer(self, most: int) -> None:
        with self._database.writing() as connection:
            number = begin(connection)
        with self._database.reading() as connection:
            waiting = buffer.keys(connection, most)
            rows = connection.execute(TEXTS, (as_json_list(waiting),)).fetchall()
        keys = [int(row[0]) for row in rows]  # type: ignore[arg-type]
        packed = pack([row[1:] for row in rows])  # type: ignore[misc]
        for index, content in packed.items():
            self._write(number, index, documents_of(content, keys), [content.rows])
        self._publish(number, keys, taken=waiting)

    def _join(self, group: Sequence[int]) -> None:
        with self._database.writing() as connection:
            number = begin(connection)
        keys: list[int] = []
        for index in WORDS:
            with self._database.reading() as connection:
                found = self._segments.each(connection, index)
            sources = [one for one in found if one.number in group and one.rows]
            if not sources:
                self._write(number, index, NOTHING, [])
                continue
            documents, numbers = join_documents(sources)
            rows = join_rows(stored_rows(self._database, sources), numbers)
            self._write(number, index, documents, rows)
            keys = keys or documents.keys.tolist()  # the first index has every memory
        self._publish(number, keys, replaced=group)

    def _write(
        self,
        number: int,
        index: KeywordIndexName,
        documents: Documents,
        rows: Iterable[Sequence[Row]],
    ) -> None:
        """Write an index in short writes."""
        checksum = RowsChecksum()
        for some in rows:
            checksum.add(some)
            for start in range(0, len(some), ROWS):
                with self._building(number) as connection:
                    write_rows(connection, number, WORDS[index], some[start : start + ROWS])
        with self._building(number) as connection:
            write_documents(connection, number, WORDS[index], documents, checksum)

    @contextmanager
    def _building(self, number: int) -> Iterator[apsw.Connection]:
        """Enter a write to the unfinished segment; raise Abandoned if it was removed."""
        if self._stop():
            raise Abandoned
        with self._database.writing() as connection:
            if not is_segment(connection, number, ready=False):
                raise Abandoned
            yield connection

    def _publish(
        self,
        number: int,
        keys: Sequence[int],
        *,
        taken: Sequence[int] = (),
        replaced: Sequence[int] = (),
    ) -> None:
        """Make the segment readable instead of its sources."""
        with self._building(number) as connection:
            changed = {memory for (memory,) in connection.execute(CHANGED, (number,))}
            if keys:
                make_ready(connection, number, keys[-1])
            connection.execute(REPLACED, (as_json_list(replaced),))
            if connection.changes() != len(replaced):
                raise Abandoned
            if taken:
                buffer.remove(connection, [key for key in taken if key not in changed])
            connection.execute(OUTDATED)

    def _remove_unready(self) -> None:
        for number in [int(str(row[0])) for row in self._database.rows(UNREADY)]:
            for words in WORDS.values():
                removed = ROWS
                while removed == ROWS:
                    with self._database.writing() as connection:
                        removed = remove_rows(connection, number, words, ROWS)
            with self._database.writing() as connection:
                remove_segment(connection, number)

    def _return_pages(self) -> None:
        """Give the pages that merging freed back to the file system, in short writes."""
        free = self._free_pages()
        while free > KEPT_FREE and not self._stop():
            with self._database.writing() as connection:
                connection.execute(f"PRAGMA incremental_vacuum({ROWS})").fetchall()
            before, free = free, self._free_pages()
            if free >= before:  # a vault from before incremental vacuum keeps them
                return

    def _free_pages(self) -> int:
        [(free,)] = self._database.rows("PRAGMA freelist_count")
        return int(str(free))


def choose_segments(sizes: Mapping[int, SegmentSize]) -> list[int]:
    """Return the segments to join: one with many dead memories, or as many of the smallest as
    pay."""
    for number, size in sizes.items():
        if size.every - size.live >= MOST_DEAD * size.every:
            return [number]
    order = sorted(sizes, key=lambda number: (-sizes[number].live, number))
    for place in range(len(order) - 1):
        largest, *others = (sizes[number].live for number in order[place:])
        if largest <= TIMES * sum(others) and largest + sum(others) <= LARGEST:
            return order[place:]
    return []


def stored_rows(database: Database, sources: Sequence[Segment]) -> ReadBehind:
    """Return a function that reads segments, which do not change, in snapshots of its own."""
    largest = max(sources, key=lambda source: len(source.keys))

    def read(low: str) -> tuple[str | None, list[list[Row]]]:
        with database.reading() as connection:
            high = connection.execute(NEXT, (*largest.place, low, TOKENS)).get
            rows = [
                connection.execute(WITHIN, (*source.place, low, high, high)).fetchall()
                for source in sources
            ]
        return high, rows  # type: ignore[return-value]

    return read


def scrub(database: Database) -> None:
    """Remove the remains of purged memories: unused tags, words that the indexes only mark as
    deleted, and copies in the unused bytes of pages and in the log. If it is interrupted, or a
    reader prevents it, it is repeated when the vault is next opened."""
    mark = os.urandom(8).hex()
    with database.writing() as connection:
        connection.execute(SET, (UNSCRUBBED, mark))
        connection.execute("DELETE FROM tags WHERE key NOT IN (SELECT tag FROM memory_tags)")
        for table in TABLES.values():
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        words = connection.execute("SELECT 1 FROM postings LIMIT 1").get
    if words:
        _scrub_segments(database)
    rewritten = database.rewrite()
    with database.translate_errors():
        done = log_copied(database.connection(), BUSY_SECONDS if may_wait() else 0)
    if rewritten and done:
        with database.writing() as connection:
            sql = "DELETE FROM meta WHERE key = ? AND value = ?"
            connection.execute(sql, (UNSCRUBBED, mark))


def _scrub_segments(database: Database) -> None:
    """Remove the words of dead documents. An unfinished segment is removed as a whole: it may hold
    such words, and its maker begins again."""
    with database.writing() as connection:
        for (number,) in connection.execute(REMOVABLE).fetchall():
            remove_segment(connection, number)  # type: ignore[arg-type]
    segments = Segments()
    for index in WORDS:
        with database.reading() as connection:
            found = segments.each(connection, index)
        for segment in found:
            _scrub_segment(database, segment)


def _scrub_segment(database: Database, segment: Segment) -> None:
    if segment.live is None:
        return
    dead = ~segment.live & (segment.lengths > 0)
    if not dead.any():
        return
    number, words = segment.place
    read = stored_rows(database, [segment])
    for names, found in occurrences(read, [np.arange(len(dead))]):
        holds = dead[found.places.documents]
        changed = np.unique(found.tokens[holds])
        if not len(changed):
            continue
        rest = select_occurrences(found, np.isin(found.tokens, changed) & ~holds)
        with database.writing() as connection:
            if not is_segment(connection, number, ready=True):
                return  # merged meanwhile, which leaves out dead documents
            before = [
                row
                for token in changed.tolist()
                for row in connection.execute(TOKEN, (number, words, names[token]))
            ]
            remove_tokens(connection, number, words, before)
            write_rows(connection, number, words, encode_rows(names, sort_occurrences(rest)))
    # Dead documents without words are not scrubbed again.
    lengths = np.where(dead, 0, segment.lengths).astype(np.uint32)
    with database.writing() as connection:
        if is_segment(connection, number, ready=True):
            documents, rows = (
                Documents(segment.keys, lengths),
                rows_checksum(connection, segment.place),
            )
            write_documents(connection, number, words, documents, rows)
