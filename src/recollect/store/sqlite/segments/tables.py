"""Segments in the vault's tables: writing, reading and removing them.

Each index of a segment has a checksum, so the doctor can check it without reading the memories.
Rows count in the order of their tokens, many at a time: SQLite puts them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, compress
from operator import not_
from typing import NamedTuple
from zlib import crc32

import apsw
import numpy as np

from recollect.index import Row
from recollect.index.postings import DOCUMENT
from recollect.index.segments import Documents, Segment, SegmentCache, SegmentedIndex
from recollect.store.base import KeywordIndexName
from recollect.store.memory_rows import Packed, PackedIndex
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.packing import FIELDS, pack

# The column `words`.
WORDS: Mapping[KeywordIndexName, int] = {"stemmed": 0, "plain": 1, "subwords": 2, "details": 3}
KEY = np.dtype("<i8")
STORED = "postings p LEFT JOIN large_postings l ON l.key = p.large"
POSTINGS = "p.documents, p.bits, coalesce(p.postings, l.postings)"
PLACES = "coalesce(p.places, l.places)"
DOCUMENTS = "SELECT keys, lengths FROM segment_documents WHERE segment = ? AND words = ?"
STATE = """
    SELECT number, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'segment_changes'), 0)
      FROM segments WHERE ready ORDER BY number"""
CHANGES = "SELECT memory, segment FROM segment_changes WHERE seq > ?"
ROWS_AT_ONCE = 5_000  # rows in memory at a time: some megabytes
TOGETHER = f"""
    SELECT max(token), CAST(group_concat(token || ';', '') AS BLOB),
           CAST(group_concat(documents || ' ' || bits || ';', '') AS BLOB),
           CAST(group_concat(postings, '') AS BLOB), CAST(group_concat(places, '') AS BLOB)
      FROM (SELECT p.token, {POSTINGS} AS postings, {PLACES} AS places FROM {STORED}
             WHERE p.segment = ? AND p.words = ? AND p.token > ?
             ORDER BY p.token LIMIT {ROWS_AT_ONCE})"""
EVERY_KEY = (1 << 63) - 1
AT_ONCE = 16_384  # memories that become a segment together: about 50 MB while they are packed
NEW = "INSERT INTO segments (ready, last) VALUES (0, ?) RETURNING number"
TEXTS = f"SELECT key, {', '.join(FIELDS)} FROM indexed WHERE {buffer.AMONG} ORDER BY key"
MOST_INSIDE = 200  # bytes of postings and places that are stored with their token


class RowsChecksum:
    """The running checksum of rows: of tokens, numbers, postings and places."""

    def __init__(self) -> None:
        self._parts = [0, 0, 0, 0]

    def add(self, rows: Sequence[Row]) -> RowsChecksum:
        """Add rows to this checksum, and return it."""
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
        own = crc32(documents.lengths.tobytes(), crc32(documents.keys.tobytes()))
        return b"".join(crc.to_bytes(4, "little") for crc in (*self._parts, own))


def rows_checksum(connection: apsw.Connection, place: tuple[int, int]) -> RowsChecksum:
    """Return the checksum of an index's stored rows; raise TypeError if one is incomplete."""
    found = RowsChecksum()
    last: apsw.SQLiteValue = ""
    while last is not None:
        [(last, *parts)] = connection.execute(TOGETHER, (*place, last)).fetchall()
        if last is not None:
            found.take(*parts)  # type: ignore[arg-type]
    return found


class StagedSegment(NamedTuple):
    """A segment that is not ready, with all rows of `packed`."""

    number: int
    packed: Packed
    checksums: Mapping[KeywordIndexName, RowsChecksum]


def write(
    connection: apsw.Connection,
    packed: Packed,
    keys: Sequence[int],
    staged: StagedSegment | None = None,
) -> None:
    """Write a segment, ready to be read, within the caller's transaction. `keys`: of the packed
    memories, ascending. `staged` is used if it has these memories and still exists."""
    if not (staged and staged.packed is packed and is_segment(connection, staged.number)):
        staged = StagedSegment(begin(connection), packed, {})
        for index, content in packed.items():
            write_rows(connection, staged.number, WORDS[index], content.rows)
    for index, content in packed.items():
        rows = staged.checksums.get(index) or RowsChecksum().add(content.rows)
        write_documents(connection, staged.number, WORDS[index], documents_of(content, keys), rows)
    make_ready(connection, staged.number, keys[-1])


def documents_of(packed: PackedIndex, keys: Sequence[int]) -> Documents:
    """Return the documents of a packed index, given the keys of the packed memories."""
    places = np.frombuffer(packed.documents, DOCUMENT)
    return Documents(np.array(keys, KEY)[places], np.frombuffer(packed.lengths, DOCUMENT))


def begin(connection: apsw.Connection) -> int:
    """Return the number of a new segment, which is not ready. Every later change of a memory is
    logged as a change for this segment too."""
    return int(connection.execute(NEW, (EVERY_KEY,)).get)


def write_documents(
    connection: apsw.Connection,
    number: int,
    words: int,
    documents: Documents,
    checksum: RowsChecksum,
) -> None:
    """Write the documents of an index; `checksum`: of its rows."""
    keys, lengths = documents.keys.tobytes(), documents.lengths.tobytes()
    connection.execute(
        "INSERT OR REPLACE INTO segment_documents VALUES (?, ?, ?, ?, ?)",
        (number, words, keys, lengths, checksum.with_documents(documents)),
    )


