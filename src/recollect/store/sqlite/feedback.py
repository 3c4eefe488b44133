"""Which results people accepted and dismissed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

import apsw

from recollect.store.base import FeedbackEvent
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.times import from_micros, to_micros

INSERT = "INSERT INTO feedback (query, memory_id, accepted, given_at) VALUES (?, ?, ?, ?)"


class SqliteFeedback:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, query: str, memory_id: str, accepted: bool, at: datetime) -> None:
        with self._database.writing() as connection:
            connection.execute(INSERT, (query, memory_id, int(accepted), to_micros(at)))

    def about(self, ids: Sequence[str]) -> list[tuple[str, str, bool]]:
        rows = self._database.rows(
            "SELECT f.memory_id, f.query, f.accepted FROM feedback f "
            "WHERE f.memory_id IN (SELECT value FROM json_each(?)) ORDER BY f.key",
            as_json_list(ids),
        )
        return [(str(id), str(query), bool(accepted)) for id, query, accepted in rows]

    def every(self) -> list[FeedbackEvent]:
        rows = self._database.rows(
            "SELECT query, memory_id, accepted, given_at FROM feedback ORDER BY key"
        )
        return [
            FeedbackEvent(str(query), str(id), bool(accepted), from_micros(at))  # type: ignore[arg-type]
            for query, id, accepted, at in rows
        ]

    def counts(self) -> tuple[int, int]:
        [(accepted, events)] = self._database.rows(
            "SELECT coalesce(sum(accepted), 0), count(*) FROM feedback"
        )
        assert isinstance(accepted, int)
        assert isinstance(events, int)
        return accepted, events - accepted


def complete_feedback(
    connection: apsw.Connection, events: Iterable[tuple[FeedbackEvent, int]]
) -> int:
    """Record each event that is stored less often than its number says; returns how many."""
    counted = connection.execute(
        "SELECT query, memory_id, accepted, given_at, count(*) FROM feedback GROUP BY 1, 2, 3, 4"
    )
    stored = Counter({tuple(row): count for *row, count in counted})
    before = stored.total()
    for event, number in events:
        row = (event.query, event.memory_id, int(event.accepted), to_micros(event.at))
        if stored[row] < number:
            connection.execute(INSERT, row)
            stored[row] += 1
    return stored.total() - before
