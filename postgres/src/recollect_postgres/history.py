"""What memories were: reading it, and removing the oldest of it as far as the settings say. A
memory's newest version stays while the memory is forgotten: it says why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from recollect.store.history import Keep
from recollect.store.stored_history import StoredHistory
from recollect.store.version_rows import VERSION_BYTES, WRITE_BYTES, until_enough
from recollect.times import moved, to_micros
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.memories import PostgresMemories
from recollect_postgres.pool import Connection
from recollect_postgres.transactions import HISTORY

LATEST = (1 << 63) - 1
LATELY = 100  # writes
BEGINS = """
SELECT coalesce((SELECT history_from FROM vaults WHERE key = vault()),
                (SELECT at FROM writes WHERE vault = vault() ORDER BY seq LIMIT 1))"""
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


class PostgresHistory(StoredHistory):
    BEGINS, SIZE = BEGINS, HISTORY

    def __init__(self, database: PostgresDatabase, memories: PostgresMemories) -> None:
        super().__init__(database, memories)
        self._now = database.history_now

    def _remove(self, connection: Connection, rows: Sequence[tuple[int, ...]]) -> None:
        if rows:
            memories, writes, sizes = zip(*rows, strict=True)
            freed, last = sum(sizes) + VERSION_BYTES * len(rows), max(writes)
            connection.execute(REMOVE, ([*memories], [*writes], freed, last))
            connection.execute(EMPTY_WRITES, (last, WRITE_BYTES))

    def _removable(
        self, keep: Keep, now: datetime, most: int, *, whole: bool
    ) -> list[tuple[int, ...]]:
        size, last = self._now()
        if keep.versions is not None:
            return self._rows(MANY, 0 if whole else last - LATELY, keep.versions, most)
        if keep.size is not None and size <= keep.size:
            return []
        start = LATEST if keep.days is None else to_micros(moved(now, -timedelta(keep.days)))
        return until_enough(self._rows(OLDEST, start, most), size, keep.size)
