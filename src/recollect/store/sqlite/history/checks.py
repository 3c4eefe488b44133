"""Whether every version can still be read back, and removing those that cannot."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from operator import itemgetter
from typing import Any

import apsw

from recollect.store.base import Stored
from recollect.store.differences import earlier
from recollect.store.memory_rows import BadRow
from recollect.store.sqlite.history.compaction import LATEST, SIZE, Removable, remove
from recollect.store.sqlite.history.recording import BYTES, GROW
from recollect.store.sqlite.memories import READ, from_row
from recollect.store.version_rows import VERSION_BYTES, WRITE_BYTES

EVERY = "SELECT memory, write, before FROM versions WHERE before <> x'' ORDER BY memory, write DESC"
OF = "SELECT memory, write, length(before) FROM versions WHERE memory = ? AND write <= ?"
TOTAL = f"""
    SELECT (SELECT coalesce(sum(length(before) + {VERSION_BYTES}), 0) FROM versions)
         + {WRITE_BYTES} * (SELECT count(*) FROM writes WHERE action <> 'migrate')"""


def history_problem(connection: apsw.Connection) -> str | None:
    """What is wrong with the versions; None for nothing."""
    if wrong := len({version.memory for version in unreadable(connection)}):
        return f"{wrong} memories have earlier versions that are not what was written"
    counted, real = connection.execute(SIZE).get, connection.execute(TOTAL).get
    return None if counted == real else f"{counted} bytes are recorded, but there are {real}"


def unreadable(connection: apsw.Connection) -> list[Removable]:
    """The versions that cannot be read back, with all that are older: each is made from the one
    after it."""
    found: list[Removable] = []
    rows: Any = connection.execute(EVERY)
    for memory, versions in groupby(rows, itemgetter(0)):
        stored: Stored | None = None
        for _, write, before in versions:
            try:
                if stored is None:
                    row = connection.execute(f"{READ} WHERE m.key = ?", (memory,)).fetchall()
                    stored = from_row(row[0])
                stored = earlier(stored, before)
            except (apsw.CorruptError, BadRow, UnicodeDecodeError, IndexError):
                lost: Any = connection.execute(OF, (memory, write))
                found += [Removable(*row) for row in lost]
                break
    return found


def repair(connection: apsw.Connection, altered: Collection[int]) -> int:
    """Remove the versions that cannot be read back, and those of memories that were `altered`, by
    key; returns how many."""
    lost = {*unreadable(connection)}
    for memory in altered:
        rows: Any = connection.execute(OF, (memory, LATEST))
        lost |= {Removable(*row) for row in rows}
    remove(connection, [*lost])
    real = int(connection.execute(TOTAL).get)
    counted = int(connection.execute(SIZE).get)
    if real != counted:
        connection.execute(GROW, (BYTES, real - counted))
    return len(lost)
