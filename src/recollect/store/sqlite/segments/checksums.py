"""The checksum of an index of a segment, by which the doctor knows it without reading the memories.

Rows count in the order of their tokens, many at a time: SQLite puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from zlib import crc32

import apsw

from recollect.store.prepared import Row
from recollect.store.sqlite.segments.reader import PLACES, POSTINGS, STORED, Documents

AT_ONCE = 5_000  # rows that are in memory at a time: some megabytes
TOGETHER = f"""
    SELECT max(token), CAST(group_concat(token || ';', '') AS BLOB),
           CAST(group_concat(documents || ' ' || bits || ';', '') AS BLOB),
           CAST(group_concat(postings, '') AS BLOB), CAST(group_concat(places, '') AS BLOB)
      FROM (SELECT p.token, {POSTINGS} AS postings, {PLACES} AS places FROM {STORED}
             WHERE p.segment = ? AND p.words = ? AND p.token > ?
             ORDER BY p.token LIMIT {AT_ONCE})"""


class RowsChecksum:
    """The checksum of the rows so far: of tokens, numbers, postings and places."""

    def __init__(self) -> None:
        self._parts = [0, 0, 0, 0]

    def added(self, rows: Sequence[Row]) -> RowsChecksum:
        """This checksum with some more rows."""
        if rows:
            tokens, documents, bits, postings, places = zip(*rows, strict=True)
            pairs = chain.from_iterable(zip(documents, bits, strict=True))
            numbers = "%d %d;" * len(rows) % (*pairs,)
            names = ";".join((*tokens, ""))
            self.take(names.encode(), numbers.encode(), b"".join(postings), b"".join(places))
        return self

    def take(self, *parts: bytes) -> None:
        self._parts = [crc32(part, crc) for part, crc in zip(parts, self._parts, strict=True)]

    def with_documents(self, documents: Documents) -> bytes:
        """The checksum of the whole index."""
        own = crc32(documents.lengths.tobytes(), crc32(documents.keys.tobytes()))
        return b"".join(crc.to_bytes(4, "little") for crc in (*self._parts, own))


def rows_checksum(connection: apsw.Connection, place: tuple[int, int]) -> RowsChecksum:
    """The checksum of the rows that the vault holds of an index of a segment. TypeError where a row
    is not whole."""
    found = RowsChecksum()
    last: apsw.SQLiteValue = ""
    while last is not None:
        [(last, *parts)] = connection.execute(TOGETHER, (*place, last)).fetchall()
        if last is not None:
            found.take(*parts)  # type: ignore[arg-type]
    return found
