"""Feedback, and counts of how often memories were returned, opened and accepted, for every store.

Some counts are in the vault, others pending: a memory's key with the kind of use, and a time.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recollect.query.likeness import normalise
from recollect.store.upkeep import find_merges
from recollect.store.vault import SET_NOTE, SqlDatabase
from recollect.times import from_micros, to_micros
from recollect.types import Use

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.base import Vector

# Keys in `meta`: the learned weights, and the last feedback that learning ignores.
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
# The newest queries without a vector are compared word by word: at most this many.
MOST_UNEMBEDDED = 1000
FeedbackRow = tuple[str, str, bool, int, str]
UseKind = Literal["returned", "opened", "accepted", "taken back"]
KINDS: tuple[UseKind, ...] = ("returned", "opened", "accepted", "taken back")
SECONDS = 60.0  # the least time between two writes of counts
READ = """
SELECT m.id, m.key, u.returned, u.opened, u.accepted, u.last_at
  FROM memories m LEFT JOIN usage u ON {u.vault} AND u.memory = m.key
 WHERE {m.vault} AND m.id {among} AND m.forgotten_at IS NULL"""
TOTALS = """
SELECT count(*), coalesce(sum(returned), 0), coalesce(sum(opened), 0), coalesce(sum(accepted), 0)
  FROM usage u JOIN memories m ON {m.vault} AND m.key = u.memory AND m.forgotten_at IS NULL
 WHERE {u.vault}"""
NEW = """
SELECT count(*) FROM memories m
 WHERE {m.vault} AND m.key {among} AND m.forgotten_at IS NULL
   AND NOT EXISTS (SELECT 1 FROM usage u WHERE {u.vault} AND u.memory = m.key)"""
Counts = dict[int, list[int]]  # by a memory's key: returned, opened, accepted, last time


class FeedbackEvent(NamedTuple):
    """A user's verdict on a memory for a query, with its time."""

    query: str
    memory_id: str
    accepted: bool
    at: datetime


class Verdict(NamedTuple):
    """The latest verdict on a memory for a query. `words` is the normalised query, which identifies
    it."""

    words: str
    query: str
    memory_id: str
    accepted: bool


class FeedbackState(NamedTuple):
    """`given`: there is feedback. `lesson`: the weights learned from it; '' if none."""

    given: bool
    lesson: str


class FeedbackQueries(NamedTuple):
    """The queries with feedback: those with a vector of a model, and the others. `marks` shows
    whether anything has changed since they were read."""

    marks: tuple[object, ...]
    words: list[str]
    vectors: NDArray[np.float32] | None
    unembedded: list[str]


