"""Which results people accepted and dismissed, and the vectors of the queries they said it for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.store.base import FeedbackEvent, FeedbackState
from recollect.store.feedback_log import StoredFeedback, events_of, row_of
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.vault_files import SET

if TYPE_CHECKING:
    from recollect.store.base import Vector

# In `meta`: what was learned, and the last feedback that is not learned from any more.
LESSON, LEARNED_UNTIL = "lesson", "learned_until"
# The keys of rows that were taken back are given again, and those that get them are learned from.
GIVEN_AGAIN = """
UPDATE meta SET value = min(CAST(value AS INTEGER), (SELECT coalesce(max(key), 0) FROM feedback))
 WHERE key = ?"""
# Of one memory for one query what was said last: SQLite takes the other columns from that row.
STANDING = "SELECT words, query, memory_id, accepted, given_at, max(key) AS key FROM feedback"
BY_RESULT = "GROUP BY words, memory_id"
UNEMBEDDED = """
SELECT words, query FROM feedback f WHERE NOT EXISTS (
    SELECT 1 FROM feedback_vectors v WHERE v.model = ? AND v.words = f.words
) GROUP BY words ORDER BY max(key) DESC LIMIT ?"""
MARKS = """
SELECT (SELECT max(key) FROM feedback), (SELECT count(*) FROM feedback),
       (SELECT max(key) FROM feedback_vectors), (SELECT count(*) FROM feedback_vectors)"""


class SqliteFeedback(StoredFeedback):
    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def add(self, query: str, memory_id: str, accepted: bool, at: datetime) -> None:
        from recollect.store.sqlite.feedback_rows import INSERT  # noqa: PLC0415  start-up time

        with self._database.writing() as connection:
            connection.execute(INSERT, row_of(FeedbackEvent(query, memory_id, accepted, at)))

    def take_back(self, words: str, memory_id: str, accepted: bool | None = None) -> bool:
        with self._database.writing() as connection:
            rows = [row for row in self._standing([words]) if row.of == memory_id]
            if not rows or accepted not in (None, rows[-1].accepted):
                return False
            connection.executemany(
                "DELETE FROM feedback WHERE words = ? AND memory_id = ?",
                [(words, row.memory_id) for row in rows],
            )
            connection.execute(
                "DELETE FROM feedback_vectors WHERE words = ?1 "
                "AND NOT EXISTS (SELECT 1 FROM feedback WHERE words = ?1)",
                (words,),
            )
            connection.execute(GIVEN_AGAIN, (LEARNED_UNTIL,))
        return True

    def every(self) -> list[FeedbackEvent]:
        return events_of(
            self._database.rows(
                "SELECT query, memory_id, accepted, given_at FROM feedback ORDER BY key"
            )
        )

    def counts(self) -> tuple[int, int]:
        return self._counted("feedback")

    def standing(self) -> tuple[int, int]:
        return self._counted(f"({STANDING} {BY_RESULT})")

    def _counted(self, table: str) -> tuple[int, int]:
        [(accepted, events)] = self._database.rows(
            f"SELECT coalesce(sum(accepted), 0), count(*) FROM {table}"
        )
        assert isinstance(accepted, int)
        assert isinstance(events, int)
        return accepted, events - accepted

    # What was learned

    def state(self) -> FeedbackState:
        [(exists, lesson)] = self._database.rows(
            "SELECT EXISTS (SELECT 1 FROM feedback), (SELECT value FROM meta WHERE key = ?)", LESSON
        )
        return FeedbackState(bool(exists), str(lesson or ""))

    def learn(self, lesson: str) -> None:
        with self._database.writing() as connection:
            connection.execute(SET, (LESSON, lesson))

    def unlearn(self) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM meta WHERE key = ?", (LESSON,))
            last = connection.execute("SELECT coalesce(max(key), 0) FROM feedback").get
            connection.execute(SET, (LEARNED_UNTIL, str(last)))

    def questions(self) -> list[FeedbackEvent]:
        return events_of(
            self._database.rows(
                "SELECT query, memory_id, accepted, given_at FROM ("
                f"SELECT *, max(key) FROM ({STANDING} {BY_RESULT}) "
                "WHERE accepted AND key > coalesce((SELECT CAST(value AS INTEGER) FROM meta "
                "WHERE meta.key = ?), 0) GROUP BY words) ORDER BY key",
                LEARNED_UNTIL,
            )
        )

    # Queries like another

    def _said_last(self, words: Sequence[str]) -> Iterable[tuple[str, str, str, bool]]:
        sql = f"{STANDING} WHERE words IN (SELECT value FROM json_each(?)) {BY_RESULT} ORDER BY key"
        rows: list[Any] = self._database.rows(sql, as_json_list(words))
        return ((words, query, id, bool(accepted)) for words, query, id, accepted, *_ in rows)

    def _merged(self, ids: Sequence[str]) -> Mapping[str, str]:
        from recollect.store.trash import merged  # noqa: PLC0415  start-up time

        return merged(self._database, ids)

    def _marks(self) -> tuple[object, ...]:
        [marks] = self._database.rows(MARKS)
        return marks

    def _query_vectors(self, identity: str) -> Sequence[tuple[str, bytes]]:
        sql = "SELECT words, vector FROM feedback_vectors WHERE model = ? ORDER BY key DESC"
        return self._database.rows(sql, identity)  # type: ignore[return-value]

    def query_vectors(self) -> Sequence[tuple[str, str, bytes]]:
        sql = "SELECT model, words, vector FROM feedback_vectors ORDER BY key"
        return self._database.rows(sql)  # type: ignore[return-value]

    def unembedded(self, identity: str, limit: int) -> dict[str, str]:
        rows = self._database.rows(UNEMBEDDED, identity, limit)
        return {str(words): str(query) for words, query in rows}

    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        with self._database.writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO feedback_vectors (model, words, vector) VALUES (?, ?, ?)",
                [(identity, words, one.astype("<f2").tobytes()) for words, one in vectors.items()],
            )
