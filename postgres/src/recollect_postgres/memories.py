"""Read and browse memories in PostgreSQL, and find them by tags. A Filter becomes SQL in one place,
for every channel, so that it holds before any limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from recollect.hashing import topic_hash
from recollect.store.base import AGES, ANYWHERE, Dates, Facets, Match, Stored
from recollect.store.memory_rows import FIELDS, TIERS, Conditions, ListedMemories, as_stored
from recollect.times import shift, to_micros
from recollect.types import Filter, Memory, Place
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.pool import Connection

if TYPE_CHECKING:
    from recollect_postgres.pool import Connection

HAS_TAG = (
    "EXISTS (SELECT 1 FROM topics t WHERE t.vault = vault() AND t.memory = m.key AND t.topic = %s)"
)
# The memory has not changed since a write.
UNCHANGED = (
    "NOT EXISTS (SELECT 1 FROM versions v "
    "WHERE v.vault = vault() AND v.memory = m.key AND v.write > %s)"
)
CARRYING = """
SELECT m.id, count(DISTINCT t.topic) AS matches
  FROM topics t JOIN memories m ON m.vault = vault() AND m.key = t.memory
 WHERE t.vault = vault() AND t.topic = ANY(%s) AND {condition}
 GROUP BY m.id, m.updated_at ORDER BY matches DESC, m.updated_at DESC, m.id LIMIT %s"""


class SqlCondition(NamedTuple):
    sql: str
    values: list[Any]


def without_archived(filter: Filter, database: PostgresDatabase, connection: Connection) -> Filter:
    """Return an empty filter with `archived` False if the vault has archived memories; without
    any, searches need no condition."""
    if filter == Filter() and database.facts(connection).any_archived:
        return replace(filter, archived=False)
    return filter


def where(filter: Filter, database: PostgresDatabase, *, forgotten: bool = False) -> SqlCondition:
    """Return a condition on the memories table, named `m`, and its values. `forgotten`: only
    memories in the trash pass."""
    made = Conditions("%s")
    made.add("m.vault = vault()")
    made.add(f"m.forgotten_at IS {'NOT ' if forgotten else ''}NULL")
    if not forgotten and not filter.archived:
        made.add("m.archived_at IS NULL")
    made.columns(filter)
    made.times(filter)
    made.tags(filter, HAS_TAG, str.lower)
    if filter.holding:
        made.add("m.key = ANY(%s)", database.words.holding(("stemmed",), filter.holding))
    for words in filter.without:
        each = [set(database.words.holding(ANYWHERE, [word])) for word in words]
        made.add("m.key <> ALL(%s)", sorted(set.intersection(*each)))
    if filter.among is not None:
        made.add("m.id = ANY(%s)", [*filter.among])
    if filter.unchanged_since is not None:
        made.add(UNCHANGED, filter.unchanged_since)
    return SqlCondition(" AND ".join(made.parts), made.values)


class PostgresTopics:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def hash_word(self, word: str) -> bytes:
        return topic_hash(self._database.secret, word)

    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        topics = sorted({word.lower() for word in words if "\0" not in word})
        condition, values = where(filter, self._database)
        sql = CARRYING.format(condition=condition)
        rows = self._database.rows(sql, topics, *values, limit)
        return [Match(id, float(matches)) for id, matches in rows]


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
# Tags that differ only in case have one topic, shown by the first name in use.
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
MOST_KEYS = 10_000  # in memory: the results of a hundred searches


class PostgresMemories(ListedMemories):
    READ, BROWSING, NEWEST = READ, BROWSING, NEWEST

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._database = database
        self.keys: dict[str, int] = {}  # of memories that were read lately

    def where(self, filter: Filter, *, forgotten: bool = False) -> SqlCondition:
        return where(filter, self._database, forgotten=forgotten)

    def from_row(self, row: Sequence[Any]) -> Stored:
        return from_row(row)

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        with self._database.reading() as connection:
            stored_by_id = find_stored(connection, ids)
            self._database.found().update({id: stored_by_id.get(id) for id in ids})
        self.keys = self.keys if len(self.keys) < MOST_KEYS else {}
        self.keys.update((id, stored.key) for id, stored in stored_by_id.items())
        return stored_by_id

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        later: tuple[Any, ...] = ()
        if after is not None:
            place = (TIERS.index(after.tier), -to_micros(after.updated_at), after.id)
            later = (f" AND ({BROWSING}) > (?, ?, ?)", *place)
        return self._memories(filter, BROWSING, limit, *later)

    def newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        later: tuple[Any, ...] = ()
        if after is not None:
            later = (f" AND ({NEWEST}) > (?, ?)", -to_micros(after.updated_at), after.id)
        return self._memories(filter, NEWEST, limit, *later)

    def projects(self, names: Sequence[str]) -> list[str]:
        return [name for (name,) in self._database.rows(PROJECTS, [*names])]

    def facets(self, filter: Filter, now: datetime) -> Facets:
        condition, values = where(filter, self._database)
        parts = [*(EACH.format(field=field) for field in COUNTED), TAGGED, *(AGED for _ in AGES)]
        sql = FACETS.format(condition=condition) + " UNION ALL ".join(parts)
        ages = [part for age, span in AGES.items() for part in (age, to_micros(shift(now, -span)))]
        counts: dict[str, dict[Any, Any]] = {field: {} for field in Facets._fields}
        for field, value, count in self._database.rows(sql, *values, *ages):
            counts[field][value] = count
        return Facets(**counts)

    def dates(self, filter: Filter) -> Dates:
        condition, values = where(filter, self._database)
        with self._database.reading():
            dates = {
                field: {
                    FIRST_DAY + timedelta(days=day): count
                    for day, count in self._database.rows(
                        DAYS.format(column=column, condition=condition), *values
                    )
                }
                for field, column in (("made", "created_at"), ("expiring", "valid_until"))
            }
        return Dates(**dates)


def find_stored(connection: Connection, ids: Iterable[str]) -> dict[str, Stored]:
    rows = map(from_row, connection.execute(BY_IDS, ([*ids],), binary=True))
    return {stored.memory.id: stored for stored in rows}


def from_row(row: Sequence[Any]) -> Stored:
    key, forgotten_at, tags, *fields = row
    return as_stored(key, forgotten_at, tags, fields)
