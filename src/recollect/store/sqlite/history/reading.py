"""Reading what memories were."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from recollect.store.base import Stored
from recollect.store.history import MOST_REMOVED, Done, Keep, LoggedWrite, Version
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.history import compaction
from recollect.store.sqlite.history.recording import BYTES
from recollect.store.sqlite.memories import READ, from_row
from recollect.store.sqlite.schema import CHANGED
from recollect.store.version_rows import author_of, logged_write, versions_of, wound_back
from recollect.times import EPOCH, from_micros, to_micros

CHANGED_IDS = f"SELECT id FROM memories WHERE key IN ({CHANGED})"
OF = """
    SELECT v.write, v.before, w.operation, w.at, w.action, w.interface, w.client, w.user,
           w.automatic, w.reason, w.target, w.undoes
      FROM versions v JOIN writes w ON w.seq = v.write
     WHERE v.memory = ? ORDER BY v.write DESC"""
SINCE = "SELECT memory, before FROM versions WHERE write > ? ORDER BY memory, write DESC"
FIRST_LATER = "SELECT min(seq) FROM writes INDEXED BY writes_at WHERE at > ?"
BEGINS = """
    SELECT coalesce((SELECT value FROM meta WHERE key = ?),
                    (SELECT at FROM writes ORDER BY seq LIMIT 1))"""
OPERATIONS = """
    SELECT w.seq, w.at, w.action, w.interface, w.client, w.user, w.automatic
      FROM writes w
     WHERE w.seq = w.operation AND w.user = ? AND w.automatic = 0 AND w.undoes IS NULL
       AND w.action <> 'migrate'
       AND NOT EXISTS (SELECT 1 FROM writes u WHERE u.undoes = w.seq)
     ORDER BY w.seq DESC LIMIT ?"""
IDS = """
    SELECT DISTINCT m.id FROM writes w JOIN versions v ON v.write = w.seq
      JOIN memories m ON m.key = v.memory
     WHERE w.seq >= ?1 AND w.operation = ?1"""


LOG = """
    SELECT w.seq, w.operation, w.at, w.action, w.interface, w.client, w.user, w.automatic,
           (SELECT count(*) FROM versions v WHERE v.write = w.seq),
           (SELECT json_group_array(memory) FROM
               (SELECT memory FROM versions WHERE write = w.seq LIMIT 3))
      FROM writes w
     WHERE w.seq > ?1 AND w.seq < ?2 AND w.action <> 'migrate'
       AND (?3 = '' OR ?3 IN (w.client, w.interface, w.user))
       AND (?4 = '' OR EXISTS (SELECT 1 FROM versions v JOIN memories m ON m.key = v.memory
                                WHERE v.write = w.seq AND m.project = ?4))
     ORDER BY w.seq DESC LIMIT ?5"""


class SqliteHistory:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, id: str) -> list[Version]:
        with self._database.reading() as connection:
            found = connection.execute(f"{READ} WHERE m.id = ?", (id,)).fetchall()
            if not found:
                return []
            rows: list[Any] = connection.execute(OF, (found[0][0],)).fetchall()
            return [*versions_of(rows, from_row(found[0]), self.begins() or EPOCH)]

    def last_write(self, at: datetime) -> int:
        [(later,)] = self._database.rows(FIRST_LATER, to_micros(at))
        if later is not None:
            return int(later) - 1
        [(last,)] = self._database.rows("SELECT coalesce(max(seq), 0) FROM writes")
        return int(last)  # type: ignore[arg-type]

    def changed_since(self, at: datetime) -> dict[int, Stored | None]:
        with self._database.reading() as connection:
            rows: list[Any] = connection.execute(SINCE, (self.last_write(at),)).fetchall()
            keys = as_json_list({key for key, _ in rows})
            sql = f"{READ} WHERE m.key IN (SELECT value FROM json_each(?))"
            found = map(from_row, connection.execute(sql, (keys,)))
            return wound_back(rows, {stored.key: stored for stored in found})

    def changed_ids(self, write: int) -> frozenset[str]:
        return frozenset(str(id) for (id,) in self._database.rows(CHANGED_IDS, write))

    def log(
        self, *, after: int, before: int, limit: int, project: str, by: str
    ) -> Sequence[LoggedWrite]:
        rows: list[Any] = self._database.rows(LOG, after, before, by, project, limit)
        return [logged_write(row, msgspec.json.decode(keys)) for *row, keys in rows]

    def begins(self) -> datetime | None:
        [(moment,)] = self._database.rows(BEGINS, compaction.FROM)
        return None if moment is None else from_micros(int(moment))

    def operations(self, user: str, limit: int) -> Sequence[Done]:
        with self._database.reading() as connection:
            rows: list[Any] = connection.execute(OPERATIONS, (user, limit)).fetchall()
            return [
                Done(
                    seq, from_micros(at), action, author_of(author),
                    tuple([str(id) for (id,) in connection.execute(IDS, (seq,))]),
                )
                for seq, at, action, *author in rows
            ]  # fmt: skip

    def alone(self, operation: int) -> bool:
        return len(self._database.rows(f"{IDS} LIMIT 2", operation)) == 1

    def size(self) -> int:
        rows = self._database.rows("SELECT value FROM meta WHERE key = ?", BYTES)
        return int(rows[0][0]) if rows else 0  # type: ignore[arg-type]

    def due(self, keep: Keep, now: datetime, *, whole: bool = False) -> bool:
        with self._database.reading() as connection:
            return bool(compaction.removable(connection, keep, now, 1, whole=whole))

    def compact(
        self, keep: Keep, now: datetime, *, whole: bool = False, most: int = MOST_REMOVED
    ) -> int:
        if self._database.frozen or not self.due(keep, now, whole=whole):
            return 0
        with self._database.writing() as connection:
            rows = compaction.removable(connection, keep, now, most, whole=whole)
            compaction.remove(connection, rows)
        return len(rows)
