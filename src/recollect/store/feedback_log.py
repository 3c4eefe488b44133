"""Feedback, as every store keeps and reads it."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.query.likeness import normalise
from recollect.store.base import FeedbackEvent, FeedbackState, Verdict
from recollect.store.trash import merged
from recollect.times import from_micros, to_micros

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.base import Vector
    from recollect.store.vault import SqlDatabase

# In `meta`: what was learned, and the last feedback that is not learned from any more.
LESSON, LEARNED_UNTIL = "lesson", "learned_until"
EVENT = "query, memory_id, accepted, given_at"
NARROWER = "<narrower>"  # is replaced by a condition in `STANDING`
EVERY = f"SELECT {EVENT} FROM feedback WHERE {{vault}} ORDER BY key"
COUNTED = """
SELECT coalesce(sum(CASE WHEN accepted THEN 1 ELSE 0 END), 0), count(*) FROM"""
STATE = """
SELECT EXISTS (SELECT 1 FROM feedback WHERE {vault}),
       (SELECT value FROM meta WHERE {vault} AND key = ?)"""
NEWEST = "SELECT coalesce(max(key), 0) FROM feedback WHERE {vault}"
QUERY_VECTORS = """
SELECT words, vector FROM feedback_vectors WHERE {vault} AND model = ? ORDER BY key DESC"""
# The values change whenever feedback or its vectors change.
MARKS = """
SELECT (SELECT max(key) FROM feedback WHERE {vault}),
       (SELECT count(*) FROM feedback WHERE {vault}),
       (SELECT max(key) FROM feedback_vectors WHERE {vault}),
       (SELECT count(*) FROM feedback_vectors WHERE {vault})"""
TAKE_BACK = "DELETE FROM feedback WHERE {vault} AND words = ? AND memory_id {among}"
UNUSED = """
DELETE FROM feedback_vectors WHERE {vault} AND words = ?
   AND NOT EXISTS (SELECT 1 FROM feedback WHERE {vault} AND words = ?)"""
INSERT = """
INSERT INTO feedback ({key}query, memory_id, accepted, given_at, words)
VALUES ({own}?, ?, ?, ?, ?)"""
STORED = f"""
SELECT {EVENT}, words, count(*) FROM feedback WHERE {{vault}} GROUP BY 1, 2, 3, 4, 5"""
SET_NOTE = """
INSERT INTO meta VALUES ({own}?, ?)
    ON CONFLICT ({key}key) DO UPDATE SET value = excluded.value"""
# The newest queries without a vector are compared word by word: at most this many.
MOST_UNEMBEDDED = 1000

FeedbackRow = tuple[str, str, bool, int, str]


class Queries(NamedTuple):
    """The queries with feedback: those with a vector of a model, and the others. `marks` shows
    whether anything has changed since they were read."""

    marks: tuple[object, ...]
    words: list[str]
    vectors: NDArray[np.float32] | None
    unembedded: list[str]


class Said(NamedTuple):
    """A verdict on a memory for a query. `of`: the memory that it was merged into, if it was. A
    verdict on one holds for the other."""

    words: str
    query: str
    memory_id: str
    of: str
    accepted: bool


class StoredFeedback:
    """The feedback of a store. A subclass says which verdict holds (`STANDING`: the latest on a
    memory for a query) and from which `QUESTIONS` the weights are learned."""

    STANDING: str
    QUESTIONS: str

    def __init__(self, database: SqlDatabase) -> None:
        self._queries: dict[str, Queries] = {}
        self._read = database

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._read.rows(self._read.sql(sql), *values)

    def add(self, query: str, memory_id: str, accepted: bool, at: datetime) -> None:
        """Record that a result was accepted or dismissed."""
        with self._read.writing() as connection:
            row = row_of(FeedbackEvent(query, memory_id, accepted, at))
            connection.execute(self._read.sql(INSERT), row)

    def take_back(self, words: str, memory_id: str, accepted: bool | None = None) -> bool:
        """Remove the verdicts on a memory for a query, or only if the latest is `accepted`; return
        True if there were any."""
        with self._read.writing() as connection:
            rows = [row for row in self._standing([words]) if row.of == memory_id]
            if not rows or accepted not in (None, rows[-1].accepted):
                return False
            ids = self._read.listed([row.memory_id for row in rows])
            connection.execute(self._read.sql(TAKE_BACK), (words, ids))
            connection.execute(self._read.sql(UNUSED), (words, words))
            self._taken_back(connection)
        return True

    def _taken_back(self, connection: Any) -> None:
        """Do what else the store needs after feedback was removed."""

    def every(self) -> list[FeedbackEvent]:
        """Return all feedback, oldest first."""
        return events_of(self._rows(EVERY))

    def counts(self) -> tuple[int, int]:
        """Return how often results were accepted and dismissed, repetitions included."""
        return self._counted("feedback WHERE {vault}")

    def standing(self) -> tuple[int, int]:
        """Return how many results are accepted and dismissed now."""
        return self._counted(f"({self.STANDING.replace(NARROWER, '')}) AS standing")

    def _counted(self, table: str) -> tuple[int, int]:
        [(accepted, events)] = self._rows(f"{COUNTED} {table}")
        return accepted, events - accepted

    def state(self) -> FeedbackState:
        """Return whether there is feedback and what was learned from it, in one statement."""
        [(exists, lesson)] = self._rows(STATE, LESSON)
        return FeedbackState(bool(exists), lesson or "")

    def learn(self, lesson: str) -> None:
        """Keep what was learned."""
        with self._read.writing() as connection:
            connection.execute(self._read.sql(SET_NOTE), (LESSON, lesson))

    def unlearn(self) -> None:
        """Drop what was learned; feedback given so far is not learned from any more."""
        with self._read.writing() as connection:
            sql = "DELETE FROM meta WHERE {vault} AND key = ?"
            connection.execute(self._read.sql(sql), (LESSON,))
            [(last,)] = connection.execute(self._read.sql(NEWEST)).fetchall()
            connection.execute(self._read.sql(SET_NOTE), (LEARNED_UNTIL, str(last)))

    def questions(self) -> list[FeedbackEvent]:
        """Return the latest acceptance for each query with an accepted result, oldest first,
        without those that learning ignores."""
        return events_of(self._rows(self.QUESTIONS, LEARNED_UNTIL))

    @abstractmethod
    def unembedded(self, identity: str, limit: int) -> dict[str, str]:
        """Return queries without a vector of this model, by their words, newest first."""

    @abstractmethod
    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of queries, by their words."""

    def on(self, words: Sequence[str]) -> list[Verdict]:
        """Return the verdicts that hold for these queries."""
        standing = {
            (row.words, row.of): Verdict(row.words, row.query, row.of, row.accepted)
            for row in self._standing(words)
        }
        return list(standing.values())

    def _standing(self, words: Sequence[str]) -> list[Said]:
        """Return the latest verdict on each result of these queries, oldest first."""
        standing = self.STANDING.replace(NARROWER, "AND words {among}")
        sql = f"SELECT words, query, memory_id, accepted FROM ({standing}) AS s ORDER BY key"
        rows = self._rows(sql, self._read.listed(words))
        into = merged(self._read, [id for _, _, id, _ in rows]) if rows else {}
        return [
            Said(words, query, id, into.get(id, id), bool(accepted))
            for words, query, id, accepted in rows
        ]

    def near(
        self, identity: str | None, vector: Vector | None, least: float
    ) -> dict[str, float | None]:
        """Return the words of the queries with feedback whose cosine is at least `least`, with the
        cosine, and the newest of those without a vector of the model, with None."""
        known = self._followed(identity or "")
        found: dict[str, float | None] = dict.fromkeys(known.unembedded)
        if known.vectors is None or vector is None:
            return found | dict.fromkeys(known.words[:MOST_UNEMBEDDED])
        import numpy as np  # noqa: PLC0415  start-up time

        # In double precision: sums of single precision differ between processors.
        cosines = np.einsum("ij,j->i", known.vectors, vector, dtype=np.float64)
        return found | {
            known.words[place]: float(cosines[place]) for place in (cosines >= least).nonzero()[0]
        }

    def _followed(self, identity: str) -> Queries:
        """Return the current queries; read them again if something has changed."""
        marks = self._rows(MARKS)[0]
        known = self._queries.get(identity)
        if known is None or known.marks != marks:
            words, vectors = self._embedded(identity)
            unembedded = [*self.unembedded(identity, MOST_UNEMBEDDED)]
            known = self._queries[identity] = Queries(marks, words, vectors, unembedded)
        return known

    def _embedded(self, identity: str) -> tuple[list[str], NDArray[np.float32] | None]:
        rows = self._rows(QUERY_VECTORS, identity)
        if not rows:
            return [], None
        import numpy as np  # noqa: PLC0415  start-up time

        joined = np.frombuffer(b"".join(vector for _, vector in rows), "<f2")
        return [words for words, _ in rows], joined.reshape(len(rows), -1).astype(np.float32)

    def forget(self) -> None:
        """Drop what is in memory."""
        self._queries.clear()


def row_of(event: FeedbackEvent) -> FeedbackRow:
    """Return the columns of a feedback row: query, memory, verdict, time, and the query's words."""
    words = normalise(event.query)
    return event.query, event.memory_id, event.accepted, to_micros(event.at), words


def events_of(rows: Iterable[Sequence[object]]) -> list[FeedbackEvent]:
    return [
        FeedbackEvent(str(query), str(id), bool(accepted), from_micros(at))  # type: ignore[arg-type]
        for query, id, accepted, at in rows
    ]


def complete_feedback(
    connection: Any, sql: Callable[[str], str], events: Iterable[tuple[FeedbackEvent, int]]
) -> int:
    """Record each event that is stored less often than its number says; return how many."""
    counted = connection.execute(sql(STORED))
    stored: Counter[Any] = Counter({tuple(row): count for *row, count in counted})
    rows = []
    for event, number in events:
        row = row_of(event)
        if stored[row] < number:
            stored[row] += 1
            rows.append(row)
    connection.cursor().executemany(sql(INSERT), rows)
    return len(rows)
