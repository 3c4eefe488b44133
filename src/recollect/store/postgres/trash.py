"""What was forgotten, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from recollect.store.postgres.database import PostgresDatabase
from recollect.store.postgres.filters import where
from recollect.store.postgres.memories import READ, from_row
from recollect.store.trash import Trashed, TrashPlace, as_trashed, merged_into
from recollect.times import to_micros
from recollect.types import Filter

WRITES = """
SELECT m.id, w.action, w.reason, w.target, w.interface, w.client, w.author
  FROM memories m JOIN writes w ON w.vault = m.vault AND w.seq =
       (SELECT max(v.write) FROM versions v WHERE v.vault = vault() AND v.memory = m.key)
 WHERE m.vault = vault() AND m.id = ANY(%s) AND m.forgotten_at IS NOT NULL"""


class PostgresTrash:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def listed(self, filter: Filter, limit: int, after: TrashPlace | None = None) -> list[Trashed]:
        condition, values = where(filter, self._database, forgotten=True)
        if after is not None:
            at = to_micros(after.at)
            condition += " AND m.forgotten_at <= %s AND (m.forgotten_at < %s OR m.id > %s)"
            values += [at, at, after.id]
        sql = f"{READ} WHERE {condition} ORDER BY m.forgotten_at DESC, m.id LIMIT %s"
        with self._database.reading():
            found = [from_row(row) for row in self._database.rows(sql, *values, limit)]
            written = _written(self._database, [stored.memory.id for stored in found])
        return as_trashed(found, written)

    def merged(self, ids: Sequence[str]) -> dict[str, str]:
        return merged(self._database, ids)


def merged(database: PostgresDatabase, ids: Sequence[str]) -> dict[str, str]:
    return merged_into(ids, partial(_written, database))


def _written(database: PostgresDatabase, ids: Sequence[str]) -> dict[str, list[Any]]:
    """What was last written of each of these that is forgotten."""
    return {id: write for id, *write in database.rows(WRITES, [*ids])}
