"""Which captures a policy is about: by their age, and by how they were used."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from recollect.store.vault import SqlDatabase
from recollect.times import to_micros
from recollect.types import Filter

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


class Aging:
    """`where`: a filter as a condition on the memories, named `m`, and its values."""

    def __init__(
        self, database: SqlDatabase, where: Callable[[Filter], tuple[str, list[Any]]]
    ) -> None:
        self._database, self._sql = database, database.sql
        self._where = where

    def unchanged(self, filter: Filter, before: datetime, *, unless_useful: bool) -> list[str]:
        """Captures that nobody has changed since then, oldest first; without those that somebody
        opened or accepted."""
        useful = UNOPENED if unless_useful else ""
        return self._oldest(filter, " AND m.updated_at < ?" + useful, before)

    def unreturned(self, filter: Filter, before: datetime) -> list[str]:
        """Captures that were neither changed nor returned, opened or accepted since then."""
        unused = " AND m.updated_at < ? AND coalesce(u.last_at, 0) < ?"
        return self._oldest(filter, unused, before, before)

    def beyond(self, filter: Filter, most: int) -> list[str]:
        """Of the captures of each project all but those that were changed or used last."""
        return self._ids(BEYOND, filter, most)

    def weak(self, before: datetime, limit: int) -> list[str]:
        """Captures that nobody signed and that were of no use since they were made, before then."""
        nobody = " AND m.source = '' AND m.created_at < ? AND coalesce(u.last_at, 0) = 0"
        return self._oldest(Filter(), nobody, before)[:limit]

    def _oldest(self, filter: Filter, narrower: str, *moments: datetime) -> list[str]:
        sql = f"SELECT m.id {CAPTURES}{narrower} ORDER BY m.updated_at, m.id"
        return self._ids(sql, filter, *map(to_micros, moments))

    def _ids(self, sql: str, filter: Filter, *more: int) -> list[str]:
        condition, values = self._where(filter)
        sql = self._sql(sql).replace("<condition>", condition)
        return [id for (id,) in self._database.rows(sql, *values, *more)]
