"""Which results people accepted and dismissed, and the vectors of the queries they said it for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect.store.feedback_log import EVENT, LEARNED_UNTIL, NARROWER, UNUSED, StoredFeedback
from recollect.store.sqlite.connection import sqlite_sql

if TYPE_CHECKING:
    import apsw

    from recollect.store.base import Vector

# The keys of rows that were taken back are given again, and those that get them are learned from.
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


def remove_feedback(connection: apsw.Connection, memory_id: str) -> None:
    """Remove what was said of a memory that is purged, and vectors of queries without feedback."""
    sql = "SELECT DISTINCT words FROM feedback WHERE memory_id = ?"
    words = connection.execute(sql, (memory_id,)).fetchall()
    connection.execute("DELETE FROM feedback WHERE memory_id = ?", (memory_id,))
    connection.executemany(sqlite_sql(UNUSED), [(each, each) for (each,) in words])
    connection.execute(GIVEN_AGAIN, (LEARNED_UNTIL,))


class SqliteFeedback(StoredFeedback):
    STANDING, QUESTIONS = STANDING, QUESTIONS

    def _taken_back(self, connection: apsw.Connection) -> None:
        connection.execute(GIVEN_AGAIN, (LEARNED_UNTIL,))

    def unembedded(self, identity: str, limit: int) -> dict[str, str]:
        return dict(self._rows(UNEMBEDDED, identity, limit))

    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        with self._read.writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO feedback_vectors (model, words, vector) VALUES (?, ?, ?)",
                [(identity, words, one.astype("<f2").tobytes()) for words, one in vectors.items()],
            )
