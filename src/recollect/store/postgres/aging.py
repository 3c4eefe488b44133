"""Which captures a policy is about: by their age, and by how they were used."""

from __future__ import annotations

from datetime import datetime

from recollect.store.postgres.database import PostgresDatabase
from recollect.store.postgres.filters import where
from recollect.times import to_micros
from recollect.types import Filter

CAPTURES = """
  FROM memories m LEFT JOIN usage u ON u.vault = m.vault AND u.memory = m.key
 WHERE {condition} AND m.tier = 'capture'"""
UNOPENED = " AND coalesce(u.opened, 0) + coalesce(u.accepted, 0) = 0"
BEYOND = f"""
SELECT id FROM (
    SELECT m.id, m.updated_at, row_number() OVER (
        PARTITION BY m.project
        ORDER BY greatest(m.updated_at, coalesce(u.last_at, 0)) DESC, m.id) AS place
    {CAPTURES}) AS placed
 WHERE place > %s ORDER BY updated_at, id"""


class PostgresAging:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def unchanged(self, filter: Filter, before: datetime, *, unless_useful: bool) -> list[str]:
        useful = UNOPENED if unless_useful else ""
        return self._ids(filter, " AND m.updated_at < %s" + useful, before)

    def unreturned(self, filter: Filter, before: datetime) -> list[str]:
        unused = " AND m.updated_at < %s AND coalesce(u.last_at, 0) < %s"
        return self._ids(filter, unused, before, before)

    def beyond(self, filter: Filter, most: int) -> list[str]:
        condition, values = where(filter, self._database)
        sql = BEYOND.format(condition=condition)
        return [id for (id,) in self._database.rows(sql, *values, most)]

    def weak(self, before: datetime, limit: int) -> list[str]:
        nobody = " AND m.source = '' AND m.created_at < %s AND coalesce(u.last_at, 0) = 0"
        return self._ids(Filter(), nobody, before)[:limit]

    def _ids(self, filter: Filter, narrower: str, *moments: datetime) -> list[str]:
        condition, values = where(filter, self._database)
        captures = CAPTURES.format(condition=condition) + narrower
        sql = f"SELECT m.id {captures} ORDER BY m.updated_at, m.id"
        return [id for (id,) in self._database.rows(sql, *values, *map(to_micros, moments))]
