"""One model's vectors in memory, kept in step with the file.

The arrays have room to grow, so that a save costs one row and not a copy of all. A removed row is
marked; when too many are marked, the arrays are made anew. A search works on the rows that were
there when it began.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import apsw
import numpy as np

from recollect.errors import DimensionMismatch
from recollect.store.base import StoredVector, VectorMatch
from recollect.store.sqlite import vector_rows
from recollect.store.sqlite.vector_rows import VectorRows
from recollect.types import Span

if TYPE_CHECKING:
    from recollect.store.base import Vector
    from recollect.store.sqlite.vector_rows import Keys, Rows

MOST_REMOVED = 0.25

ADDED = """
SELECT v.seq, v.memory, v.passage, v.start, v.stop, m.id, v.vector
  FROM models o CROSS JOIN vectors v ON v.model = o.key AND v.seq > ?
  CROSS JOIN memories m ON m.key = v.memory
 WHERE o.identity = ? AND length(v.vector) = 4 * o.dimensions ORDER BY v.seq"""
REMOVED = "SELECT seq, vector FROM vectors_removed WHERE seq > ? ORDER BY seq"
LAST_REMOVED = "SELECT seq, 0 FROM vectors_removed WHERE seq > ? ORDER BY seq DESC LIMIT 1"
COUNT = """
SELECT (SELECT count(*) FROM vectors v WHERE v.model = o.key), o.dimensions FROM models o
 WHERE o.identity = ?"""
SEQS = """
SELECT v.seq FROM models o CROSS JOIN vectors v ON v.model = o.key AND v.seq > ?
 WHERE o.identity = ? ORDER BY v.seq"""
ONE = ADDED.replace("v.seq > ?", "v.seq = ?")


class Sorted(NamedTuple):
    """The rows sorted by their memories' keys; `of` and `size` tell which rows were sorted."""

    of: Keys
    size: int
    rows: Rows
    keys: Keys


