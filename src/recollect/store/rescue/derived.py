"""Rebuilding what is derived from the memories, and checking and repairing their history."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import groupby
from operator import itemgetter
from typing import Any

import apsw

from recollect.store.base import Stored
from recollect.store.differences import earlier
from recollect.store.history import LATEST, VERSION_BYTES, WRITE_BYTES, RemovableVersion
from recollect.store.memory_rows import BadRow
from recollect.store.sqlite import vector_index, vocabulary
from recollect.store.sqlite.history import BYTES, GROW, SIZE, remove
from recollect.store.sqlite.memories import READ, from_row
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.writer import write_all

SEGMENTS = ("postings", "large_postings", "segment_documents", "segments", "segment_changes")
TopicHash = Callable[[str], bytes]
WRONG_VECTORS = """
    SELECT v.seq FROM vectors v JOIN models o ON o.key = v.model JOIN memories m ON m.key = v.memory
     WHERE length(v.vector) <> 4 * o.dimensions OR m.forgotten_at IS NOT NULL"""
WAITING = """
    SELECT o.key AS model, m.key AS memory FROM models o CROSS JOIN memories m
     WHERE m.forgotten_at IS NULL AND NOT EXISTS
           (SELECT 1 FROM vectors v WHERE v.memory = m.key AND v.model = o.key)"""
EVERY = "SELECT memory, write, before FROM versions WHERE before <> x'' ORDER BY memory, write DESC"
OF = "SELECT memory, write, length(before) FROM versions WHERE memory = ? AND write <= ?"
TOTAL = f"""
    SELECT (SELECT coalesce(sum(length(before) + {VERSION_BYTES}), 0) FROM versions)
         + {WRITE_BYTES} * (SELECT count(*) FROM writes WHERE action <> 'migrate')"""


def rebuild(connection: apsw.Connection, hashed: TopicHash) -> None:
    """Within a transaction, rebuild the keyword indexes, the vocabulary, the topic hashes, the list
    of memories without a vector, and the vectors' codes. Vectors of a wrong size are removed and
    wait to be embedded."""
    _rebuild_words(connection)
    connection.execute("UPDATE corpus SET documents = (SELECT count(*) FROM indexed)")
    vocabulary.fill(connection)
    names = connection.execute("SELECT name FROM tags").fetchall()
    connection.executemany(
        "UPDATE tags SET topic = ? WHERE name = ?",
        [(hashed(str(name)), name) for (name,) in names],
    )
    connection.execute(f"DELETE FROM vectors WHERE seq IN ({WRONG_VECTORS})")
    connection.execute("DELETE FROM waiting")
    connection.execute(f"INSERT INTO waiting {WAITING}")
    vector_index.fill(connection)


def _rebuild_words(connection: apsw.Connection) -> None:
    """Rebuild the keyword indexes: in the buffer, or in segments if there are many memories."""
    buffer.clear(connection)
    for table in SEGMENTS:
        connection.execute(f"DELETE FROM {table}")
    many = connection.execute("SELECT 1 FROM indexed LIMIT 1 OFFSET ?", (buffer.FIRST - 1,)).get
    if not many:
        buffer.fill(connection)
        return
    write_all(connection)


def history_problem(connection: apsw.Connection) -> str | None:
    """Return what is wrong with the versions; None if nothing."""
    if wrong := len({memory for memory, _, _ in unreadable(connection)}):
        return f"{wrong} memories have earlier versions that are not what was written"
    counted, real = connection.execute(SIZE).get, connection.execute(TOTAL).get
    return None if counted == real else f"{counted} bytes are recorded, but there are {real}"


def unreadable(connection: apsw.Connection) -> list[RemovableVersion]:
    """Return the versions that cannot be read back, with all older ones: each is made from the one
    after it."""
    found: list[RemovableVersion] = []
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
                found += lost
                break
    return found


def repair_history(connection: apsw.Connection, altered: Collection[int]) -> int:
    """Remove the versions that cannot be read back, and those of memories that were `altered`, by
    key; return how many."""
    lost = {*unreadable(connection)}
    for memory in altered:
        rows: Any = connection.execute(OF, (memory, LATEST))
        lost |= {*rows}
    remove(connection, [*lost])
    real = int(connection.execute(TOTAL).get)
    counted = int(connection.execute(SIZE).get)
    if real != counted:
        connection.execute(GROW, (BYTES, real - counted))
    return len(lost)
