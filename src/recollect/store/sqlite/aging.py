"""Which captures a policy is about: by their age, and by how they were used."""

from __future__ import annotations

from datetime import datetime

from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.filters import where
from recollect.store.sqlite.topics import SqliteTopics
from recollect.times import to_micros
from recollect.types import Filter

CAPTURES = """
SELECT m.id FROM memories m LEFT JOIN usage u ON u.memory = m.key
 WHERE {condition} AND m.tier = 'capture'"""
OLDEST_FIRST = " ORDER BY m.updated_at, m.id"
UNOPENED = " AND coalesce(u.opened, 0) + coalesce(u.accepted, 0) = 0"
BEYOND = """
SELECT id FROM (
    SELECT m.id, m.updated_at, row_number() OVER (
        PARTITION BY m.project
        ORDER BY max(m.updated_at, coalesce(u.last_at, 0)) DESC, m.id) AS place
      FROM memories m LEFT JOIN usage u ON u.memory = m.key
     WHERE {condition} AND m.tier = 'capture')
 WHERE place > ? ORDER BY updated_at, id"""


class SqliteAging:
    def __init__(self, database: Database, topics: SqliteTopics) -> None:
        self._database = database
        self._topics = topics

    def unchanged(self, filter: Filter, before: datetime, *, unless_useful: bool) -> list[str]:
        """Captures that nobody has changed since then, oldest first; without those that somebody
        opened or accepted."""
        useful = UNOPENED if unless_useful else ""
        return self._ids(filter, " AND m.updated_at < ?" + useful, before)

    def unreturned(self, filter: Filter, before: datetime) -> list[str]:
        """Captures that were neither changed nor returned, opened or accepted since then."""
        unused = " AND m.updated_at < ? AND coalesce(u.last_at, 0) < ?"
        return self._ids(filter, unused, before, before)

    def beyond(self, filter: Filter, most: int) -> list[str]:
        """Of the captures of each project all but those that were changed or used last."""
        condition, values = where(filter, self._topics)
        sql = BEYOND.format(condition=condition)
        return [str(id) for (id,) in self._database.rows(sql, *values, most)]

    def weak(self, before: datetime, limit: int) -> list[str]:
        """Captures that nobody signed and that were of no use since they were made, before then."""
        nobody = " AND m.source = '' AND m.created_at < ? AND coalesce(u.last_at, 0) = 0"
        return self._ids(Filter(), nobody, before)[:limit]

    def _ids(self, filter: Filter, narrower: str, *moments: datetime) -> list[str]:
        condition, values = where(filter, self._topics)
        sql = CAPTURES.format(condition=condition) + narrower + OLDEST_FIRST
        rows = self._database.rows(sql, *values, *map(to_micros, moments))
        return [str(id) for (id,) in rows]
