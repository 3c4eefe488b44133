"""What memories were: reading it, and removing the oldest of it as far as the settings say. A
memory's newest version stays while the memory is forgotten: it says why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from recollect.store.base import Stored
from recollect.store.history import MOST_REMOVED, Done, Keep, LoggedWrite, Version
from recollect.store.postgres.database import PostgresDatabase
from recollect.store.postgres.memories import READ, from_row
from recollect.store.postgres.transactions import HISTORY
from recollect.store.version_rows import (
    VERSION_BYTES,
    WRITE_BYTES,
    author_of,
    logged_write,
    until_enough,
    versions_of,
    wound_back,
)
from recollect.times import EPOCH, from_micros, moved, to_micros

LATEST = (1 << 63) - 1
LATELY = 100  # writes
OF = """
SELECT v.write, v.before, w.operation, w.at, w.action, w.interface, w.client, w.author,
       w.automatic, w.reason, w.target, w.undoes
  FROM versions v JOIN writes w ON w.vault = v.vault AND w.seq = v.write
 WHERE v.vault = vault() AND v.memory = %s ORDER BY v.write DESC"""
SINCE = """
SELECT memory, before FROM versions
 WHERE vault = vault() AND write > %s ORDER BY memory, write DESC"""
CHANGED_IDS = """
SELECT id FROM memories WHERE vault = vault() AND key IN
       (SELECT memory FROM versions WHERE vault = vault() AND write > %s)"""
LAST_WRITE = """
SELECT coalesce((SELECT min(seq) - 1 FROM writes WHERE vault = vault() AND at > %s),
                (SELECT max(seq) FROM writes WHERE vault = vault()), 0)"""
BEGINS = """
SELECT coalesce((SELECT history_from FROM vaults WHERE key = vault()),
                (SELECT at FROM writes WHERE vault = vault() ORDER BY seq LIMIT 1))"""
OPERATIONS = """
SELECT w.seq, w.at, w.action, w.interface, w.client, w.author, w.automatic FROM writes w
 WHERE w.vault = vault() AND w.seq = w.operation AND w.author = %s AND NOT w.automatic
   AND w.undoes IS NULL
   AND NOT EXISTS (SELECT 1 FROM writes u WHERE u.vault = vault() AND u.undoes = w.seq)
 ORDER BY w.seq DESC LIMIT %s"""
IDS = """
SELECT DISTINCT m.id FROM writes w JOIN versions v ON v.vault = w.vault AND v.write = w.seq
  JOIN memories m ON m.vault = v.vault AND m.key = v.memory
 WHERE w.vault = vault() AND w.operation = %s"""
OLDEST = """
SELECT v.memory, v.write, length(v.before)
  FROM writes w JOIN versions v ON v.vault = w.vault AND v.write = w.seq
  JOIN memories m ON m.vault = v.vault AND m.key = v.memory
 WHERE w.vault = vault() AND w.at < %s AND (m.forgotten_at IS NULL OR v.write <
           (SELECT max(write) FROM versions o WHERE o.vault = vault() AND o.memory = v.memory))
 ORDER BY w.seq LIMIT %s"""
MANY = """
SELECT memory, write, size FROM (
    SELECT memory, write, length(before) AS size,
           row_number() OVER (PARTITION BY memory ORDER BY write DESC) AS place
      FROM versions WHERE vault = vault() AND memory IN
           (SELECT memory FROM versions WHERE vault = vault() AND write > %s)) AS placed
 WHERE place > greatest(%s, 1) LIMIT %s"""
REMOVE = """
WITH gone AS (
    DELETE FROM versions v USING unnest(%s::bigint[], %s::bigint[]) AS g (memory, write)
     WHERE v.vault = vault() AND v.memory = g.memory AND v.write = g.write
)
UPDATE vaults SET history_bytes = history_bytes - %s, history_from = greatest(history_from,
       (SELECT max(at) FROM writes WHERE vault = vault() AND seq <= %s))
 WHERE key = vault()"""
EMPTY_WRITES = """
WITH gone AS (
    DELETE FROM writes w WHERE w.vault = vault() AND w.seq <= %s AND NOT EXISTS
        (SELECT 1 FROM versions v WHERE v.vault = vault() AND v.write = w.seq) RETURNING 1
)
UPDATE vaults SET history_bytes = history_bytes - %s * (SELECT count(*) FROM gone)
 WHERE key = vault()"""


LOG = """
SELECT w.seq, w.operation, w.at, w.action, w.interface, w.client, w.author, w.automatic,
       (SELECT count(*) FROM versions v WHERE v.vault = vault() AND v.write = w.seq),
       ARRAY(SELECT memory FROM versions v WHERE v.vault = vault() AND v.write = w.seq
              ORDER BY memory LIMIT 3)
  FROM writes w
 WHERE w.vault = vault() AND w.seq > %(after)s AND w.seq < %(before)s AND w.action <> 'migrate'
   AND (%(by)s = '' OR %(by)s IN (w.client, w.interface, w.author))
   AND (%(project)s = '' OR EXISTS (
           SELECT 1 FROM versions v JOIN memories m ON m.vault = v.vault AND m.key = v.memory
            WHERE v.vault = vault() AND v.write = w.seq AND m.project = %(project)s))
 ORDER BY w.seq DESC LIMIT %(limit)s"""


class PostgresHistory:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def of(self, id: str) -> list[Version]:
        with self._database.reading() as connection:
            sql = f"{READ} WHERE m.vault = vault() AND m.id = %s"
            if not (found := connection.execute(sql, (id,)).fetchall()):
                return []
            rows = connection.execute(OF, (found[0][0],)).fetchall()
            return [*versions_of(rows, from_row(found[0]), self.begins() or EPOCH)]

    def last_write(self, at: datetime) -> int:
        [(last,)] = self._database.rows(LAST_WRITE, to_micros(at))
        return int(last)

    def changed_since(self, at: datetime) -> dict[int, Stored | None]:
        with self._database.reading() as connection:
            rows = connection.execute(SINCE, (self.last_write(at),)).fetchall()
            sql = f"{READ} WHERE m.vault = vault() AND m.key = ANY(%s)"
            found = map(from_row, connection.execute(sql, ([*{key for key, _ in rows}],)))
            return wound_back(rows, {stored.key: stored for stored in found})

    def changed_ids(self, write: int) -> frozenset[str]:
        return frozenset(id for (id,) in self._database.rows(CHANGED_IDS, write))

    def log(
        self, *, after: int, before: int, limit: int, project: str, by: str
    ) -> Sequence[LoggedWrite]:
        asked = {"after": after, "before": before, "limit": limit, "project": project, "by": by}
        with self._database.reading() as connection:
            return [logged_write(row, keys) for *row, keys in connection.execute(LOG, asked)]

    def begins(self) -> datetime | None:
        [(moment,)] = self._database.rows(BEGINS)
        return None if moment is None else from_micros(moment)

    def operations(self, user: str, limit: int) -> Sequence[Done]:
        with self._database.reading():
            return [
                Done(seq, from_micros(at), action, author_of(author), self._ids(seq))
                for seq, at, action, *author in self._database.rows(OPERATIONS, user, limit)
            ]

    def _ids(self, operation: int) -> tuple[str, ...]:
        return tuple([id for (id,) in self._database.rows(IDS, operation)])

    def alone(self, operation: int) -> bool:
        return len(self._database.rows(f"{IDS} LIMIT 2", operation)) == 1

    def size(self) -> int:
        return int(self._database.rows(HISTORY)[0][0])

    def due(self, keep: Keep, now: datetime, *, whole: bool = False) -> bool:
        return bool(self._removable(keep, now, 1, whole=whole))

    def compact(
        self, keep: Keep, now: datetime, *, whole: bool = False, most: int = MOST_REMOVED
    ) -> int:
        if self._database.frozen or not self.due(keep, now, whole=whole):
            return 0
        with self._database.writing() as connection:
            rows = self._removable(keep, now, most, whole=whole)
            if rows:
                memories, writes, sizes = zip(*rows, strict=True)
                freed, last = sum(sizes) + VERSION_BYTES * len(rows), max(writes)
                connection.execute(REMOVE, ([*memories], [*writes], freed, last))
                connection.execute(EMPTY_WRITES, (last, WRITE_BYTES))
        return len(rows)

    def _removable(
        self, keep: Keep, now: datetime, most: int, *, whole: bool
    ) -> list[tuple[int, ...]]:
        """The oldest versions that need not be kept, at most so many: memory, write and size."""
        size, last = self._database.history_now()
        if keep.versions is not None:
            return self._database.rows(MANY, 0 if whole else last - LATELY, keep.versions, most)
        if keep.size is not None and size <= keep.size:
            return []
        start = LATEST if keep.days is None else to_micros(moved(now, -timedelta(keep.days)))
        return until_enough(self._database.rows(OLDEST, start, most), size, keep.size)
