"""Memories in SQLite: reading and browsing them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import apsw
import msgspec

from recollect.store.base import Dates, Facets, MemoryStamp, MomentField, Stored
from recollect.store.memory_rows import FIELDS, as_stored
from recollect.store.sqlite.browsing import BROWSING, ListRanges, narrowest
from recollect.store.sqlite.checksums import TAGS
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.filters import where
from recollect.store.sqlite.topics import SqliteTopics
from recollect.times import to_micros
from recollect.types import Filter, Memory, Place

READ = f"""
SELECT m.key, m.forgotten_at,
       {TAGS},
       {", ".join("m." + column for column in FIELDS)}
  FROM memories m"""
# The list travels as one value: any number of ids, one prepared statement. CROSS JOIN keeps the
# planner from scanning the memories and probing the list.
READ_IDS = READ.replace(
    "FROM memories m", "FROM json_each(?) j CROSS JOIN memories m ON m.id = j.value"
)
READ_UNTAGGED = READ.replace(TAGS, "'[]'")
UNSCRUBBED = "unscrubbed"  # in `meta` from a purge until nothing of it is left in the file
# From one kind to the next in the index: there are few, however many memories there are.
KINDS = """
    WITH RECURSIVE used (kind) AS (
        SELECT min(kind) FROM memories WHERE forgotten_at IS NULL
         UNION ALL
        SELECT (SELECT min(kind) FROM memories WHERE forgotten_at IS NULL AND kind > used.kind)
          FROM used WHERE kind IS NOT NULL
    )
    SELECT kind FROM used WHERE kind IS NOT NULL LIMIT 100