class StoredVerdict(NamedTuple):
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
        self._queries: dict[str, FeedbackQueries] = {}
        self._read = database

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._read.rows(self._read.sql(sql), *values)

    def add(self, query: str, memory_id: str, accepted: bool, at: datetime) -> None:
        """Record that a result was accepted or dismissed."""
        with self._read.writing() as connection:
            row = feedback_row(FeedbackEvent(query, memory_id, accepted, at))
            connection.execute(self._read.sql(INSERT), row)

    def take_back(self, words: str, memory_id: str, accepted: bool | None = None) -> bool:
        """Remove a memory's verdicts for a query, or only if the latest one is `accepted`; return
        True if any were removed."""
        with self._read.writing() as connection:
            rows = [row for row in self._standing([words]) if row.of == memory_id]
            if not rows or accepted not in (None, rows[-1].accepted):
                return False
            ids = self._read.among([row.memory_id for row in rows])
            connection.execute(self._read.sql(TAKE_BACK), (words, ids))
            connection.execute(self._read.sql(UNUSED), (words, words))
            self._after_removal(connection)
        return True

    def _after_removal(self, connection: Any) -> None:
        """Do what else the store needs after feedback was removed."""

    def list_all(self) -> list[FeedbackEvent]:
        """Return all feedback, oldest first."""
        return events_of(self._rows(EVERY))

    def counts(self) -> tuple[int, int]:
        """Return how often results were accepted and dismissed, repetitions included."""
        return self._count_verdicts("feedback WHERE {vault}")

    def count_standing(self) -> tuple[int, int]:
        """Return how many results are accepted and dismissed now."""
        return self._count_verdicts(f"({self.STANDING.replace(NARROWER, '')}) AS standing")

    def _count_verdicts(self, table: str) -> tuple[int, int]:
        [(accepted, events)] = self._rows(f"{COUNTED} {table}")
        return accepted, events - accepted

    def state(self) -> FeedbackState:
        """Return whether there is feedback and what was learned from it, in one statement."""
        [(exists, lesson)] = self._rows(STATE, LESSON)
        return FeedbackState(bool(exists), lesson or "")

    def learn(self, lesson: str) -> None:
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
    def list_unembedded(self, identity: str, limit: int) -> dict[str, str]:
        """Return queries without a vector of this model, by their words, newest first."""

    @abstractmethod
    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of queries, by their words."""

    def find_verdicts(self, words: Sequence[str]) -> list[Verdict]:
        standing = {
            (row.words, row.of): Verdict(row.words, row.query, row.of, row.accepted)
            for row in self._standing(words)
        }
        return list(standing.values())

    def _standing(self, words: Sequence[str]) -> list[StoredVerdict]:
        """Return the latest verdict on each result of these queries, oldest first."""
        standing = self.STANDING.replace(NARROWER, "AND words {among}")
        sql = f"SELECT words, query, memory_id, accepted FROM ({standing}) AS s ORDER BY key"
        rows = self._rows(sql, self._read.among(words))
        into = find_merges(self._read, [id for _, _, id, _ in rows]) if rows else {}
        return [
            StoredVerdict(words, query, id, into.get(id, id), bool(accepted))
            for words, query, id, accepted in rows
        ]

    def find_near(
        self, identity: str | None, vector: Vector | None, least: float
    ) -> dict[str, float | None]:
        """Return the words of the queries with feedback whose cosine is at least `least`, with the
        cosine, and the newest of those without a vector of the model, with None."""
        known = self._current_queries(identity or "")
        found: dict[str, float | None] = dict.fromkeys(known.unembedded)
        if known.vectors is None or vector is None:
            return found | dict.fromkeys(known.words[:MOST_UNEMBEDDED])
        import numpy as np  # noqa: PLC0415  start-up time

        # In double precision: sums of single precision differ between processors.
        cosines = np.einsum("ij,j->i", known.vectors, vector, dtype=np.float64)
        return found | {
            known.words[place]: float(cosines[place]) for place in (cosines >= least).nonzero()[0]
        }

    def _current_queries(self, identity: str) -> FeedbackQueries:
        """Return the current queries; read them again if something has changed."""
        marks = self._rows(MARKS)[0]
        known = self._queries.get(identity)
        if known is None or known.marks != marks:
            words, vectors = self._read_vectors(identity)
            unembedded = [*self.list_unembedded(identity, MOST_UNEMBEDDED)]
            known = self._queries[identity] = FeedbackQueries(marks, words, vectors, unembedded)
        return known

    def _read_vectors(self, identity: str) -> tuple[list[str], NDArray[np.float32] | None]:
        rows = self._rows(QUERY_VECTORS, identity)
        if not rows:
            return [], None
        import numpy as np  # noqa: PLC0415  start-up time

        joined = np.frombuffer(b"".join(vector for _, vector in rows), "<f2")
        return [words for words, _ in rows], joined.reshape(len(rows), -1).astype(np.float32)

    def forget(self) -> None:
        self._queries.clear()


def feedback_row(event: FeedbackEvent) -> FeedbackRow:
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
        row = feedback_row(event)
        if stored[row] < number:
            stored[row] += 1
            rows.append(row)
    connection.cursor().executemany(sql(INSERT), rows)
    return len(rows)


def sum_records(records: Iterable[tuple[int, int]]) -> Counts:
    """Return the counts of records, each 4 × the memory's key + the kind, and microseconds."""
    found: Counts = {}
    for number, at in records:
        key, kind = divmod(number, 4)
        counted = found.setdefault(key, [0, 0, 0, 0])
        if kind == KINDS.index("taken back"):
            counted[2] -= 1
        else:
            counted[kind] += 1
        counted[3] = max(counted[3], at)
    return found


class StoredUsage:
    """Counts of uses. Counting never writes by itself: the next write includes the counts, or a
    long-lived process writes them."""

    def __init__(self, database: SqlDatabase) -> None:
        self._read = database
        self._guard = threading.Lock()
        self._pending: list[tuple[int, int]] = []
        self._added = -SECONDS

    @property
    @abstractmethod
    def due(self) -> bool:
        """True if counts are pending, and this process wrote none in the last minute."""

    @abstractmethod
    def fold(self) -> None:
        """Write the pending counts; raise StoreError if another process holds the write lock."""

    @abstractmethod
    def settle(self) -> None:
        """Write all pending counts now if possible, before the table is read."""

    @abstractmethod
    def _keys(self, ids: Sequence[str]) -> list[int]: ...

    @abstractmethod
    def _waiting(self) -> Iterable[tuple[int, int]]: ...

    def count(self, kind: UseKind, ids: Sequence[str], at: datetime) -> list[int]:
        """Note a use of these memories; return their keys."""
        keys = self._keys(ids)
        number, moment = KINDS.index(kind), to_micros(at)
        with self._guard:
            self._pending += [(4 * key + number, moment) for key in keys]
        return keys

    def find(self, ids: Sequence[str]) -> dict[str, Use]:
        """Return the use of each of these live memories that was ever used."""
        found, waiting = {}, sum_records(self._waiting())
        for id, key, *stored in self._read.rows(self._read.sql(READ), self._read.among(ids)):
            *counts, last_at = (count or 0 for count in stored)
            *more, last_waiting = waiting.get(key, (0, 0, 0, 0))
            if last := max(last_at, last_waiting):
                returned, opened, accepted = map(sum, zip(counts, more, strict=True))
                found[id] = Use(returned, opened, max(accepted, 0), from_micros(last))
        return found

    def totals(self) -> dict[str, int]:
        """Return how many memories were used, and how often in all."""
        [row] = self._read.rows(self._read.sql(TOTALS))
        counts = Counter(dict(zip(("memories", *KINDS), map(int, row), strict=False)))
        waiting = list(self._waiting())
        for number, _ in waiting:
            counts[KINDS[number % 4]] += 1
        keys = self._read.among({number // 4 for number, _ in waiting})
        [(new,)] = self._read.rows(self._read.sql(NEW), keys)
        counts["memories"] += new
        accepted = counts["accepted"] - counts.pop("taken back", 0)
        return dict(counts) | {"accepted": max(accepted, 0)}
