"""Memories in SQLite: reading and browsing them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import apsw
import msgspec

from recollect.store.base import Dates, Facets, Stored
from recollect.store.memory_rows import FIELDS, BadRow, ListedMemories, as_stored
from recollect.store.sqlite.browsing import BROWSING, NEWEST_FIRST, ListRanges, Range
from recollect.store.sqlite.checksums import TAGS, checksum, named
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.filters import Condition, where
from recollect.store.sqlite.topics import SqliteTopics
from recollect.types import Filter, Memory, Place

READ = f"""
SELECT m.key, m.forgotten_at, m.checksum,
       {TAGS},
       {", ".join("m." + column for column in FIELDS)}
  FROM memories m"""
# The list travels as one value: any number of ids, one prepared statement. CROSS JOIN keeps the
# planner from scanning the memories and probing the list.
READ_IDS = READ.replace(
    "FROM memories m", "FROM json_each(?) j CROSS JOIN memories m ON m.id = j.value"
)
UNSCRUBBED = "unscrubbed"  # in `meta` from a purge until nothing of it is left in the file


def unscrubbed(database: Database) -> list[tuple[apsw.SQLiteValue, ...]]:
    """The note that a purge left which was not scrubbed."""
    return database.rows("SELECT key, value FROM meta WHERE key = ?", UNSCRUBBED)


class SqliteMemories(ListedMemories):
    """Reading."""

    READ, BROWSING, NEWEST = READ, BROWSING, NEWEST_FIRST

    def __init__(self, database: Database, topics: SqliteTopics) -> None:
        super().__init__(database)
        self._database = database
        self._topics = topics

    def where(self, filter: Filter, *, forgotten: bool = False) -> Condition:
        return where(filter, self._topics, forgotten=forgotten)

    def from_row(self, row: Sequence[apsw.SQLiteValue]) -> Stored:
        return from_row(row)

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        with self._database.translated():
            return find_stored(self._database.connection(), ids)

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        found: list[Memory] = []
        with self._database.reading():
            for part in ListRanges(self._database, filter, self._topics).pages(after):
                if len(found) < limit:
                    found += self._part(part, limit - len(found))
        return found

    def newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        with self._database.reading():
            parts = ListRanges(self._database, filter, self._topics).newest(after)
            found = [memory for part in parts for memory in self._part(part, limit)]
        found.sort(key=lambda memory: memory.id)
        found.sort(key=lambda memory: memory.updated_at, reverse=True)
        return found[:limit]

    def projects(self, names: Sequence[str]) -> list[str]:
        found = self._database.rows(
            "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM memories "
            "WHERE project = value AND forgotten_at IS NULL)",
            as_json_list(names),
        )
        return [str(name) for (name,) in found]

    def facets(self, filter: Filter, now: datetime) -> Facets:
        from recollect.store.sqlite.facets import facets  # noqa: PLC0415  start-up time

        with self._database.reading():
            filter = self._topics.settled(filter)
            return facets(self._database, filter, self._counting(filter), now)

    def dates(self, filter: Filter) -> Dates:
        from recollect.store.sqlite.facets import dates  # noqa: PLC0415  start-up time

        with self._database.reading():
            return dates(self._database, self._counting(filter))

    def _counting(self, filter: Filter) -> Condition:
        """The filter as SQL along the index `memories_facets`; of a space, along the space's."""
        return where(filter, self._topics, "project" if filter.space is None else "space")

    def _part(self, part: Range, limit: int) -> list[Memory]:
        condition = f"{part.sql} ORDER BY {part.order} LIMIT ?"
        return [stored.memory for stored in self._stored(condition, *part.values, limit)]


def find_stored(connection: apsw.Connection, ids: Iterable[str]) -> dict[str, Stored]:
    found = map(from_row, connection.execute(READ_IDS, (as_json_list(ids),)))
    return {stored.memory.id: stored for stored in found}


def from_row(row: Sequence[apsw.SQLiteValue]) -> Stored:
    """Return the memory in a row of READ; raise BadRow if it is not what was saved."""
    key, forgotten_at, stored, tags, *rest = row
    names = msgspec.json.decode(str(tags)) if tags != "[]" else ()
    if checksum((key, *rest, forgotten_at), names) != stored:
        raise BadRow(f"{named(key, rest[0])} is not what was saved")
    return as_stored(key, forgotten_at, names, rest)
