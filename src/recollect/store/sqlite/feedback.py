"""What people said of results."""

from __future__ import annotations

from datetime import datetime

from recollect.store.sqlite.connection import Database
from recollect.times import to_micros


class SqliteFeedback:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, query: str, memory_id: str, accepted: bool, at: datetime) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO feedback (query, memory_id, accepted, given_at) VALUES (?, ?, ?, ?)",
                (query, memory_id, int(accepted), to_micros(at)),
            )

    def counts(self) -> tuple[int, int]:
        [(accepted, events)] = self._database.rows(
            "SELECT coalesce(sum(accepted), 0), count(*) FROM feedback"
        )
        assert isinstance(accepted, int)
        assert isinstance(events, int)
        return accepted, events - accepted
