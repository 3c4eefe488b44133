"""Writing segments into the vault, and taking them out of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw
import numpy as np

from recollect.store.sqlite.segments.packing import Packed
from recollect.store.sqlite.segments.postings import DOCUMENT, Row
from recollect.store.sqlite.segments.reader import KEY, WORDS, Documents

EVERY_KEY = (1 << 63) - 1
NEW = "INSERT INTO segments (ready, last) VALUES (0, ?) RETURNING number"
ROWS = "INSERT INTO postings VALUES (?, ?, ?, ?, ?, ?, ?)"


def write(connection: apsw.Connection, packed: Packed, keys: Sequence[int]) -> int:
    """Write a segment, ready to be read, within the caller's transaction; return its number.
    `keys`: of the packed memories, ascending."""
    number = begin(connection)
    for index, (documents, lengths, rows) in packed.items():
        mine = np.asarray(keys, KEY)[np.frombuffer(documents, DOCUMENT)]
        write_documents(connection, number, WORDS[index], Documents(mine, _lengths(lengths)))
        write_rows(connection, number, WORDS[index], rows)
    make_ready(connection, number, keys[-1])
    return number


def begin(connection: apsw.Connection) -> int:
    """The number of a new segment, which is not ready. Every memory that is changed from now on is
    logged as changed for it too."""
    return int(connection.execute(NEW, (EVERY_KEY,)).get)  # type: ignore[arg-type]


def write_documents(
    connection: apsw.Connection, number: int, words: int, documents: Documents
) -> None:
    connection.execute(
        "INSERT INTO segment_documents VALUES (?, ?, ?, ?)",
        (number, words, documents.keys.tobytes(), documents.lengths.tobytes()),
    )


def write_rows(connection: apsw.Connection, number: int, words: int, rows: Iterable[Row]) -> None:
    connection.executemany(ROWS, ((number, words, *row) for row in rows))


def make_ready(connection: apsw.Connection, number: int, last: int) -> None:
    sql = "UPDATE segments SET ready = 1, last = ? WHERE number = ?"
    connection.execute(sql, (last, number))


def drop(connection: apsw.Connection) -> None:
    """Remove every segment at once, within a transaction that makes the indexes anew."""
    for table in ("postings", "segment_documents", "segments", "segment_changes"):
        connection.execute(f"DELETE FROM {table}")


def _lengths(lengths: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.frombuffer(lengths, DOCUMENT)