def write_rows(connection: apsw.Connection, number: int, words: int, rows: Sequence[Row]) -> None:
    key = int(connection.execute("SELECT coalesce(max(key), 0) FROM large_postings").get)
    insert = (
        f"INSERT INTO postings VALUES ({number}, {words}"  # so that rows are inserted unchanged
    )
    is_large = [len(row[3]) + len(row[4]) > MOST_INSIDE for row in rows]
    large = [*enumerate(compress(rows, is_large), start=key + 1)]
    connection.executemany(
        "INSERT INTO large_postings VALUES (?, ?, ?)", [(at, *row[3:]) for at, row in large]
    )
    connection.executemany(
        f"{insert}, ?, ?, ?, NULL, NULL, ?)", [(*row[:3], at) for at, row in large]
    )
    small = compress(rows, map(not_, is_large))
    connection.executemany(f"{insert}, ?, ?, ?, ?, ?, NULL)", small)


def remove_rows(connection: apsw.Connection, number: int, words: int, most: int) -> int:
    """Remove rows of an index of a segment; return how many there were."""
    sql = "SELECT token, large FROM postings WHERE segment = ? AND words = ? LIMIT ?"
    found = connection.execute(sql, (number, words, most)).fetchall()
    remove_tokens(connection, number, words, found)
    return len(found)


def remove_tokens(
    connection: apsw.Connection,
    number: int,
    words: int,
    tokens: Sequence[tuple[apsw.SQLiteValue, ...]],
) -> None:
    """Remove the rows of these tokens, each given with its key among the large ones."""
    large = [(key,) for _, key in tokens if key is not None]
    connection.executemany("DELETE FROM large_postings WHERE key = ?", large)
    sql = "DELETE FROM postings WHERE segment = ? AND words = ? AND token = ?"
    connection.executemany(sql, [(number, words, token) for token, _ in tokens])


def make_ready(connection: apsw.Connection, number: int, last: int) -> None:
    sql = "UPDATE segments SET ready = 1, last = ? WHERE number = ?"
    connection.execute(sql, (last, number))


def is_segment(connection: apsw.Connection, number: int, *, ready: bool = False) -> bool:
    """Return True if this segment exists and is ready, or not ready."""
    sql = "SELECT 1 FROM segments WHERE number = ? AND ready = ?"
    return bool(connection.execute(sql, (number, ready)).get)


def remove_segment(connection: apsw.Connection, number: int) -> None:
    """Remove a segment, which may take long if it still has its rows."""
    for words in WORDS.values():
        remove_rows(connection, number, words, -1)
    connection.execute("DELETE FROM segment_documents WHERE segment = ?", (number,))
    connection.execute("DELETE FROM segments WHERE number = ?", (number,))


def write_all(connection: apsw.Connection) -> None:
    """Make segments of all live memories, within a transaction; no other segments exist."""
    keys = [int(key) for (key,) in connection.execute("SELECT key FROM indexed ORDER BY key")]
    for start in range(0, len(keys), AT_ONCE):
        some = keys[start : start + AT_ONCE]
        texts = connection.execute(TEXTS, (as_json_list(some),)).fetchall()
        write(connection, pack([row[1:] for row in texts]), some)  # type: ignore[misc]


class Segments:
    """The segments of a vault. Segments in memory are known by their numbers, which are never used
    again; all threads share them, and they are never changed, only replaced."""

    def __init__(self) -> None:
        self._cache = SegmentCache()

    def current(
        self, connection: apsw.Connection, index: KeywordIndexName
    ) -> SegmentedIndex | None:
        """Return the segments of an index, or None. Call it, and search, within one transaction."""
        state = connection.execute(STATE).fetchall()
        if not state:
            return None
        # An uncommitted write may be undone, and its numbers used again.
        writing = connection.txn_state() == apsw.SQLITE_TXN_WRITE
        cache = SegmentCache() if writing else self._cache
        numbers = tuple(int(number) for number, _ in state)  # type: ignore[arg-type]
        stored = StoredSegments(connection)
        changes = cache.changes(stored, numbers, int(state[0][1]))  # type: ignore[arg-type]
        return cache.index(stored, WORDS[index], changes)

    def each(self, connection: apsw.Connection, index: KeywordIndexName) -> Sequence[Segment]:
        """Return the segments of an index separately; like `current`."""
        found = self.current(connection, index)
        return () if found is None else found.each()


class StoredSegments:
    """The segments of a vault in SQLite, within a transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._execute = connection.execute

    def changes(self, after: int) -> Sequence[tuple[int, int]]:
        return self._execute(CHANGES, (after,)).fetchall()  # type: ignore[return-value]

    def documents(self, number: int, words: int) -> Documents:
        row = self._execute(DOCUMENTS, (number, words)).fetchone()
        if row is None or len(row[0]) != 2 * len(row[1]):
            raise apsw.CorruptError(f"segment {number} cannot be read")
        keys, lengths = row
        return Documents(np.frombuffer(keys, KEY), np.frombuffer(lengths, DOCUMENT))
