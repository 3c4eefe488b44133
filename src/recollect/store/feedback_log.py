"""What every store does with feedback, however it keeps it."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.query.likeness import normalised
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
NARROWER = "<narrower>"  # where a condition may stand in `STANDING`
EVERY = f"SELECT {EVENT} FROM feedback WHERE {{vault}} ORDER BY key"
COUNTED = """
SELECT coalesce(sum(CASE WHEN accepted THEN 1 ELSE 0 END), 0), count(*) FROM"""
STATE = """
SELECT EXISTS (SELECT 1 FROM feedback WHERE {vault}),
       (SELECT value FROM meta WHERE {vault} AND key = ?)"""
NEWEST = "SELECT coalesce(max(key), 0) FROM feedback WHERE {vault}"
QUERY_VECTORS = """
SELECT words, vector FROM feedback_vectors WHERE {vault} AND model = ? ORDER BY key DESC"""
# Another value whenever feedback or its vectors have changed.
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
# Queries without a vector are compared word by word, so many of them, the newest.
MOST_UNEMBEDDED = 1000

FeedbackRow = tuple[str, str, bool, int, str]


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


class StoredFeedback:
    """What is asked of a store's feedback. A store says what stands (`STANDING`: of one memory for
    one query what was said last) and which `QUESTIONS` it is learned from."""

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
        """Remove what was said of a memory for a query, or only if it was this; returns whether
        there was anything."""
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
        """What else a store does then."""

    def every(self) -> list[FeedbackEvent]:
        """All feedback, in the order in which it came."""
        return events_of(self._rows(EVERY))

    def counts(self) -> tuple[int, int]:
        """How often a result was accepted and dismissed; each time counts, also the same again."""
        return self._counted("feedback WHERE {vault}")

    def standing(self) -> tuple[int, int]:
        """How many results are accepted and dismissed now."""
        return self._counted(f"({self.STANDING.replace(NARROWER, '')}) AS standing")

    def _counted(self, table: str) -> tuple[int, int]:
        [(accepted, events)] = self._rows(f"{COUNTED} {table}")
        return accepted, events - accepted

    def state(self) -> FeedbackState:
        """Whether there is any feedback, and what was learned from it, in one look."""
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
        """The last acceptance for each query that has an accepted result, oldest first, as far as
        it is learned from."""
        return events_of(self._rows(self.QUESTIONS, LEARNED_UNTIL))

    @abstractmethod
    def unembedded(self, identity: str, limit: int) -> dict[str, str]:
        """The queries that have no vector of this model, by their words, the newest first."""

    @abstractmethod
    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of queries, by their words."""

    def on(self, words: Sequence[str]) -> list[Verdict]:
        """What stands for these queries."""
        standing = {
            (row.words, row.of): Verdict(row.words, row.query, row.of, row.accepted)
            for row in self._standing(words)
        }
        return list(standing.values())

    def _standing(self, words: Sequence[str]) -> list[Said]:
        """What was said last of each result of these queries, in the order in which it was said."""
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
        """The words of the queries there is feedback on whose cosine is at least that, with the
        cosine; and None for those without a vector of the model, as far as they are the newest."""
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
        """The queries as they are now; read again where something has changed."""
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
    """Query, memory, whether it was accepted, when, and the query's words."""
    words = normalised(event.query)
    return event.query, event.memory_id, event.accepted, to_micros(event.at), words


def events_of(rows: Iterable[Sequence[object]]) -> list[FeedbackEvent]:
    return [
        FeedbackEvent(str(query), str(id), bool(accepted), from_micros(at))  # type: ignore[arg-type]
        for query, id, accepted, at in rows
    ]


def complete_feedback(
    connection: Any, sql: Callable[[str], str], events: Iterable[tuple[FeedbackEvent, int]]
) -> int:
    """Record each event that is stored less often than its number says; returns how many."""
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
