"""Segments as a search reads them: what is in memory of each, and its postings in the vault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.base import KeywordIndexName
from recollect.store.sqlite.connection import LAST
from recollect.store.sqlite.segments.postings import (
    DOCUMENT,
    Places,
    Postings,
    read_cells,
    read_places,
    read_postings,
)

# The column `words`.
WORDS: Mapping[KeywordIndexName, int] = {"stemmed": 0, "plain": 1, "subwords": 2, "details": 3}
KEY = np.dtype("<i8")
STORED = "postings p LEFT JOIN large_postings l ON l.key = p.large"
POSTINGS = "p.documents, p.bits, coalesce(p.postings, l.postings)"
PLACES = "coalesce(p.places, l.places)"
ROW = f"FROM {STORED} WHERE p.segment = ? AND p.words = ? AND p.token = ?"
BEGINNING = """
    SELECT token, documents FROM postings
     WHERE segment = ? AND words = ? AND token >= ? AND token < ? ORDER BY token"""
CELLS = f"""
    SELECT {POSTINGS} FROM {STORED}
     WHERE p.segment = ? AND p.words = ? AND p.token >= ? AND p.token < ?"""
DOCUMENTS = "SELECT keys, lengths FROM segment_documents WHERE segment = ? AND words = ?"
STATE = """
    SELECT number, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'segment_changes'), 0)
      FROM segments WHERE ready ORDER BY number"""
CHANGES = "SELECT memory, segment FROM segment_changes WHERE seq > ?"

Keys = NDArray[np.int64]
Read = TypeVar("Read", Postings, Places)


class Vault(Protocol):
    """What segments are read from."""

    def connection(self) -> apsw.Connection: ...

    def reading(self) -> AbstractContextManager[apsw.Connection]:
        """A block that reads one moment."""


class Documents(NamedTuple):
    """The documents of one index of one segment."""

    keys: Keys  # ascending
    lengths: NDArray[np.uint32]


class Live(NamedTuple):
    """What counts of an index of a segment, by the changes up to `seq`."""

    seq: int
    mask: NDArray[np.bool_] | None
    rows: int
    tokens: int


class Changes(NamedTuple):
    """The log up to `seq`: the keys of memories, and up to which segment each was changed."""

    numbers: tuple[int, ...]  # of the segments that there were
    seq: int
    memories: Keys
    segments: Keys


class Segment:
    """One index of one segment, as of one moment. `live`: which documents count, None for all."""

    def __init__(
        self, connection: apsw.Connection, number: int, words: int, documents: Documents, live: Live
    ) -> None:
        self._connection = connection
        self.place = number, words
        self.number = number
        self.keys, self.lengths = documents
        _, self.live, self.rows, self.tokens = live

    def documents(self, token: str) -> int:
        """How many live documents hold the token."""
        if self.live is not None:
            found = self.postings(token)
            return 0 if found is None else int(self.live[found.documents].sum())
        row = self._connection.execute(f"SELECT p.documents {ROW}", (*self.place, token))
        return int(row.get or 0)

    def postings(self, token: str) -> Postings | None:
        """The token's documents, the dead included, and its frequencies."""
        sql = f"SELECT {POSTINGS} {ROW}"
        row = self._connection.execute(sql, (*self.place, token)).fetchone()
        return None if row is None else self._checked(read_postings, *row)

    def places(self, token: str) -> Places | None:
        """Every occurrence of the token, those in dead documents included."""
        sql = f"SELECT {POSTINGS}, {PLACES} {ROW}"
        row = self._connection.execute(sql, (*self.place, token)).fetchone()
        return None if row is None else self._checked(read_places, *row)

    def cells(self, start: str) -> Places | None:
        """The documents and columns in which tokens stand that begin so, and how often: once for
        each token, in no order, the dead included."""
        rows = self._connection.execute(CELLS, (*self.place, start, start + LAST)).fetchall()
        return self._checked(read_cells, rows) if rows else None

    def beginning(self, start: str) -> list[str]:
        """The tokens of its live documents that begin so, by alphabet."""
        dead = len(self.keys) - self.rows
        rows = self._connection.execute(BEGINNING, (*self.place, start, start + LAST)).fetchall()
        # What stands in more documents than are dead stands in a live one.
        return [
            str(token)
            for token, documents in rows
            if int(documents) > dead or self.documents(str(token))  # type: ignore[arg-type]
        ]

    def _checked(self, read: Callable[..., Read], *row: object) -> Read:
        """What was read, unless the row is damaged."""
        try:
            found = read(*row)
            inside = int(found.documents.max()) < len(self.keys)
        except (ValueError, TypeError, KeyError) as error:
            raise apsw.CorruptError(f"segment {self.number} cannot be read: {error}") from error
        if not inside:
            raise apsw.CorruptError(f"segment {self.number} has no such document")
        return found


