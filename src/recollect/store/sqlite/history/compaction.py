"""Removing the oldest versions, as far as the settings say. A memory's newest version stays while
the memory is forgotten: it says why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import apsw

from recollect.store.history import Keep
from recollect.store.sqlite.history.recording import BYTES, GROW
from recollect.store.version_rows import VERSION_BYTES, WRITE_BYTES, until_enough
from recollect.times import moved, to_micros

FROM = "history_from"  # in `meta`: nothing before this time is known
LATELY = 100  # writes
SIZE = f"SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = '{BYTES}'), 0)"
OLDEST = """
    SELECT v.memory, v.write, length(v.before)
      FROM writes w CROSS JOIN versions v ON v.write = w.seq
      CROSS JOIN memories m ON m.key = v.memory
     WHERE w.at < ? AND (m.forgotten_at IS NULL OR v.write <
               (SELECT max(write) FROM versions WHERE memory = v.memory))
     ORDER BY w.seq LIMIT ?"""
MANY = """
    SELECT memory, write, size FROM (
        SELECT memory, write, length(before) AS size,
               row_number() OVER (PARTITION BY memory ORDER BY write DESC) AS place
          FROM versions WHERE memory IN (SELECT memory FROM versions WHERE write > ?))
     WHERE place > max(?, 1) LIMIT ?"""
LAST = "SELECT coalesce(max(seq), 0) FROM writes"
LATEST = (1 << 63) - 1


class Removable(NamedTuple):
    """A version that need not be kept."""

    memory: int
    write: int
    size: int


def removable(
    connection: apsw.Connection, keep: Keep, now: datetime, most: int, *, whole: bool
) -> Sequence[Removable]:
    """The oldest versions that need not be kept, at most so many."""
    rows: Any
    if keep.versions is not None:
        since = 0 if whole else int(connection.execute(LAST).get) - LATELY
        rows = connection.execute(MANY, (since, keep.versions, most))
        return [Removable(*row) for row in rows]
    size = int(connection.execute(SIZE).get)
    if keep.size is not None and size <= keep.size:
        return []
    start = LATEST if keep.days is None else to_micros(moved(now, -timedelta(days=keep.days)))
    rows = connection.execute(OLDEST, (start, most))
    return until_enough((Removable(*row) for row in rows), size, keep.size)


def remove(connection: apsw.Connection, versions: Sequence[Removable]) -> None:
    """Remove these, and the writes that nothing is left of. From the last of them on it is known
    what memories were."""
    if not versions:
        return
    connection.executemany(
        "DELETE FROM versions WHERE memory = ? AND write = ?",
        [(version.memory, version.write) for version in versions],
    )
    last = max(version.write for version in versions)
    connection.execute(
        "INSERT INTO meta SELECT ?, max(at) FROM writes WHERE seq <= ? ON CONFLICT DO UPDATE "
        "SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))",
        (FROM, last),
    )
    connection.execute(
        "DELETE FROM writes WHERE seq <= ? AND action <> 'migrate' "
        "AND NOT EXISTS (SELECT 1 FROM versions WHERE write = seq)",
        (last,),
    )
    freed = WRITE_BYTES * connection.changes()
    freed += sum(VERSION_BYTES + version.size for version in versions)
    connection.execute(GROW, (BYTES, -freed))
