"""What was forgotten, in SQLite: along the index of the times at which it was."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.filters import where
from recollect.store.sqlite.memories import READ, from_row
from recollect.store.sqlite.topics import SqliteTopics
from recollect.store.trash import Trashed, TrashPlace, as_trashed, merged_into
from recollect.times import to_micros
from recollect.types import Filter

WRITES = """
    SELECT m.id, w.action, w.reason, w.target, w.interface, w.client, w.user
      FROM json_each(?) j JOIN memories m ON m.id = j.value
      JOIN writes w ON w.seq = (SELECT max(v.write) FROM versions v WHERE v.memory = m.key)
     WHERE m.forgotten_at IS NOT NULL"""


class SqliteTrash:
    def __init__(self, database: Database, topics: SqliteTopics) -> None:
        self._database = database
        self._topics = topics

    def listed(self, filter: Filter, limit: int, after: TrashPlace | None = None) -> list[Trashed]:
        condition, values = where(filter, self._topics, forgotten=True)
        if after is not None:
            at = to_micros(after.at)
            condition += " AND (m.forgotten_at < ? OR (m.forgotten_at = ? AND m.id > ?))"
            values += [at, at, after.id]
        sql = f"{READ} WHERE {condition} ORDER BY m.forgotten_at DESC, m.id LIMIT ?"
        with self._database.reading():
            found = [from_row(row) for row in self._database.rows(sql, *values, limit)]
            written = _written(self._database, [stored.memory.id for stored in found])
        return as_trashed(found, written)

    def merged(self, ids: Sequence[str]) -> dict[str, str]:
        return merged(self._database, ids)


def merged(database: Database, ids: Sequence[str]) -> dict[str, str]:
    return merged_into(ids, partial(_written, database))


def _written(database: Database, ids: Sequence[str]) -> dict[str, list[Any]]:
    """What was last written of each of these that is forgotten."""
    return {str(id): list(write) for id, *write in database.rows(WRITES, as_json_list(ids))}
