"""Memories in PostgreSQL: reading and browsing them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from recollect.store.base import AGES, Dates, Facets, MemoryStamp, MomentField, Stored
from recollect.store.memory_rows import FIELDS, as_stored
from recollect.store.postgres.database import PostgresDatabase
from recollect.store.postgres.filters import where
from recollect.store.postgres.pool import Connection
from recollect.times import moved, to_micros
from recollect.types import Filter, Memory, Place

READ = f"""
SELECT m.key, m.forgotten_at, m.tags, {", ".join("m." + column for column in FIELDS)}
  FROM memories m"""
BY_IDS = f"{READ} WHERE m.vault = vault() AND m.id = ANY(%s)"
NEWEST = "m.newness, m.id"
BROWSING = f"m.browsed, {NEWEST}"
TIERS = ("core", "capture", "file")
# From one kind to the next in the index: there are few, however many memories there are.
KINDS = """
WITH RECURSIVE used (kind) AS (
    SELECT min(kind) FROM memories WHERE vault = vault() AND forgotten_at IS NULL
     UNION ALL
    SELECT (SELECT min(kind) FROM memories
             WHERE vault = vault() AND forgotten_at IS NULL AND kind > used.kind)
      FROM used WHERE kind IS NOT NULL
)
SELECT kind FROM used WHERE kind IS NOT NULL LIMIT 100"""
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
  GROUP BY 2 ORDER BY 3 DESC, 2 LIMIT %s)"""
# Tags that differ only in case have one topic. The name is the first of those in use.
TAGGED = """
(SELECT 'tags', min(t.name), count(DISTINCT t.memory) FROM chosen c
   JOIN topics t ON t.vault = vault() AND t.memory = c.key
  GROUP BY t.topic ORDER BY 3 DESC, 2 LIMIT %s)"""
AGED = "(SELECT 'age', %s, count(*) FROM chosen WHERE updated_at >= %s)"
COUNTED = ("project", "kind", "source")
DAYS = """
SELECT floor(m.{column} / 86400000000.0)::bigint, count(*) FROM memories m
 WHERE {condition} AND m.{column} IS NOT NULL GROUP BY 1 ORDER BY 1"""
FIRST_DAY = date(1970, 1, 1)
MOST_KEYS = 10_000  # in memory: those of a hundred searches
LAST = "\U0010ffff"  # no text that begins as another does comes behind that one and this


