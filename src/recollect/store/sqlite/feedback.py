"""Which results people accepted and dismissed, and the vectors of the queries they said it for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.named_tuples import NamedTuple
from recollect.store.base import FeedbackEvent, FeedbackState, Verdict
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.feedback_rows import INSERT, row_of
from recollect.store.sqlite.vault_files import SET
from recollect.times import from_micros

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.base import Vector

# In `meta`: what was learned, and the last feedback that is not learned from any more.
LESSON, LEARNED_UNTIL = "lesson", "learned_until"
# The keys of rows that were taken back are given again, and those that get them are learned from.
GIVEN_AGAIN = """
UPDATE meta SET value = min(CAST(value AS INTEGER), (SELECT coalesce(max(key), 0) FROM feedback))
 WHERE key = ?"""
# Queries without a vector are compared word by word, so many of them, the newest.
MOST_UNEMBEDDED = 1000
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


class Queries(NamedTuple):
    """The queries that there is feedback on: those with a vector of a model, and the others.
    `marks` tells whether anything has changed since they were read."""

    marks: tuple[object, ...]
    words: list[str]
    vectors: NDArray[np.float32] | None
    unembedded: list[str]


class Said(NamedTuple):
    """What was said of a memory for a query. `of`: the memory that it was merged into, if it was:
    whatever was said of one holds for the other."""

    words: str
    query: str
    memory_id: str
    of: str
    accepted: bool


class SqliteFeedback:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries: dict[str, Queries] = {}

    def add(self, query: str, memory_id: str, accepted: bool, at: datetime) -> None:
        with self._database.writing() as connection:
            connection.execute(INSERT, row_of(FeedbackEvent(query, memory_id, accepted, at)))

    def take_back(self, words: str, memory_id: str, accepted: bool | None = None) -> bool:
        with self._database.writing() as connection:
            said = [row for row in self._standing([words]) if row.of == memory_id]
            if not said or accepted not in (None, said[-1].accepted):
                return False
            connection.executemany(
                "DELETE FROM feedback WHERE words = ? AND memory_id = ?",
                [(words, row.memory_id) for row in said],
            )
            connection.execute(
                "DELETE FROM feedback_vectors WHERE words = ?1 "
                "AND NOT EXISTS (SELECT 1 FROM feedback WHERE words = ?1)",
                (words,),
            )
            connection.execute(GIVEN_AGAIN, (LEARNED_UNTIL,))
        return True

    def every(self) -> list[FeedbackEvent]:
        return _events(
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
        [(given, lesson)] = self._database.rows(
            "SELECT EXISTS (SELECT 1 FROM feedback), (SELECT value FROM meta WHERE key = ?)", LESSON
        )
        return FeedbackState(bool(given), str(lesson or ""))

    def learn(self, lesson: str) -> None:
        with self._database.writing() as connection:
            connection.execute(SET, (LESSON, lesson))

    def unlearn(self) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM meta WHERE key = ?", (LESSON,))
            last = connection.execute("SELECT coalesce(max(key), 0) FROM feedback").get
            connection.execute(SET, (LEARNED_UNTIL, str(last)))

    def questions(self) -> list[FeedbackEvent]:
        return _events(
            self._database.rows(
                "SELECT query, memory_id, accepted, given_at FROM ("
                f"SELECT *, max(key) FROM ({STANDING} {BY_RESULT}) "
                "WHERE accepted AND key > coalesce((SELECT CAST(value AS INTEGER) FROM meta "
                "WHERE meta.key = ?), 0) GROUP BY words) ORDER BY key",
                LEARNED_UNTIL,
            )
        )

    # Queries like another

    def on(self, words: Sequence[str]) -> list[Verdict]:
        standing = {
            (row.words, row.of): Verdict(row.words, row.query, row.of, row.accepted)
            for row in self._standing(words)
        }
        return list(standing.values())

    def _standing(self, words: Sequence[str]) -> list[Said]:
        """What stands for these queries, in the order in which it was said."""
        sql = f"{STANDING} WHERE words IN (SELECT value FROM json_each(?)) {BY_RESULT} ORDER BY key"
        rows: list[Any] = self._database.rows(sql, as_json_list(words))
        from recollect.store.sqlite.trash import merged  # noqa: PLC0415  start-up time

        into = merged(self._database, [row[2] for row in rows]) if rows else {}
        return [
            Said(words, query, id, into.get(id, id), bool(accepted))
            for words, query, id, accepted, *_ in rows
        ]

    def near(
        self, identity: str | None, vector: Vector | None, least: float
    ) -> dict[str, float | None]:
        known = self._followed(identity or "")
        found: dict[str, float | None] = dict.fromkeys(known.unembedded)
        if known.vectors is None or vector is None:
            return found | dict.fromkeys(known.words[:MOST_UNEMBEDDED])
        cosines = known.vectors @ vector
        return found | {
            known.words[place]: float(cosines[place]) for place in (cosines >= least).nonzero()[0]
        }

    def _followed(self, identity: str) -> Queries:
        """The queries as they are now; read again where something has changed."""
        [marks] = self._database.rows(MARKS)
        known = self._queries.get(identity)
        if known is None or known.marks != marks:
            words, vectors = self._embedded(identity)
            unembedded = [*self.unembedded(identity, MOST_UNEMBEDDED)]
            known = self._queries[identity] = Queries(marks, words, vectors, unembedded)
        return known

    def _embedded(self, identity: str) -> tuple[list[str], NDArray[np.float32] | None]:
        rows = self._database.rows(
            "SELECT words, vector FROM feedback_vectors WHERE model = ? ORDER BY key DESC", identity
        )
        if not rows:
            return [], None
        import numpy as np  # noqa: PLC0415  start-up time

        joined = np.frombuffer(b"".join(vector for _, vector in rows), "<f2")  # type: ignore[misc]
        return [str(words) for words, _ in rows], joined.reshape(len(rows), -1).astype(np.float32)

    def forget(self) -> None:
        """Drop what is in memory."""
        self._queries.clear()

    def unembedded(self, identity: str, limit: int) -> dict[str, str]:
        rows = self._database.rows(UNEMBEDDED, identity, limit)
        return {str(words): str(query) for words, query in rows}

    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        with self._database.writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO feedback_vectors (model, words, vector) VALUES (?, ?, ?)",
                [(identity, words, one.astype("<f2").tobytes()) for words, one in vectors.items()],
            )


def _events(rows: Iterable[Sequence[object]]) -> list[FeedbackEvent]:
    return [
        FeedbackEvent(str(query), str(id), bool(accepted), from_micros(at))  # type: ignore[arg-type]
        for query, id, accepted, at in rows
    ]
