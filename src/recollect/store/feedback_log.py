"""What every store does with feedback, however it keeps it."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from recollect.named_tuples import NamedTuple
from recollect.query.likeness import normalised
from recollect.store.base import FeedbackEvent, Verdict
from recollect.times import from_micros, to_micros

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.base import Vector

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
    """What is asked of a store's feedback, from what the store reads."""

    def __init__(self) -> None:
        self._queries: dict[str, Queries] = {}

    @abstractmethod
    def _said_last(self, words: Sequence[str]) -> Iterable[tuple[str, str, str, bool]]:
        """The words, query and memory of what was said last of each result, and whether it was
        accepted, in the order in which it was said."""

    @abstractmethod
    def _merged(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Those of these ids that were merged into another memory, with its id."""

    @abstractmethod
    def _marks(self) -> tuple[object, ...]:
        """Another value whenever feedback or its vectors have changed."""

    @abstractmethod
    def _query_vectors(self, identity: str) -> Sequence[tuple[str, bytes]]:
        """The words and vectors of the queries that have one of the model, newest first."""

    @abstractmethod
    def unembedded(self, identity: str, limit: int) -> dict[str, str]:
        """The queries that have no vector of this model, by their words, the newest first."""

    def on(self, words: Sequence[str]) -> list[Verdict]:
        standing = {
            (row.words, row.of): Verdict(row.words, row.query, row.of, row.accepted)
            for row in self._standing(words)
        }
        return list(standing.values())

    def _standing(self, words: Sequence[str]) -> list[Said]:
        """What stands for these queries, in the order in which it was said."""
        rows = [*self._said_last(words)]
        into = self._merged([id for _, _, id, _ in rows]) if rows else {}
        return [
            Said(words, query, id, into.get(id, id), accepted)
            for words, query, id, accepted in rows
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
        marks = self._marks()
        known = self._queries.get(identity)
        if known is None or known.marks != marks:
            words, vectors = self._embedded(identity)
            unembedded = [*self.unembedded(identity, MOST_UNEMBEDDED)]
            known = self._queries[identity] = Queries(marks, words, vectors, unembedded)
        return known

    def _embedded(self, identity: str) -> tuple[list[str], NDArray[np.float32] | None]:
        rows = self._query_vectors(identity)
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


def missing(
    stored: Counter[FeedbackRow], events: Iterable[tuple[FeedbackEvent, int]]
) -> Iterator[FeedbackRow]:
    """The rows of the events that are stored less often than their number says."""
    for event, number in events:
        row = row_of(event)
        if stored[row] < number:
            stored[row] += 1
            yield row
