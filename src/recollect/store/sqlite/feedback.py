"""Which results people accepted and dismissed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.store.sqlite.connection import Database, as_json_list
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

    def about(self, ids: Sequence[str]) -> list[tuple[str, str, bool]]:
        rows = self._database.rows(
            "SELECT f.memory_id, f.query, f.accepted FROM feedback f "
            "WHERE f.memory_id IN (SELECT value FROM json_each(?)) ORDER BY f.key",
            as_json_list(ids),
        )
        return [(str(id), str(query), bool(accepted)) for id, query, accepted in rows]

    def counts(self) -> tuple[int, int]:
        [(accepted, events)] = self._database.rows(
            "SELECT coalesce(sum(accepted), 0), count(*) FROM feedback"
        )
        assert isinstance(accepted, int)
        assert isinstance(events, int)
        return accepted, events - accepted
