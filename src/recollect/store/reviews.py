"""Decisions on review items, remarks captured from conversations, and captured memories that
age."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from recollect.store.base import CAPTURED_KEPT, CapturedRemark, ReviewDecision
from recollect.store.feedback_log import SET_NOTE
from recollect.store.vault import SqlDatabase
from recollect.times import from_micros, moved, to_micros
from recollect.types import Filter

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
# A known sentence changes only its place: before a turn is in the transcript, its line is an
# estimate.
ADD = """
INSERT INTO candidates AS c VALUES ({own}?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT ({key}mark) DO UPDATE
   SET place = excluded.place WHERE c.fields <> '' AND c.place <> excluded.place"""
WAITING = """
SELECT mark, at, client, session, {author}, form, place, fields FROM candidates
 WHERE {vault} AND fields <> '' ORDER BY at, mark"""
KNOWN = """
SELECT mark, CASE fields WHEN '' THEN NULL ELSE place END FROM candidates
 WHERE {vault} AND mark IN"""
SETTLE = "UPDATE candidates SET fields = '', place = '' WHERE {vault} AND mark = ?"
FORGET = "DELETE FROM candidates WHERE {vault} AND fields = '' AND at < ?"
CAPTURES = """
  FROM memories m LEFT JOIN usage u ON {u.vault} AND u.memory = m.key
 WHERE <condition> AND m.tier = 'capture'"""
UNOPENED = " AND coalesce(u.opened, 0) + coalesce(u.accepted, 0) = 0"
BEYOND = f"""
SELECT id FROM (
    SELECT m.id, m.updated_at, row_number() OVER (
        PARTITION BY m.project
        ORDER BY {{greatest}}(m.updated_at, coalesce(u.last_at, 0)) DESC, m.id) AS place
    {CAPTURES}) AS placed
 WHERE place > ? ORDER BY updated_at, id"""


class Reviews:
    def __init__(self, database: SqlDatabase) -> None:
        self._database, self._sql = database, database.sql

    def all(self) -> dict[str, ReviewDecision]:
        """Return every decision and proposal, by item."""
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
        """Return the keys and ids of up to `limit` live memories with a key above `key`, and of
        those changed since `changed_at`."""
        behind = self._database.rows(self._sql(BEHIND), key, limit)
        changed = self._database.rows(self._sql(CHANGED), changed_at, MOST_CHANGED)
        return [(place, id) for place, id in behind + changed]

    def note(self, key: str) -> str:
        """Return the note under this key; '' without one."""
        rows = self._database.rows(self._sql(NOTE), key)
        return str(rows[0][0]) if rows else ""

    def set_note(self, key: str, value: str) -> None:
        with self._database.writing() as connection:
            connection.execute(self._sql(SET_NOTE), (key, value))


class CapturedRemarks:
    def __init__(self, database: SqlDatabase) -> None:
        self._database, self._sql = database, database.sql

    def waiting(self) -> list[CapturedRemark]:
        """Return the remarks that wait for a decision, oldest first."""
        return [
            CapturedRemark(mark, from_micros(at), *texts, msgspec.json.decode(fields))  # type: ignore[call-arg]
            for mark, at, *texts, fields in self._database.rows(self._sql(WAITING))
        ]

    def known(self, marks: Sequence[bytes]) -> dict[bytes, str | None]:
        """Return the places of the marks that were captured before; None if decided."""
        if not marks:
            return {}
        sql = self._sql(f"{KNOWN} ({', '.join('?' * len(marks))})")
        return dict(self._database.rows(sql, *marks))

    def add(self, candidates: Sequence[CapturedRemark]) -> None:
        with self._database.writing() as connection:
            for mark, at, *texts, fields in candidates:
                values = (mark, to_micros(at), *texts, msgspec.json.encode(fields).decode())
                connection.execute(self._sql(ADD), values)

    def settle(self, mark: bytes, now: datetime) -> None:
        """Mark a remark as decided: remove its text, and remarks decided long ago."""
        with self._database.writing() as connection:
            connection.execute(self._sql(SETTLE), (mark,))
            long_ago = to_micros(moved(now, -CAPTURED_KEPT))
            connection.execute(self._sql(FORGET), (long_ago,))


class Aging:
    """Captured memories that may be obsolete. `where` turns a filter into a condition on the table
    memories, named `m`, and its values."""

    def __init__(
        self, database: SqlDatabase, where: Callable[[Filter], tuple[str, list[Any]]]
    ) -> None:
        self._database, self._sql = database, database.sql
        self._where = where

    def unchanged(self, filter: Filter, before: datetime, *, unless_useful: bool) -> list[str]:
        """Return captures not changed since `before`, oldest first; `unless_useful` leaves out
        those opened or accepted."""
        useful = UNOPENED if unless_useful else ""
        return self._oldest(filter, " AND m.updated_at < ?" + useful, before)

    def unreturned(self, filter: Filter, before: datetime) -> list[str]:
        """Return captures that were not changed, returned, opened or accepted since `before`."""
        unused = " AND m.updated_at < ? AND coalesce(u.last_at, 0) < ?"
        return self._oldest(filter, unused, before, before)

    def beyond(self, filter: Filter, most: int) -> list[str]:
        """Return the captures of each project without the `most` that were changed or used last."""
        return self._ids(BEYOND, filter, most)

    def weak(self, before: datetime, limit: int) -> list[str]:
        """Return captures without a source, made before `before` and never used."""
        nobody = " AND m.source = '' AND m.created_at < ? AND coalesce(u.last_at, 0) = 0"
        return self._oldest(Filter(), nobody, before)[:limit]

    def _oldest(self, filter: Filter, narrower: str, *moments: datetime) -> list[str]:
        sql = f"SELECT m.id {CAPTURES}{narrower} ORDER BY m.updated_at, m.id"
        return self._ids(sql, filter, *map(to_micros, moments))

    def _ids(self, sql: str, filter: Filter, *more: int) -> list[str]:
        condition, values = self._where(filter)
        sql = self._sql(sql).replace("<condition>", condition)
        return [id for (id,) in self._database.rows(sql, *values, *more)]
