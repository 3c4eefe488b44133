"""Reading segments from the tables, and keeping their documents in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw
import numpy as np

from recollect.index.postings import DOCUMENT
from recollect.index.segments import Documents, Segment, SegmentCache, SegmentedIndex
from recollect.store.base import KeywordIndexName

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
        # What a write has not committed may be undone, and its numbers come again.
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