class PostgresMemories:
    """Reading."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self.keys: dict[str, int] = {}  # of those that were read last

    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        found = self.find(ids).values()
        return {stored.memory.id: stored.memory for stored in found if not stored.forgotten}

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        with self._database.reading() as connection:
            found = find_stored(connection, ids)
            self._database.found().update({id: found.get(id) for id in ids})
        self.keys = self.keys if len(self.keys) < MOST_KEYS else {}
        self.keys.update((id, stored.key) for id, stored in found.items())
        return found

    def keyed(self, keys: Collection[int]) -> dict[int, Stored]:
        sql = f"{READ} WHERE m.vault = vault() AND m.key = ANY(%s)"
        found = map(from_row, self._database.rows(sql, [*keys]))
        return {stored.key: stored for stored in found}

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        rows = self._database.rows(
            "SELECT id, content_hash, updated_at FROM memories "
            "WHERE vault = vault() AND forgotten_at IS NULL AND id = ANY(%s)",
            [*ids],
        )
        return {id: MemoryStamp(hash, at) for id, hash, at in rows}

    def ids(self, *, forgotten: bool = False) -> list[str]:
        live = "" if forgotten else "AND m.forgotten_at IS NULL"
        return self._ids(
            f"m.vault = vault() {live} ORDER BY m.forgotten_at IS NOT NULL, {BROWSING}"
        )

    def beginning(self, start: str, limit: int, *, forgotten: bool = False) -> list[str]:
        return self._ids(
            f"m.vault = vault() AND m.forgotten_at IS {'NOT ' if forgotten else ''}NULL "
            "AND m.id >= %s AND m.id < %s ORDER BY m.id LIMIT %s",
            start,
            start + LAST,
            limit,
        )

    def _ids(self, condition: str, *values: object) -> list[str]:
        sql = f"SELECT m.id FROM memories m WHERE {condition}"
        return [id for (id,) in self._database.rows(sql, *values)]

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        behind: tuple[Any, ...] = ()
        if after is not None:
            place = (TIERS.index(after.tier), -to_micros(after.updated_at), after.id)
            behind = (f" AND ({BROWSING}) > (%s, %s, %s)", *place)
        return self._listed(filter, BROWSING, limit, *behind)

    def newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        behind: tuple[Any, ...] = ()
        if after is not None:
            behind = (f" AND ({NEWEST}) > (%s, %s)", -to_micros(after.updated_at), after.id)
        return self._listed(filter, NEWEST, limit, *behind)

    def made(self, filter: Filter, limit: int, *, oldest: bool = False) -> list[Memory]:
        order = "m.created_at" if oldest else "m.created_at DESC"
        return self._listed(filter, f"{order}, m.id", limit)

    def around(
        self,
        filter: Filter,
        at: datetime,
        limit: int,
        *,
        field: MomentField,
        later: bool,
    ) -> list[Memory]:
        beside = f" AND m.{field} {'>' if later else '<='} %s"
        beside += " AND m.updated_at > m.created_at" if field == "updated_at" else ""
        order = f"m.{field} {'' if later else 'DESC'}, m.id"
        return self._listed(filter, order, limit, beside, to_micros(at))

    def replaced(self, ids: Sequence[str]) -> list[Memory]:
        if not ids:
            return []
        linked = " AND m.superseded_by <> '' AND m.superseded_by = ANY(%s)"
        return self._listed(Filter(archived=True), NEWEST, None, linked, [*ids])

    def kinds(self) -> list[str]:
        return [kind for (kind,) in self._database.rows(KINDS)]

    def projects(self, names: Sequence[str]) -> list[str]:
        return [name for (name,) in self._database.rows(PROJECTS, [*names])]

    def expiring(
        self, filter: Filter, limit: int, *, until: datetime, since: datetime | None = None
    ) -> list[Memory]:
        ending, last = " AND m.valid_until <= %s", to_micros(until)
        if since is None:
            return self._listed(filter, "m.valid_until DESC, m.id", limit, ending, last)
        ending += " AND m.valid_until > %s"
        return self._listed(filter, "m.valid_until, m.id", limit, ending, last, to_micros(since))

    def facets(self, filter: Filter, most: int, now: datetime) -> Facets:
        condition, values = where(filter, self._database)
        parts = [*(EACH.format(field=field) for field in COUNTED), TAGGED, *(AGED for _ in AGES)]
        sql = FACETS.format(condition=condition) + " UNION ALL ".join(parts)
        ages = [part for age, span in AGES.items() for part in (age, to_micros(moved(now, -span)))]
        found: dict[str, dict[Any, Any]] = {field: {} for field in Facets._fields}
        for field, value, count in self._database.rows(sql, *values, *[most] * 4, *ages):
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

    def _listed(
        self, filter: Filter, order: str, limit: int | None, more: str = "", *values: object
    ) -> list[Memory]:
        condition, parameters = where(filter, self._database)
        sql = f"{READ} WHERE {condition}{more} ORDER BY {order} LIMIT %s"
        rows = self._database.rows(sql, *parameters, *values, limit)
        return [from_row(row).memory for row in rows]


def find_stored(connection: Connection, ids: Iterable[str]) -> dict[str, Stored]:
    found = map(from_row, connection.execute(BY_IDS, ([*ids],), binary=True))
    return {stored.memory.id: stored for stored in found}


def from_row(row: Sequence[Any]) -> Stored:
    key, forgotten_at, tags, *fields = row
    return as_stored(key, forgotten_at, tags, fields)
