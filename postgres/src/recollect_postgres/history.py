"""What memories were: since when that is known, and removing versions."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.store.history import (
    VERSION_BYTES,
    WRITE_BYTES,
    RemovableVersion,
    StoredHistory,
)
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.memories import PostgresMemories
from recollect_postgres.pool import Connection
from recollect_postgres.transactions import HISTORY

BEGINS = """
SELECT coalesce((SELECT history_from FROM vaults WHERE key = vault()),
                (SELECT at FROM writes WHERE vault = vault() ORDER BY seq LIMIT 1))"""
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
    BEGINS, NOW = BEGINS, HISTORY

    def __init__(self, database: PostgresDatabase, memories: PostgresMemories) -> None:
        super().__init__(database, memories)
        self._history_now = database.history_now

    def _now(self) -> tuple[int, int]:
        return self._history_now()

    def _remove(self, connection: Connection, rows: Sequence[RemovableVersion]) -> None:
        if rows:
            memories, writes, sizes = zip(*rows, strict=True)
            freed, last = sum(sizes) + VERSION_BYTES * len(rows), max(writes)
            connection.execute(REMOVE, ([*memories], [*writes], freed, last))
            connection.execute(EMPTY_WRITES, (last, WRITE_BYTES))
