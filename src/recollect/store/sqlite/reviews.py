"""What people decided of review items, what agents proposed, and how far a look through the vault
came."""

from __future__ import annotations

from datetime import datetime

from recollect.store.base import ReviewDecision
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.vault_files import SET
from recollect.times import from_micros, to_micros

DECIDE = """
INSERT INTO reviews VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
   SET decision = excluded.decision, at = excluded.at, until = excluded.until"""
BEHIND = """
SELECT key, id FROM memories WHERE key > ? AND forgotten_at IS NULL ORDER BY key LIMIT ?"""
CHANGED = """
SELECT 0, id FROM memories WHERE updated_at >= ? AND forgotten_at IS NULL
 ORDER BY updated_at DESC LIMIT ?"""
MOST_CHANGED = 5_000


class SqliteReviews:
    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, ReviewDecision]:
        """Every decision and proposal, by item."""
        rows = self._database.rows("SELECT item, decision, at, until FROM reviews")
        return {
            str(item): ReviewDecision(
                str(decision),
                from_micros(at),  # type: ignore[arg-type]
                None if until is None else from_micros(until),  # type: ignore[arg-type]
            )
            for item, decision, at, until in rows
        }

    def decide(self, item: str, decision: str, at: datetime, until: datetime | None = None) -> None:
        end = None if until is None else to_micros(until)
        with self._database.writing() as connection:
            connection.execute(DECIDE, (item, decision, to_micros(at), end))

    def unchecked(self, key: int, changed_at: int, limit: int) -> list[tuple[int, str]]:
        """The keys and ids of the live memories behind this key, so many, and of those changed
        since then."""
        rows = self._database.rows(BEHIND, key, limit) + self._database.rows(
            CHANGED, changed_at, MOST_CHANGED
        )
        return [(int(str(place)), str(id)) for place, id in rows]

    def note(self, key: str) -> str:
        """What was noted under this key; '' for nothing."""
        rows = self._database.rows("SELECT value FROM meta WHERE key = ?", key)
        return str(rows[0][0]) if rows else ""

    def set_note(self, key: str, value: str) -> None:
        with self._database.writing() as connection:
            connection.execute(SET, (key, value))
