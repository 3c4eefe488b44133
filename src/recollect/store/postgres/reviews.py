"""What people decided of review items, what agents proposed, and how far a look through the vault
came."""

from __future__ import annotations

from datetime import datetime

from recollect.store.base import ReviewDecision
from recollect.store.postgres.database import PostgresDatabase
from recollect.store.postgres.feedback import SET
from recollect.times import from_micros, to_micros

DECIDE = """
INSERT INTO reviews VALUES (vault(), %s, %s, %s, %s) ON CONFLICT (vault, item) DO UPDATE
   SET decision = excluded.decision, at = excluded.at, until = excluded.until"""
BEHIND = """
SELECT key, id FROM memories
 WHERE vault = vault() AND key > %s AND forgotten_at IS NULL ORDER BY key LIMIT %s"""
CHANGED = """
SELECT 0, id FROM memories
 WHERE vault = vault() AND newness <= %s AND forgotten_at IS NULL ORDER BY newness LIMIT 5000"""


class PostgresReviews:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def all(self) -> dict[str, ReviewDecision]:
        sql = "SELECT item, decision, at, until FROM reviews WHERE vault = vault()"
        return {
            item: ReviewDecision(
                decision, from_micros(at), None if until is None else from_micros(until)
            )
            for item, decision, at, until in self._database.rows(sql)
        }

    def decide(self, item: str, decision: str, at: datetime, until: datetime | None = None) -> None:
        end = None if until is None else to_micros(until)
        with self._database.writing() as connection:
            connection.execute(DECIDE, (item, decision, to_micros(at), end))

    def unchecked(self, key: int, changed_at: int, limit: int) -> list[tuple[int, str]]:
        rows = self._database.rows(BEHIND, key, limit) + self._database.rows(CHANGED, -changed_at)
        return [(place, id) for place, id in rows]

    def note(self, key: str) -> str:
        sql = "SELECT value FROM meta WHERE vault = vault() AND key = %s"
        rows = self._database.rows(sql, key)
        return str(rows[0][0]) if rows else ""

    def set_note(self, key: str, value: str) -> None:
        with self._database.writing() as connection:
            connection.execute(SET, (key, value))
