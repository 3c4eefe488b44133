"""What people decided of review items, what agents proposed, and how far a look through the vault
came."""

from __future__ import annotations

from datetime import datetime

from recollect.store.base import ReviewDecision
from recollect.store.feedback_log import SET_NOTE
from recollect.store.vault import SqlDatabase
from recollect.times import from_micros, to_micros

ALL = "SELECT item, decision, at, until FROM reviews WHERE {vault}"
DECIDE = """
INSERT INTO reviews VALUES ({own}?, ?, ?, ?) ON CONFLICT ({key}item) DO UPDATE
   SET decision = excluded.decision, at = excluded.at, until = excluded.until"""
BEHIND = """
SELECT key, id FROM memories
 WHERE {vault} AND key > ? AND forgotten_at IS NULL ORDER BY key LIMIT ?"""
CHANGED = """
SELECT 0, id FROM memories
 WHERE {vault} AND {changed since} AND forgotten_at IS NULL ORDER BY {newest first} LIMIT ?"""
MOST_CHANGED = 5_000
NOTE = "SELECT value FROM meta WHERE {vault} AND key = ?"


class Reviews:
    def __init__(self, database: SqlDatabase) -> None:
        self._database, self._sql = database, database.sql

    def all(self) -> dict[str, ReviewDecision]:
        """Every decision and proposal, by item."""
        return {
            item: ReviewDecision(
                decision, from_micros(at), None if until is None else from_micros(until)
            )
            for item, decision, at, until in self._database.rows(self._sql(ALL))
        }

    def decide(self, item: str, decision: str, at: datetime, until: datetime | None = None) -> None:
        end = None if until is None else to_micros(until)
        with self._database.writing() as connection:
            values = (item, decision, to_micros(at), end)
            connection.execute(self._sql(DECIDE), values)

    def unchecked(self, key: int, changed_at: int, limit: int) -> list[tuple[int, str]]:
        """The keys and ids of the live memories behind this key, so many, and of those changed
        since then."""
        behind = self._database.rows(self._sql(BEHIND), key, limit)
        changed = self._database.rows(self._sql(CHANGED), changed_at, MOST_CHANGED)
        return [(place, id) for place, id in behind + changed]

    def note(self, key: str) -> str:
        """What was noted under this key; '' for nothing."""
        rows = self._database.rows(self._sql(NOTE), key)
        return str(rows[0][0]) if rows else ""

    def set_note(self, key: str, value: str) -> None:
        with self._database.writing() as connection:
            connection.execute(self._sql(SET_NOTE), (key, value))
