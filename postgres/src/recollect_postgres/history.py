"""Versions of memories: add those of a write to history, and remove old ones."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.store.base import Stored
from recollect.store.differences import MADE, difference, number_of
from recollect.store.history import (
    VERSION_BYTES,
    WRITE_BYTES,
    Change,
    RemovableVersion,
    StoredHistory,
)
from recollect.times import to_micros
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
INSERT_WRITE = "INSERT INTO writes VALUES (vault(), %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
INSERT = """
INSERT INTO versions (vault, memory, write, before)
SELECT vault(), memory, %s, before FROM unnest(%s::bigint[], %s::bytea[]) AS t (memory, before)"""
LAST = """
SELECT DISTINCT ON (memory) memory, before FROM versions
 WHERE vault = vault() AND memory = ANY(%s) ORDER BY memory, write DESC"""
PURGE = """
WITH removed AS (
    DELETE FROM versions WHERE vault = vault() AND memory = ANY(%(keys)s) RETURNING write, before
), emptied AS (
    DELETE FROM writes w WHERE w.vault = vault() AND w.seq IN (SELECT write FROM removed)
       AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.vault = vault() AND v.write = w.seq
                                                  AND v.memory <> ALL(%(keys)s))
    RETURNING 1
)
UPDATE vaults SET history_bytes = history_bytes
     - (SELECT coalesce(sum(length(before) + %(version)s), 0) FROM removed)
     - %(write)s * (SELECT count(*) FROM emptied)
 WHERE key = vault()"""
NO_TARGET = "UPDATE writes SET target = '' WHERE vault = vault() AND target = ANY(%s)"


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


class VersionsRecord:
    """Collects the memories that a write has created and changed, with their former versions."""

    def __init__(self, connection: Connection, change: Change, last_write: int) -> None:
        self._connection = connection
        self._change = change
        self._last_write = last_write
        self._changed: dict[int, tuple[Stored | None, Stored]] = {}
        self.write: int | None = None

    def note_change(self, key: int, before: Stored | None, after: Stored | None) -> None:
        """Note a change; `before` is None for a new memory. A purged one, whose `after` is None,
        has no history."""
        first, _ = self._changed.pop(key, (before, None))
        if after is not None:
            self._changed[key] = first, after

    def purge(self, keys: Sequence[int], ids: Sequence[str]) -> None:
        """Remove the versions of memories, the writes that changed nothing else, and the ids of
        these memories as targets."""
        sizes = {"version": VERSION_BYTES, "write": WRITE_BYTES}
        self._connection.execute(PURGE, {"keys": keys, **sizes})
        self._connection.execute(NO_TARGET, (ids,))

    def apply(self) -> int:
        """Write the versions if anything was changed; return their size in bytes."""
        rows = {key: MADE for key, (before, _) in sorted(self._changed.items()) if before is None}
        changed = sorted(key for key in self._changed if key not in rows)
        last = dict[int, bytes](self._connection.execute(LAST, (changed,)) if changed else ())
        for key in changed:
            before, after = self._changed[key]
            assert before is not None
            if made := difference(before, after, number_of(last.get(key, MADE)) + 1):
                rows[key] = made
        if not rows:
            return 0
        action, author, clock, reason, target, operation, undoes = self._change
        self.write = seq = self._last_write + 1
        first = operation.number if operation and operation.number is not None else seq
        self._connection.execute(
            INSERT_WRITE,
            (seq, first, to_micros(clock()), action, *author, reason, target, undoes),
        )
        self._connection.execute(INSERT, (seq, [*rows], [*rows.values()]))
        return WRITE_BYTES + sum(VERSION_BYTES + len(before) for before in rows.values())