class Matrix:
    """The vectors of one model, and how far in the file they were read.

    With `dimensions`, each vector is cut to that many and normalised again (Matryoshka). `brief`:
    this process searches only once or twice, so no codes are made. `damaged`: the vault is, so that
    vectors that cannot be read are left out.
    """

    def __init__(
        self, identity: str, dimensions: int, *, brief: bool = False, damaged: bool = False
    ) -> None:
        self._brief = brief
        self._damaged = damaged
        self._identity = identity
        self._dimensions = dimensions
        self._guard = threading.Lock()
        self._states: dict[int, tuple[object, int]] = {}
        self._read = 0
        self._removed = 0
        self._width = 0
        self._stored: VectorRows | None = None
        self._row_of_seq: dict[int, int] = {}
        self._dead = 0
        self._sorted: Sorted | None = None

    def follow(self, connection: apsw.Connection) -> None:
        """Read what was added and removed since the last time; quick when nothing was."""
        state = (connection.pragma("data_version"), connection.total_changes())
        if self._states.get(id(connection)) == state:
            return
        with self._guard, connection:  # everything is read at one moment
            self._take_removed(connection)
            self._take_added(connection)
            self._states[id(connection)] = state

    def nearest(
        self, vector: Vector, limit: int, among: Sequence[int] | None, without: Sequence[int]
    ) -> list[VectorMatch]:
        """The `limit` best memories among those keys, and every one as good as the last of them.
        A memory counts by its best passage."""
        stored = self._stored
        if stored is None or limit < 1:
            return []
        query = self._fitting(vector)
        return vector_rows.nearest(stored, query, limit, self._passing(stored, among, without))

    def cosines(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        """The cosine of each of these memories that has a vector: its best passage's."""
        stored = self._stored
        if stored is None:
            return {}
        rows = self._rows_of(stored, keys)
        values = vector_rows.exact(stored.vectors[rows], self._fitting(vector))
        return {near.key: near.score for near in vector_rows.by_memory(stored, rows, values)}

    def stored(self, keys: Sequence[int]) -> dict[int, list[StoredVector]]:
        """The vectors of these memories, the passages of one in order."""
        stored = self._stored
        found: dict[int, list[StoredVector]] = {}
        if stored is None:
            return found
        rows = self._rows_of(stored, keys).tolist()
        for row in sorted(rows, key=lambda row: stored.spans[row, 0]):
            span = Span(*stored.spans[row, 1:].tolist())
            key = int(stored.keys[row])
            found.setdefault(key, []).append(StoredVector(span, stored.vectors[row]))
        return found

    def _rows_of(self, stored: VectorRows, keys: Sequence[int]) -> Rows:
        """The rows of a few memories, looked up in the sorted keys. Sorting happens once per
        change; comparing every key each time would take longer than the rest."""
        known = self._sorted
        if known is None or known.of is not stored.keys or known.size != stored.size:
            order = np.argsort(stored.keys[: stored.size], kind="stable")
            known = self._sorted = Sorted(stored.keys, stored.size, order, stored.keys[order])
        wanted = np.unique(np.asarray(keys, np.int64))
        first = np.searchsorted(known.keys, wanted, "left")
        last = np.searchsorted(known.keys, wanted, "right")
        spans = [known.rows[one:other] for one, other in zip(first, last, strict=True)]
        rows: Rows = np.concatenate(spans) if spans else np.zeros(0, np.intp)
        return rows[stored.alive[rows]]

    def _passing(
        self, stored: VectorRows, among: Sequence[int] | None, without: Sequence[int]
    ) -> Rows | None:
        """The rows that the filter lets pass; None for all of them."""
        keys, alive = stored.keys[: stored.size], stored.alive[: stored.size]
        if among is not None:
            return np.flatnonzero(alive & np.isin(keys, np.asarray(among, np.int64)))
        if without:
            return np.flatnonzero(alive & ~np.isin(keys, np.asarray(without, np.int64)))
        return None if alive.all() else np.flatnonzero(alive)

    def _take_removed(self, connection: apsw.Connection) -> None:
        log = REMOVED if self._stored else LAST_REMOVED  # nothing stored, nothing to remove
        for seq, vector in connection.execute(log, (self._removed,)):
            self._removed = seq
            row = self._row_of_seq.pop(vector, None)
            if row is not None and self._stored is not None:
                self._stored.alive[row] = False
                self._dead += 1
        if self._stored is not None and self._dead > MOST_REMOVED * self._stored.size:
            self._forget_all()

    def _forget_all(self) -> None:
        """Start anew: the next `follow` reads everything that is there now."""
        self._stored = self._sorted = None
        self._row_of_seq = {}
        self._read = self._dead = 0

    def _take_added(self, connection: apsw.Connection) -> None:
        asked = (self._read, self._identity)
        rows: Iterator[tuple[apsw.SQLiteValue, ...]] = (
            _readable(connection, *asked)
            if self._damaged
            else iter(connection.execute(ADDED, asked))
        )
        first = next(rows, None)
        if first is None:
            return
        if self._stored is None:
            [(count, width)] = connection.execute(COUNT, (self._identity,)).fetchall()
            self._width = width  # type: ignore[assignment]
            self._stored = vector_rows.with_room(count, self._cut_width())  # type: ignore[arg-type]
        batch = [first]
        for row in rows:
            batch.append(row)
            if len(batch) == vector_rows.READ_ROWS:
                self._append(batch)
                batch = []
        if batch:
            self._append(batch)
        if not self._brief:
            self._stored = vector_rows.with_codes(self._stored)

    def _append(self, batch: Sequence[Sequence[apsw.SQLiteValue]]) -> None:
        assert self._stored is not None
        seqs, keys, passages, starts, stops, ids, blobs = zip(*batch, strict=True)
        if not all(isinstance(id, str) for id in ids):  # a damaged row may hold any value
            raise apsw.CorruptError("an id is not a text")
        read = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), self._width)
        rows = self._shaped(read.astype(np.float32, copy=False))
        stored = vector_rows.grown(self._stored, len(batch))
        first, last = stored.size, stored.size + len(batch)
        stored.vectors[first:last] = rows
        if stored.codes is not None:
            stored.codes.add(rows)
        stored.keys[first:last] = keys
        stored.spans[first:last] = np.array([passages, starts, stops], np.int32).T
        stored.alive[first:last] = True
        stored.ids.extend(ids)
        self._row_of_seq.update(zip(seqs, range(first, last), strict=True))
        self._read = seqs[-1]
        self._stored = stored._replace(size=last)

    def _fitting(self, vector: Vector) -> Vector:
        """The query's vector, cut like the rows; DimensionMismatch where it has another width."""
        if len(vector) != self._width:
            raise DimensionMismatch(self._width, len(vector))
        shaped: Vector = self._shaped(vector[None, :])[0]
        return shaped

    def _cut_width(self) -> int:
        return min(self._dimensions or self._width, self._width)

    def _shaped(self, rows: Vector) -> Vector:
        if self._cut_width() == rows.shape[1]:
            return rows
        cut = rows[:, : self._dimensions]
        lengths = np.linalg.norm(cut, axis=1, keepdims=True)
        unit: Vector = (cut / np.maximum(lengths, 1e-12)).astype(np.float32)
        return unit


def _readable(
    connection: apsw.Connection, after: int, identity: str
) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
    """The rows that can be read, each looked up by itself."""
    for (seq,) in connection.execute(SEQS, (after, identity)).fetchall():
        with suppress(apsw.CorruptError):
            yield from connection.execute(ONE, (seq, identity)).fetchall()
