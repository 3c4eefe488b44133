"""Feedback, the vectors of its queries, and how often memories were returned, opened and accepted.

Counting a use never writes to the vault by itself. Counts stay in memory, or in a small file next
to the vault, which holds numbers alone: for each use the memory's key with the kind of use, and the
time. The next write adds them to the vault, or a long-lived process does, at most once a minute. A
process that is killed loses the counts of its last minute, or counts them twice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from struct import Struct, iter_unpack
from typing import TYPE_CHECKING

import apsw

from recollect.deadline import without_waiting
from recollect.errors import StoreError
from recollect.store.feedback import (
    EVENT,
    LEARNED_UNTIL,
    NARROWER,
    SECONDS,
    UNUSED,
    StoredFeedback,
    StoredUsage,
    sum_records,
)
from recollect.store.sqlite.connection import Database, as_json_list, sqlite_sql
from recollect.store.sqlite.vault_files import SPOOLS

if TYPE_CHECKING:
    import apsw

    from recollect.store.base import Vector

# Keys of removed rows are used again, and the new rows are learned from.
GIVEN_AGAIN = """
UPDATE meta SET value = min(CAST(value AS INTEGER), (SELECT coalesce(max(key), 0) FROM feedback))
 WHERE key = ?"""
# SQLite takes the other columns from the row with the largest key.
STANDING = f"""
SELECT words, query, memory_id, accepted, given_at, max(key) AS key FROM feedback
 WHERE true {NARROWER} GROUP BY words, memory_id"""
QUESTIONS = f"""
SELECT {EVENT} FROM (
    SELECT *, max(key) FROM ({STANDING.replace(NARROWER, "")})
     WHERE accepted AND key > coalesce((SELECT CAST(value AS INTEGER) FROM meta
            WHERE meta.key = ?), 0) GROUP BY words) ORDER BY key"""
UNEMBEDDED = """
SELECT words, query FROM feedback f WHERE NOT EXISTS (
    SELECT 1 FROM feedback_vectors v WHERE v.model = ? AND v.words = f.words
) GROUP BY words ORDER BY max(key) DESC LIMIT ?"""
RECORD = Struct("<qq")  # 4 × the memory's key + the kind; microseconds
# Bytes of some thousand uses: with more, they are written to the vault.
LARGEST = 1 << 18
KEYS = "SELECT m.key FROM json_each(?) j CROSS JOIN memories m ON m.id = j.value"
ADD = """
INSERT INTO usage SELECT key, ?2, ?3, max(?4, 0), ?5 FROM memories WHERE key = ?1
    ON CONFLICT DO UPDATE SET returned = returned + excluded.returned,
       opened = opened + excluded.opened, accepted = max(accepted + ?4, 0),
       last_at = max(last_at, excluded.last_at)"""


def remove_feedback(connection: apsw.Connection, memory_id: str) -> None:
    """Remove the feedback on a memory that is purged, and vectors of queries without feedback."""
    sql = "SELECT DISTINCT words FROM feedback WHERE memory_id = ?"
    words = connection.execute(sql, (memory_id,)).fetchall()
    connection.execute("DELETE FROM feedback WHERE memory_id = ?", (memory_id,))
    connection.executemany(sqlite_sql(UNUSED), [(each, each) for (each,) in words])
    connection.execute(GIVEN_AGAIN, (LEARNED_UNTIL,))


class SqliteFeedback(StoredFeedback):
    STANDING, QUESTIONS = STANDING, QUESTIONS

    def _after_removal(self, connection: apsw.Connection) -> None:
        connection.execute(GIVEN_AGAIN, (LEARNED_UNTIL,))

    def list_unembedded(self, identity: str, limit: int) -> dict[str, str]:
        return dict(self._rows(UNEMBEDDED, identity, limit))

    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        with self._read.writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO feedback_vectors (model, words, vector) VALUES (?, ?, ?)",
                [(identity, words, one.astype("<f2").tobytes()) for words, one in vectors.items()],
            )


class SqliteUsage(StoredUsage):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._database = database
        self._spool, self._taken = (Path(f"{database.path}{ending}") for ending in SPOOLS)

    def _keys(self, ids: Sequence[str]) -> list[int]:
        return [int(str(key)) for (key,) in self._database.rows(KEYS, as_json_list(ids))]

    @property
    def due(self) -> bool:
        if time.monotonic() - self._added < SECONDS:
            return False
        return bool(self._pending) or self._spool.exists()

    def fold(self) -> None:
        with without_waiting(), self._database.writing() as connection:
            self.add_to(connection)
        self.mark_added()

    def settle(self) -> None:
        if self._pending or self._spool.exists() or self._taken.exists():
            with suppress(StoreError):
                self.fold()

    def add_to(self, connection: apsw.Connection) -> None:
        """Add the pending counts as a part of a write; call `mark_added` after it."""
        with suppress(FileNotFoundError):
            if not self._taken.exists():  # otherwise a killed process left it
                self._spool.replace(self._taken)
        with self._guard:
            pending, self._pending = self._pending, []
        counts = sum_records([*_records(self._taken), *pending])
        connection.executemany(ADD, [(key, *counted) for key, counted in counts.items()])

    def mark_added(self) -> None:
        self._added = time.monotonic()
        self._taken.unlink(missing_ok=True)

    def close(self) -> None:
        """Write pending counts to the file for the next process."""
        with self._guard:
            pending, self._pending = self._pending, []
        if not pending:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        with suppress(OSError):  # a folder that cannot be written to
            spool = os.open(self._spool, flags, 0o600)
            try:
                os.write(spool, b"".join(RECORD.pack(*record) for record in pending))
                size = os.fstat(spool).st_size
            finally:
                os.close(spool)
            if size > LARGEST:
                self.fold()

    def _waiting(self) -> Iterator[tuple[int, int]]:
        for file in (self._spool, self._taken):
            yield from _records(file)
        with self._guard:
            yield from list(self._pending)


def _records(file: Path) -> Iterator[tuple[int, int]]:
    try:
        whole = file.read_bytes()
    except OSError:
        return
    # A write that was cut short leaves the beginning of a record.
    yield from iter_unpack(RECORD.format, whole[: len(whole) // RECORD.size * RECORD.size])