"""


def unscrubbed(database: Database) -> list[tuple[apsw.SQLiteValue, ...]]:
    """The note that a purge left which was not scrubbed."""
    return database.rows("SELECT key, value FROM meta WHERE key = ?", UNSCRUBBED)


class SqliteMemories:
    """Reading."""

    def __init__(self, database: Database, topics: SqliteTopics) -> None:
        self._database = database
        self._topics = topics

    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        found = self.find(ids).values()
        return {memory.id: memory for _, memory, forgotten_at in found if forgotten_at is None}

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        with self._database.translated():
            return find_stored(self._database.connection(), ids)

    def keyed(self, keys: Collection[int]) -> dict[int, Stored]:
        sql = f"{READ} WHERE m.key IN (SELECT value FROM json_each(?))"
        found = map(from_row, self._database.rows(sql, as_json_list(keys)))
        return {stored.key: stored for stored in found}

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        rows = self._database.rows(
            "SELECT id, content_hash, updated_at FROM memories "
            "WHERE forgotten_at IS NULL AND id IN (SELECT value FROM json_each(?))",
            as_json_list(ids),
        )
        return {str(id): MemoryStamp(bytes(hash), int(at)) for id, hash, at in rows}  # type: ignore[arg-type]

    def ids(self, *, forgotten: bool = False) -> list[str]:
        condition = "" if forgotten else "WHERE m.forgotten_at IS NULL"
        order = f"m.forgotten_at IS NOT NULL, {BROWSING}"
        sql = f"SELECT m.id FROM memories m {condition} ORDER BY {order}"
        return [str(id) for (id,) in self._database.rows(sql)]

    def beginning(self, start: str, limit: int, *, forgotten: bool = False) -> list[str]:
        sql = f"""SELECT id FROM memories WHERE id >= ?1 AND id < ?1 || char(0x10ffff)
               AND forgotten_at IS {"NOT " if forgotten else ""}NULL ORDER BY id LIMIT ?2"""
        return [str(id) for (id,) in self._database.rows(sql, start, limit)]

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        found: list[Memory] = []
        with self._database.reading():
            for part in ListRanges(self._database, filter, self._topics).pages(after):
                if len(found) < limit:
                    found += self._listed(*part, limit - len(found))
        return found

    def newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        with self._database.reading():
            parts = ListRanges(self._database, filter, self._topics).newest(after)
            found = [memory for part in parts for memory in self._listed(*part, limit)]
        found.sort(key=lambda memory: memory.id)
        found.sort(key=lambda memory: memory.updated_at, reverse=True)
        return found[:limit]

    def made(self, filter: Filter, limit: int, *, oldest: bool = False) -> list[Memory]:
        condition, values = where(filter, self._topics)
        order = "m.created_at, m.id" if oldest else "m.created_at DESC, m.id"
        return self._listed(condition, values, order, limit)

    def around(
        self, filter: Filter, at: datetime, limit: int, *, field: MomentField, later: bool
    ) -> list[Memory]:
        condition, values = where(filter, self._topics)
        condition += f" AND m.{field} {'>' if later else '<='} ?"
        condition += " AND m.updated_at > m.created_at" if field == "updated_at" else ""
        order = f"m.{field} {'' if later else 'DESC'}, m.id"
        return self._listed(condition, [*values, to_micros(at)], order, limit)

    def replaced(self, ids: Sequence[str]) -> list[Memory]:
        condition = "m.forgotten_at IS NULL AND m.superseded_by <> '' "
        condition += "AND m.superseded_by IN (SELECT value FROM json_each(?))"
        order = "m.updated_at DESC, m.id"
        return self._listed(condition, [as_json_list(ids)], order, -1)

    def kinds(self) -> list[str]:
        return [str(kind) for (kind,) in self._database.rows(KINDS)]

    def projects(self, names: Sequence[str]) -> list[str]:
        found = self._database.rows(
            "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM memories "
            "WHERE project = value AND forgotten_at IS NULL)",
            as_json_list(names),
        )
        return [str(name) for (name,) in found]

    def expiring(
        self, filter: Filter, limit: int, *, until: datetime, since: datetime | None = None
    ) -> list[Memory]:
        condition, values = where(filter, self._topics)
        condition += " AND m.valid_until <= ?"
        values.append(to_micros(until))
        if since is None:
            return self._listed(condition, values, "m.valid_until DESC, m.id", limit)
        condition += " AND m.valid_until > ?"
        values.append(to_micros(since))
        return self._listed(condition, values, "m.valid_until, m.id", limit)

    def facets(self, filter: Filter, most: int, now: datetime) -> Facets:
        from recollect.store.sqlite.counts import scope_of  # noqa: PLC0415  start-up time
        from recollect.store.sqlite.facets import facets  # noqa: PLC0415  as above

        filter = self._topics.settled(filter)
        condition = where(filter, self._topics, narrowest(self._database, filter))
        return facets(self._database, scope_of(filter), condition, most, now)

    def dates(self, filter: Filter) -> Dates:
        from recollect.store.sqlite.counts import scope_of  # noqa: PLC0415  start-up time
        from recollect.store.sqlite.facets import dates  # noqa: PLC0415  as above

        filter = self._topics.settled(filter)
        condition = where(filter, self._topics, narrowest(self._database, filter))
        return dates(self._database, scope_of(filter), condition)

    def _listed(
        self, condition: str, values: list[apsw.SQLiteValue], order: str, limit: int
    ) -> list[Memory]:
        sql = f"{READ} WHERE {condition} ORDER BY {order} LIMIT ?"
        rows = self._database.rows(sql, *values, limit)
        with self._database.translated():
            return [from_row(row).memory for row in rows]


def find_stored(connection: apsw.Connection, ids: Iterable[str]) -> dict[str, Stored]:
    found = map(from_row, connection.execute(READ_IDS, (as_json_list(ids),)))
    return {stored.memory.id: stored for stored in found}


def from_row(row: Sequence[apsw.SQLiteValue]) -> Stored:
    key, forgotten_at, tags, *rest = row
    names = msgspec.json.decode(str(tags)) if tags != "[]" else ()
    return as_stored(key, forgotten_at, names, rest)
