"""Which results people accepted and dismissed, and the vectors of the queries they said it for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.store.base import FeedbackEvent, FeedbackState
from recollect.store.feedback_log import StoredFeedback, events_of, missing, row_of
from recollect.store.postgres.database import PostgresDatabase
from recollect.store.postgres.pool import Connection
from recollect.store.trash import merged

if TYPE_CHECKING:
    from recollect.store.base import Vector

# In `meta`: what was learned, and the last feedback that is not learned from any more.
LESSON, LEARNED_UNTIL = "lesson", "learned_until"
SET = """
INSERT INTO meta VALUES (vault(), %s, %s)
    ON CONFLICT (vault, key) DO UPDATE SET value = excluded.value"""
INSERT = "INSERT INTO feedback (vault, query, memory_id, accepted, given_at, words) VALUES"
EVENT = "query, memory_id, accepted, given_at"
# Of one memory for one query what was said last.
STANDING = """
SELECT DISTINCT ON (words, memory_id) words, query, memory_id, accepted, given_at, key
  FROM feedback WHERE vault = vault() {narrower} ORDER BY words, memory_id, key DESC"""
COUNTED = "SELECT count(*) FILTER (WHERE accepted), count(*) FILTER (WHERE NOT accepted) FROM "
QUESTIONS = f"""
SELECT {EVENT} FROM (
    SELECT DISTINCT ON (words) * FROM ({STANDING.format(narrower="")}) AS standing
     WHERE accepted AND key > coalesce((SELECT value::bigint FROM meta
            WHERE meta.vault = vault() AND meta.key = %s), 0) ORDER BY words, key DESC) AS last
 ORDER BY key"""
UNEMBEDDED = """
SELECT words, (array_agg(query ORDER BY key DESC))[1] FROM feedback f
 WHERE vault = vault() AND NOT EXISTS (SELECT 1 FROM feedback_vectors v
        WHERE v.vault = vault() AND v.model = %s AND v.words = f.words)
 GROUP BY words ORDER BY max(key) DESC LIMIT %s"""
MARKS = """
SELECT (SELECT array[max(key), count(*)] FROM feedback WHERE vault = vault()),
       (SELECT array[max(key), count(*)] FROM feedback_vectors WHERE vault = vault())"""
TAKE_BACK = "DELETE FROM feedback WHERE vault = vault() AND words = %s AND memory_id = ANY(%s)"
UNUSED = """
DELETE FROM feedback_vectors WHERE vault = vault() AND words = %s
   AND NOT EXISTS (SELECT 1 FROM feedback WHERE vault = vault() AND words = %s)"""
EMBED = """
INSERT INTO feedback_vectors (vault, model, words, vector)
SELECT vault(), %s, * FROM unnest(%s::text[], %s::bytea[])
    ON CONFLICT (vault, model, words) DO UPDATE
   SET vector = excluded.vector, key = DEFAULT"""


class PostgresFeedback(StoredFeedback):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self._database = database

    def add(self, query: str, memory_id: str, accepted: bool, at: datetime) -> None:
        with self._database.writing() as connection:
            _insert(connection, [row_of(FeedbackEvent(query, memory_id, accepted, at))])

    def take_back(self, words: str, memory_id: str, accepted: bool | None = None) -> bool:
        with self._database.writing() as connection:
            rows = [row for row in self._standing([words]) if row.of == memory_id]
            if not rows or accepted not in (None, rows[-1].accepted):
                return False
            connection.execute(TAKE_BACK, (words, [row.memory_id for row in rows]))
            connection.execute(UNUSED, (words, words))
        return True

    def every(self) -> list[FeedbackEvent]:
        sql = f"SELECT {EVENT} FROM feedback WHERE vault = vault() ORDER BY key"
        return events_of(self._database.rows(sql))

    def counts(self) -> tuple[int, int]:
        [(accepted, dismissed)] = self._database.rows(f"{COUNTED} feedback WHERE vault = vault()")
        return accepted, dismissed

    def standing(self) -> tuple[int, int]:
        standing = STANDING.format(narrower="")
        [(accepted, dismissed)] = self._database.rows(f"{COUNTED} ({standing}) AS standing")
        return accepted, dismissed

    # What was learned

    def state(self) -> FeedbackState:
        [(exists, lesson)] = self._database.rows(
            "SELECT EXISTS (SELECT 1 FROM feedback WHERE vault = vault()), "
            "(SELECT value FROM meta WHERE vault = vault() AND key = %s)",
            LESSON,
        )
        return FeedbackState(exists, lesson or "")

    def learn(self, lesson: str) -> None:
        with self._database.writing() as connection:
            connection.execute(SET, (LESSON, lesson))

    def unlearn(self) -> None:
        with self._database.writing() as connection:
            sql = "DELETE FROM meta WHERE vault = vault() AND key = %s"
            connection.execute(sql, (LESSON,))
            sql = "SELECT coalesce(max(key), 0) FROM feedback WHERE vault = vault()"
            [(last,)] = connection.execute(sql).fetchall()
            connection.execute(SET, (LEARNED_UNTIL, str(last)))

    def questions(self) -> list[FeedbackEvent]:
        return events_of(self._database.rows(QUESTIONS, LEARNED_UNTIL))

    # Queries like another

    def _said_last(self, words: Sequence[str]) -> Iterable[tuple[str, str, str, bool]]:
        standing = STANDING.format(narrower="AND words = ANY(%s)")
        sql = f"SELECT words, query, memory_id, accepted FROM ({standing}) AS s ORDER BY key"
        return self._database.rows(sql, [*words])

    def _merged(self, ids: Sequence[str]) -> Mapping[str, str]:
        return merged(self._database, ids)

    def _marks(self) -> tuple[object, ...]:
        [marks] = self._database.rows(MARKS)
        return marks

    def _query_vectors(self, identity: str) -> Sequence[tuple[str, bytes]]:
        sql = "SELECT words, vector FROM feedback_vectors WHERE vault = vault() AND model = %s"
        return self._database.rows(f"{sql} ORDER BY key DESC", identity)

    def query_vectors(self) -> list[tuple[str, str, bytes]]:
        sql = "SELECT model, words, vector FROM feedback_vectors WHERE vault = vault() ORDER BY key"
        return self._database.rows(sql)

    def unembedded(self, identity: str, limit: int) -> dict[str, str]:
        return dict(self._database.rows(UNEMBEDDED, identity, limit))

    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        with self._database.writing() as connection:
            halves = [vector.astype("<f2").tobytes() for vector in vectors.values()]
            connection.execute(EMBED, (identity, [*vectors], halves))


def complete_feedback(connection: Connection, events: Iterable[tuple[FeedbackEvent, int]]) -> int:
    """Record each event that is stored less often than its number says; returns how many."""
    counted = connection.execute(
        f"SELECT {EVENT}, words, count(*) FROM feedback "
        "WHERE vault = vault() GROUP BY 1, 2, 3, 4, 5"
    )
    stored: Counter[Any] = Counter({tuple(row): count for *row, count in counted})
    rows = [*missing(stored, events)]
    _insert(connection, rows)
    return len(rows)


def _insert(connection: Connection, rows: Sequence[Sequence[object]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(f"{INSERT} (vault(), %s, %s, %s, %s, %s)", rows)
