"""Memories in PostgreSQL: reading and browsing them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from recollect.store.base import AGES, Dates, Facets, Stored
from recollect.store.memory_rows import FIELDS, TIERS, ListedMemories, as_stored
from recollect.times import moved, to_micros
from recollect.types import Filter, Memory, Place
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.filters import SqlCondition, where
from recollect_postgres.pool import Connection

READ = f"""
SELECT m.key, m.forgotten_at, m.tags, {", ".join("m." + column for column in FIELDS)}
  FROM memories m"""
BY_IDS = f"{READ} WHERE m.vault = vault() AND m.id = ANY(%s)"
NEWEST = "m.newness, m.id"
BROWSING = f"m.browsed, {NEWEST}"
PROJECTS = """
SELECT asked.name FROM unnest(%s::text[]) WITH ORDINALITY AS asked (name, place)
 WHERE EXISTS (SELECT 1 FROM memories m
                WHERE m.vault = vault() AND m.project = asked.name AND m.forgotten_at IS NULL)
 ORDER BY asked.place"""
FACETS = """
WITH chosen AS MATERIALIZED (
    SELECT m.key, m.project, m.kind, m.source, m.updated_at FROM memories m WHERE {condition}
)"""
EACH = """
(SELECT '{field}', {field}, count(*) FROM chosen WHERE {field} <> ''
  GROUP BY 2 ORDER BY 3 DESC, 2)"""
# Tags that differ only in case have one topic. The name is the first of those in use.
TAGGED = """
(SELECT 'tags', min(t.name), count(DISTINCT t.memory) FROM chosen c
   JOIN topics t ON t.vault = vault() AND t.memory = c.key
  GROUP BY t.topic ORDER BY 3 DESC, 2)"""
AGED = "(SELECT 'age', %s, count(*) FROM chosen WHERE updated_at >= %s)"
COUNTED = ("project", "kind", "source")
DAYS = """
SELECT floor(m.{column} / 86400000000.0)::bigint, count(*) FROM memories m
 WHERE {condition} AND m.{column} IS NOT NULL GROUP BY 1 ORDER BY 1"""
FIRST_DAY = date(1970, 1, 1)
MOST_KEYS = 10_000  # in memory: those of a hundred searches


class PostgresMemories(ListedMemories):
    """Reading."""

    READ, BROWSING, NEWEST = READ, BROWSING, NEWEST

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._database = database
        self.keys: dict[str, int] = {}  # of those that were read last

    def where(self, filter: Filter, *, forgotten: bool = False) -> SqlCondition:
        return where(filter, self._database, forgotten=forgotten)

    def from_row(self, row: Sequence[Any]) -> Stored:
        return from_row(row)

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        with self._database.reading() as connection:
            found = find_stored(connection, ids)
            self._database.found().update({id: found.get(id) for id in ids})
        self.keys = self.keys if len(self.keys) < MOST_KEYS else {}
        self.keys.update((id, stored.key) for id, stored in found.items())
        return found

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        behind: tuple[Any, ...] = ()
        if after is not None:
            place = (TIERS.index(after.tier), -to_micros(after.updated_at), after.id)
            behind = (f" AND ({BROWSING}) > (?, ?, ?)", *place)
        return self._memories(filter, BROWSING, limit, *behind)

    def newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        behind: tuple[Any, ...] = ()
        if after is not None:
            behind = (f" AND ({NEWEST}) > (?, ?)", -to_micros(after.updated_at), after.id)
        return self._memories(filter, NEWEST, limit, *behind)

    def projects(self, names: Sequence[str]) -> list[str]:
        return [name for (name,) in self._database.rows(PROJECTS, [*names])]

    def facets(self, filter: Filter, now: datetime) -> Facets:
        condition, values = where(filter, self._database)
        parts = [*(EACH.format(field=field) for field in COUNTED), TAGGED, *(AGED for _ in AGES)]
        sql = FACETS.format(condition=condition) + " UNION ALL ".join(parts)
        ages = [part for age, span in AGES.items() for part in (age, to_micros(moved(now, -span)))]
        found: dict[str, dict[Any, Any]] = {field: {} for field in Facets._fields}
        for field, value, count in self._database.rows(sql, *values, *ages):
            found[field][value] = count
        return Facets(**found)

    def dates(self, filter: Filter) -> Dates:
        condition, values = where(filter, self._database)
        with self._database.reading():
            found = {
                field: {
                    FIRST_DAY + timedelta(days=day): count
                    for day, count in self._database.rows(
                        DAYS.format(column=column, condition=condition), *values
                    )
                }
                for field, column in (("made", "created_at"), ("expiring", "valid_until"))
            }
        return Dates(**found)


def find_stored(connection: Connection, ids: Iterable[str]) -> dict[str, Stored]:
    found = map(from_row, connection.execute(BY_IDS, ([*ids],), binary=True))
    return {stored.memory.id: stored for stored in found}


def from_row(row: Sequence[Any]) -> Stored:
    key, forgotten_at, tags, *fields = row
    return as_stored(key, forgotten_at, tags, fields)