class Segments:
    """The segments of a vault. What is in memory of one is by its number, which never comes again;
    all threads share it, and nothing in it is changed, only replaced."""

    def __init__(self, database: Vault) -> None:
        self._database = database
        self._cache = SegmentCache()

    def forget(self) -> None:
        """Drop what is in memory."""
        self._cache = SegmentCache()

    def current(self, index: KeywordIndexName, *, every: bool = False) -> Sequence[Segment]:
        """The segments of an index that have live documents, or `every` one. Call it within a
        transaction, and search within the same one."""
        connection = self._database.connection()
        state = connection.execute(STATE).fetchall()
        if not state:
            return ()
        # What a write has not committed may be undone, and its numbers come again.
        writing = connection.txn_state() == apsw.SQLITE_TXN_WRITE
        cache = SegmentCache() if writing else self._cache
        numbers = tuple(int(number) for number, _ in state)  # type: ignore[arg-type]
        changes = cache.changes(connection, numbers, int(state[0][1]))  # type: ignore[arg-type]
        found = (cache.segment(connection, number, WORDS[index], changes) for number in numbers)
        return [segment for segment in found if every or segment.rows]


class SegmentCache:
    """What is in memory of segments: for each thread as of its own moment."""

    def __init__(self) -> None:
        nothing = np.zeros(0, np.int64)
        self._changes = Changes((), 0, nothing, nothing)
        self._documents: dict[tuple[int, int], Documents] = {}
        self._live: dict[tuple[int, int], Live] = {}

    def changes(self, connection: apsw.Connection, numbers: tuple[int, ...], seq: int) -> Changes:
        known = self._changes
        if (known.numbers, known.seq) == (numbers, seq):
            return known
        follows = known.numbers == numbers and known.seq < seq
        rows = connection.execute(CHANGES, (known.seq if follows else 0,)).fetchall()
        read = np.array(rows, np.int64).reshape(-1, 2).T
        before = (known.memories, known.segments) if follows else read[:, :0]
        both = (np.concatenate(two) for two in zip(before, read, strict=True))
        new = Changes(numbers, seq, *both)
        if seq >= known.seq:  # else another thread has come further
            self._changes = new
            if known.numbers != numbers:
                self._drop({place for place in self._documents if place[0] not in numbers})
        return new

    def _drop(self, places: set[tuple[int, int]]) -> None:
        for place in places:
            self._documents.pop(place, None)
            self._live.pop(place, None)

    def segment(
        self, connection: apsw.Connection, number: int, words: int, changes: Changes
    ) -> Segment:
        place = (number, words)
        documents = self._documents.get(place)
        if documents is None:
            documents = self._documents[place] = read_documents(connection, number, words)
        live = self._live.get(place)
        if live is None or live.seq != changes.seq:
            newest = live is None or live.seq < changes.seq
            live = _living(documents, number, changes)
            if newest:
                self._live[place] = live
        return Segment(connection, number, words, documents, live)


def read_documents(connection: apsw.Connection, number: int, words: int) -> Documents:
    """The documents of an index of a segment."""
    row = connection.execute(DOCUMENTS, (number, words)).fetchone()
    if row is None or len(row[0]) != 2 * len(row[1]):
        raise apsw.CorruptError(f"segment {number} cannot be read")
    keys, lengths = row
    return Documents(np.frombuffer(keys, KEY), np.frombuffer(lengths, DOCUMENT))


def _living(documents: Documents, number: int, changes: Changes) -> Live:
    keys, lengths = documents
    dead = changed_places(keys, changes.memories[changes.segments >= number])
    if not len(dead):
        return Live(changes.seq, None, len(keys), int(lengths.sum(dtype=np.int64)))
    mask = np.ones(len(keys), np.bool_)
    mask[dead] = False
    return Live(changes.seq, mask, int(mask.sum()), int(lengths[mask].sum(dtype=np.int64)))


def changed_places(keys: Keys, memories: Keys) -> NDArray[np.intp]:
    """Where these memories are among the sorted keys."""
    if not len(keys):
        return np.zeros(0, np.intp)
    places = np.minimum(np.searchsorted(keys, memories), len(keys) - 1)
    found: NDArray[np.intp] = places[keys[places] == memories]
    return found
