"""Merge small segments into a large one, large ones into a larger one. No save waits for it.

A segment is begun under the vault's lock, built while it is invisible to readers, and published in
one small write. Changes after its beginning are logged for the new segment, so that it is not used
for them. A merge that is killed leaves a segment that is not ready; the next merge removes it. A
merge that loses its lock may run at the same time as another one. So each of its writes locks the
row of its own segment, and the last one verifies that the segments it replaces still exist.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from recollect.errors import Interrupted, StoreError
from recollect.index import Row
from recollect.index.segments import ReadBehind, Segment, join_documents, join_rows
from recollect.lifetime import Lifetime
from recollect.store.base import KeywordIndexName
from recollect.store.sqlite.segments.merging import (
    NOTHING,
    TOKENS,
    Abandoned,
    SegmentSize,
    choose_segments,
)
from recollect.store.sqlite.segments.tables import WORDS
from recollect.store.sqlite.writing import ENDING_S
from recollect_postgres.indexing import MOST_SMALL, NUMBER, write_documents, write_rows
from recollect_postgres.pool import Connection
from recollect_postgres.segments import CONTENTS, WordSegments, read_contents
from recollect_postgres.transactions import NO_LIMITS, WRITES

if TYPE_CHECKING:
    from recollect_postgres.database import PostgresDatabase

MANY_SMALL = 128  # small segments: a search looks into each of them, in memory
LOOK_AFTER = 32  # writes of this process between two looks at the number of segments
LOCK = "SELECT {function}(1380142166, vault()::integer)"  # "RCLV" as a number
SMALL = """
SELECT number, memories FROM segments WHERE vault = vault() AND ready AND content IS NOT NULL"""
BEGIN = "INSERT INTO segments VALUES (vault(), %s, false, 0, NULL)"
OWN = "SELECT 1 FROM segments WHERE vault = vault() AND number = %s AND NOT ready FOR SHARE"
READY = """
UPDATE segments SET ready = %s, memories = %s WHERE vault = vault() AND number = %s AND NOT ready"""
REPLACED = """
UPDATE segments SET ready = false WHERE vault = vault() AND ready AND number = ANY(%s)"""
# Changes older than every segment, and earlier changes of a memory that has a later one. The last
# stays: processes follow changes by its number.
OUTDATED = """
DELETE FROM segment_changes c WHERE c.vault = vault()
   AND c.seq < (SELECT max(l.seq) FROM segment_changes l WHERE l.vault = vault())
   AND (c.segment < (SELECT min(s.number) FROM segments s WHERE s.vault = vault() AND s.ready)
        OR EXISTS (SELECT 1 FROM segment_changes l
                    WHERE l.vault = vault() AND l.memory = c.memory AND l.seq > c.seq))"""
# A process asks for `store.retry_s`, an hour at most, whether its write was committed.
TOLD = "DELETE FROM outcomes WHERE vault = vault() AND at < now() - interval '2 hours'"
# Deleting the row of the segment first waits for a write to it, so that all its rows are seen.
UNREADY = "DELETE FROM segments WHERE vault = vault() AND NOT ready RETURNING number"
OF_SEGMENT = ("postings", "segment_documents")
WITHIN = """
SELECT segment, token, documents, bits, postings, places FROM postings
 WHERE vault = vault() AND segment = ANY(%s) AND words = %s AND token > %s AND token <= %s
 ORDER BY token"""
NEXT = """
SELECT token FROM postings WHERE vault = vault() AND segment = %s AND words = %s AND token > %s
 ORDER BY token LIMIT 1 OFFSET %s"""
END = "\U0010ffff" * 2
# HNSW indexes, one for each model with many vectors, are built in the background, without a lock
# that others would wait for.
# Up to this number of vectors a query is compared with all, which finds the nearest for certain and
# takes half a second at most. An index loses some: docs/how-to/run-a-team-server.md says how many.
EXACT_UP_TO = 1_000_000
MOST_DIMENSIONS = 4_000  # of an index on half-precision vectors
MODELS = """
SELECT o.key, o.dimensions FROM models o WHERE o.vault = vault() AND o.dimensions <= %s
   AND (SELECT i.indisvalid FROM pg_index i
         WHERE i.indexrelid = to_regclass('hnsw_' || o.key)) IS DISTINCT FROM true
   AND (SELECT count(*) FROM vectors v WHERE v.vault = vault() AND v.model = o.key) > %s"""
# An index that exists and is not ready was interrupted.
DROP = "DROP INDEX CONCURRENTLY IF EXISTS recollect.hnsw_{model}"
CREATE = """
CREATE INDEX CONCURRENTLY hnsw_{model} ON recollect.vectors
 USING hnsw ((vector::halfvec({dimensions})) halfvec_ip_ops) WHERE model = {model}"""


class Merging:
    """Merges the segments of a vault in a thread, or at the end of a one-shot process."""

    def __init__(
        self,
        database: PostgresDatabase,
        words: WordSegments,
        *,
        lifetime: Lifetime = Lifetime.LIBRARY,
    ) -> None:
        self._database = database
        self._words = words
        self._once = lifetime is Lifetime.ONCE
        self._writes = 0
        self._closing = False
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def note_write(self) -> None:
        """Count a write; now and then start merging."""
        self._writes += 1
        if self._writes % LOOK_AFTER == 0 and not self._once:
            self.resume()

    def resume(self) -> None:
        """Start the thread that merges, unless it runs."""
        with self._guard:
            if not self._closing and (self._thread is None or not self._thread.is_alive()):
                work = self._merge
                self._thread = threading.Thread(target=work, name="recollect-merge", daemon=True)
                self._thread.start()

    def _merge(self) -> None:
        with suppress(StoreError):  # the next merge does what fails
            self.run()

    def close(self) -> None:
        if self._once and self._writes:
            self._merge()
        with self._guard:
            self._closing = True
        if self._thread is not None:
            self._thread.join(ENDING_S)

    def run(self, *, scrub: bool = False) -> None:
        """Merge until nothing is due; do nothing while another process merges.

        scrub: wait for the other process, and rebuild every segment with words of removed memories.
        Raise Interrupted if another process merged the same segments meanwhile.
        """
        function = "pg_advisory_xact_lock" if scrub else "pg_try_advisory_xact_lock"
        with self._database.side_transaction(f"{NO_LIMITS}; {WRITES}") as connection:
            if connection.execute(LOCK.format(function=function)).fetchall()[0][0] is False:
                return
            connection.execute(TOLD)
            self._remove_unready()
            try:
                while group := self._due(scrub=scrub):
                    self._join(group)
                    self._remove_unready()
            except Abandoned as error:
                if scrub:
                    raise Interrupted("Another process merged the word index.") from error
            index_many(self._database)

    def _due(self, *, scrub: bool) -> list[int]:
        """Return the segments to merge next."""
        with self._database.reading() as connection:
            small: dict[int, int] = dict(connection.execute(SMALL).fetchall())
            index = self._words.current(connection, "stemmed")
        each = [] if index is None else index.each()
        sizes = {one.number: SegmentSize(one.rows, len(one.keys)) for one in each}
        dead = [number for number, size in sizes.items() if size.live < size.every]
        if (
            len(small) >= MANY_SMALL
            or sum(small.values()) > MOST_SMALL
            or (scrub and not small.keys().isdisjoint(dead))
        ):
            return sorted(small)
        if scrub and dead:
            return dead[:1]
        return choose_segments(
            {number: size for number, size in sizes.items() if number not in small}
        )

    def _join(self, group: Sequence[int]) -> None:
        """Merge several segments, all small or all large."""
        with self._database.writing() as connection:
            [(number,)] = connection.execute(NUMBER).fetchall()
            connection.execute(BEGIN, (number,))
        memories = 0
        for index, words in WORDS.items():
            documents = self._write(number, index, words, group)
            memories = memories or documents  # the first index holds every memory
        with self._database.writing() as connection:
            replaced = connection.execute(REPLACED, ([*group],)).rowcount
            own = connection.execute(READY, (memories > 0, memories, number)).rowcount
            if self._closing or replaced != len(group) or not own:
                raise Abandoned
            connection.execute(OUTDATED)

    @contextmanager
    def _building(self, number: int) -> Iterator[Connection]:
        """Begin a write to the new segment; raise Abandoned if it was removed."""
        with self._database.side_transaction() as connection:
            if self._closing or not connection.execute(OWN, (number,)).fetchall():
                raise Abandoned
            yield connection

    def _write(self, number: int, index: KeywordIndexName, words: int, group: Sequence[int]) -> int:
        """Write one index of the new segment; return its number of documents."""
        with self._database.reading() as connection:
            current = self._words.current(connection, index)
            contents = connection.execute(CONTENTS, ([*group],), binary=True).fetchall()
        each = [] if current is None else current.each()
        sources = [one for one in each if one.number in group and one.rows]
        documents, numbers = join_documents(sources) if sources else (NOTHING, [])
        small = {one: read_contents(content)[words].rows for one, content in contents if content}
        read = _all_rows(sources, small) if small else partial(self._next_rows, sources)
        with self._building(number) as connection:
            write_documents(connection, number, words, documents)
        for some in join_rows(read, numbers) if sources else ():
            with self._building(number) as connection:
                write_rows(connection, number, words, some)
        return len(documents.keys)

    def _next_rows(
        self, sources: Sequence[Segment], low: str
    ) -> tuple[str | None, list[list[Row]]]:
        """Return the next tokens of large segments. Segments do not change, so each read may be of
        another moment."""
        largest = max(sources, key=lambda source: len(source.keys))
        numbers = [source.number for source in sources]
        with self._database.reading() as connection:
            following = connection.execute(NEXT, (*largest.place, low, TOKENS)).fetchall()
            high = following[0][0] if following else None
            asked = (numbers, largest.words, low, high or END)
            rows = connection.execute(WITHIN, asked, binary=True).fetchall()
        by_segment: dict[int, list[Any]] = {number: [] for number in numbers}
        for segment, *row in rows:
            by_segment[segment].append(tuple(row))
        return high, [*by_segment.values()]

    def _remove_unready(self) -> None:
        """Remove the remains of an interrupted merge, and the segments that this one replaced."""
        with self._database.side_transaction() as connection:
            numbers = [number for (number,) in connection.execute(UNREADY).fetchall()]
            for table in OF_SEGMENT if numbers else ():
                sql = f"DELETE FROM {table} WHERE vault = vault() AND segment = ANY(%s)"
                connection.execute(sql, (numbers,))


def _all_rows(sources: Sequence[Segment], rows: Mapping[int, list[Row]]) -> ReadBehind:
    """Return all tokens of small segments at once."""
    return lambda low: (None, [rows[source.number] for source in sources])


def index_many(database: PostgresDatabase, exact_up_to: int = EXACT_UP_TO) -> None:
    """Create the HNSW indexes that are due."""
    for model, dimensions in database.rows(MODELS, MOST_DIMENSIONS, exact_up_to):
        with database.plain_connection() as connection:
            connection.execute(DROP.format(model=model))
            connection.execute(CREATE.format(model=model, dimensions=dimensions))
