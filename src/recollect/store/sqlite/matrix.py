"""One model's vectors in memory: a quantised scan proposes, true cosines decide.

The arrays have room to grow, so that a save costs one row and not a copy of all; a removed row is
marked, and the arrays are made anew when too many are. A search works on the rows there were when
it began.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import numpy as np

from recollect.errors import DimensionMismatch
from recollect.store.base import VectorMatch
from recollect.store.sqlite.scan import Codes, learned
from recollect.types import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.base import Vector

    Keys = NDArray[np.int64]
    Rows = NDArray[np.intp]

# Up to so many rows are compared as they are: that takes about a millisecond, and needs no codes.
EXACT_ROWS = 16_384
# Of a filter that lets pass fewer than this share, too few proposals would be left.
MOST_LEFT_OUT = 0.5
READ_ROWS = 4096
HEADROOM = 1.25
MOST_REMOVED = 0.25

ADDED = """
SELECT v.seq, v.memory, v.passage, v.start, v.stop, m.id, v.vector
  FROM models o CROSS JOIN vectors v ON v.model = o.key AND v.seq > ?
  CROSS JOIN memories m ON m.key = v.memory
 WHERE o.identity = ? AND length(v.vector) = 4 * o.dimensions ORDER BY v.seq"""
REMOVED = "SELECT seq, vector FROM vectors_removed WHERE seq > ? ORDER BY seq"
LAST_REMOVED = "SELECT seq, 0 FROM vectors_removed WHERE seq > ? ORDER BY seq DESC LIMIT 1"
COUNT = """
SELECT count(*), max(length(v.vector)) / 4 FROM models o CROSS JOIN vectors v ON v.model = o.key
 WHERE o.identity = ?"""


class VectorRows(NamedTuple):
    """What a search reads: rows up to `size`; those after it may just be coming."""

    size: int
    rows: Vector
    codes: Codes | None
    keys: Keys
    spans: NDArray[np.int32]
    alive: NDArray[np.bool_]
    ids: list[str]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays with a row per vector."""
        return self.rows, self.keys, self.spans, self.alive


class Sorted(NamedTuple):
    """The rows in the order of their memories' keys, and the keys that were ordered."""

    of: Keys
    size: int
    rows: Rows
    keys: Keys


class Matrix:
    """The vectors of one model, and how far they have followed the file.

    With `dimensions`, each vector is cut to that many and normalised again (Matryoshka). `brief`
    says that this process will ask but once or twice: then no codes are made.
    """

    def __init__(self, identity: str, dimensions: int, *, brief: bool = False) -> None:
        self._brief = brief
        self._identity = identity
        self._dimensions = dimensions
        self._guard = threading.Lock()
        self._states: dict[int, tuple[object, int]] = {}
        self._read = 0
        self._removed = 0
        self._width = 0
        self._held: VectorRows | None = None
        self._row_of_seq: dict[int, int] = {}
        self._dead = 0
        self._sorted: Sorted | None = None

    def follow(self, connection: apsw.Connection) -> None:
        """Take in what was added and removed since the last time; quick when nothing was."""
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
        held = self._held
        if held is None or limit < 1:
            return []
        query = self._fitting(vector)
        passing = self._passing(held, among, without)
        wanted = limit
        while True:
            chosen = _chosen(held, query, wanted, passing)
            best = _by_memory(held, chosen, _exact(held.rows[chosen], query))
            if len(best) >= limit or wanted >= held.size:
                return _cut(best, limit)
            wanted *= 4  # several passages of one memory stood among the best

    def cosines(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        """The cosine of each of these memories that has a vector: its best passage's."""
        held = self._held
        if held is None:
            return {}
        rows = self._rows_of(held, keys)
        values = _exact(held.rows[rows], self._fitting(vector))
        return {near.key: near.score for near in _by_memory(held, rows, values)}

    def between(self, keys: Sequence[int]) -> dict[tuple[int, int], float]:
        """The cosine of each two of these memories, by their places in the list; one in passages
        has no vector of its own, and is left out."""
        held = self._held
        if held is None:
            return {}
        rows = self._rows_of(held, keys)
        whole = rows[held.spans[rows, 0] == 0]
        row_of = dict(zip(held.keys[whole].tolist(), whole.tolist(), strict=True))
        places = [place for place, key in enumerate(keys) if key in row_of]
        vectors = held.rows[[row_of[keys[place]] for place in places]]
        cosines = np.einsum("ik,jk->ij", vectors, vectors, dtype=np.float64).tolist()
        return {
            (one, other): cosines[i][j]
            for i, one in enumerate(places)
            for j, other in enumerate(places)
            if i < j
        }

    def _rows_of(self, held: VectorRows, keys: Sequence[int]) -> Rows:
        """The rows of a few memories, found through an order of all keys that is made once per
        change: comparing every key would take longer than the rest."""
        known = self._sorted
        if known is None or known.of is not held.keys or known.size != held.size:
            order = np.argsort(held.keys[: held.size], kind="stable")
            known = self._sorted = Sorted(held.keys, held.size, order, held.keys[order])
        wanted = np.unique(np.asarray(keys, np.int64))
        first = np.searchsorted(known.keys, wanted, "left")
        last = np.searchsorted(known.keys, wanted, "right")
        spans = [known.rows[one:other] for one, other in zip(first, last, strict=True)]
        rows: Rows = np.concatenate(spans) if spans else np.zeros(0, np.intp)
        return rows[held.alive[rows]]

    def _passing(
        self, held: VectorRows, among: Sequence[int] | None, without: Sequence[int]
    ) -> Rows | None:
        """The rows to look at, None for all of them."""
        keys, alive = held.keys[: held.size], held.alive[: held.size]
        if among is not None:
            return np.flatnonzero(alive & np.isin(keys, np.asarray(among, np.int64)))
        if without:
            return np.flatnonzero(alive & ~np.isin(keys, np.asarray(without, np.int64)))
        return None if alive.all() else np.flatnonzero(alive)

    def _take_removed(self, connection: apsw.Connection) -> None:
        log = REMOVED if self._held else LAST_REMOVED  # nothing held, nothing to remove
        for seq, vector in connection.execute(log, (self._removed,)):
            self._removed = seq
            row = self._row_of_seq.pop(vector, None)
            if row is not None and self._held is not None:
                self._held.alive[row] = False
                self._dead += 1
        if self._held is not None and self._dead > MOST_REMOVED * self._held.size:
            self._forget_all()

    def _forget_all(self) -> None:
        """Begin anew: the next reading takes in what is there now."""
        self._held = self._sorted = None
        self._row_of_seq = {}
        self._read = self._dead = 0

    def _take_added(self, connection: apsw.Connection) -> None:
        cursor = connection.execute(ADDED, (self._read, self._identity))
        first = cursor.fetchone()
        if first is None:
            return
        if self._held is None:
            [(count, width)] = connection.execute(COUNT, (self._identity,)).fetchall()
            self._width = width  # type: ignore[assignment]
            self._held = _empty(int(count * HEADROOM) + READ_ROWS, self._cut_width())  # type: ignore[operator]
        batch = [first]
        for row in cursor:
            batch.append(row)
            if len(batch) == READ_ROWS:
                self._append(batch)
                batch = []
        if batch:
            self._append(batch)
        held = self._held
        if held.codes is None and held.size > EXACT_ROWS and not self._brief:
            self._held = held._replace(codes=learned(held.rows[: held.size]))

    def _append(self, batch: Sequence[Sequence[apsw.SQLiteValue]]) -> None:
        assert self._held is not None
        seqs, keys, passages, starts, stops, ids, blobs = zip(*batch, strict=True)
        given = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), self._width)
        rows = self._shaped(given.astype(np.float32, copy=False))
        held = _grown(self._held, len(batch))
        first, last = held.size, held.size + len(batch)
        held.rows[first:last] = rows
        if held.codes is not None:
            held.codes.add(rows)
        held.keys[first:last] = keys
        held.spans[first:last] = np.array([passages, starts, stops], np.int32).T
        held.alive[first:last] = True
        held.ids.extend(ids)
        self._row_of_seq.update(zip(seqs, range(first, last), strict=True))
        self._read = seqs[-1]
        self._held = held._replace(size=last)

    def _fitting(self, vector: Vector) -> Vector:
        """The query's vector, cut like the rows; refused when its dimension is another."""
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


def _empty(capacity: int, width: int) -> VectorRows:
    return VectorRows(
        0,
        np.empty((capacity, width), np.float32),
        None,
        np.empty(capacity, np.int64),
        np.empty((capacity, 3), np.int32),
        np.zeros(capacity, np.bool_),
        [],
    )


def _grown(held: VectorRows, more: int) -> VectorRows:
    """The same with room for `more` rows; copied only where there is not enough."""
    needed = held.size + more
    if needed <= len(held.rows):
        return held
    # The codes are not copied but learned anew: what came since may be of another kind.
    larger = _empty(int(needed * HEADROOM) + READ_ROWS, held.rows.shape[1])
    held = held._replace(codes=None)
    for old, new in zip(held.arrays(), larger.arrays(), strict=True):
        new[: held.size] = old[: held.size]
    return larger._replace(size=held.size, ids=held.ids)


def _chosen(held: VectorRows, query: Vector, count: int, passing: Rows | None) -> Rows:
    """Rows that hold the best `count` and all that equal the last of them."""
    if held.codes is not None:
        passing = _proposed(held, held.codes, query, count, passing)
    places = np.arange(held.size) if passing is None else passing
    if len(places) <= count:
        return places
    # A matrix product rounds the same vector differently in different rows: near the cut it cannot
    # decide, so what is near enough stays. Of many rows, it is quicker to compare all.
    if len(places) > EXACT_ROWS:
        rough = (held.rows[: held.size] @ query)[places]
    else:
        rough = held.rows[places] @ query
    least = np.partition(rough, len(rough) - count)[len(rough) - count]
    near: Rows = places[rough >= least - _roughness(len(query))]
    return near


def _proposed(
    held: VectorRows, codes: Codes, query: Vector, count: int, passing: Rows | None
) -> Rows | None:
    """The rows worth comparing: those the codes propose, or all that pass where those are few, or
    where so many are left out that the proposals might be too."""
    if passing is None:
        found = codes.proposed(query, count)
        return found[found < held.size]
    if len(passing) <= EXACT_ROWS or len(passing) < MOST_LEFT_OUT * held.size:
        return passing
    chosen = np.zeros(held.size, np.bool_)
    chosen[passing] = True
    found = codes.proposed(query, int(count / MOST_LEFT_OUT))
    found = found[found < held.size]
    left: Rows = found[chosen[found]]
    return left if len(left) > count else passing


def _roughness(dimensions: int) -> float:
    """How far apart two float32 products of the same unit vectors can be, at most."""
    return 2 * dimensions * float(np.finfo(np.float32).eps)


def _exact(rows: Vector, query: Vector) -> NDArray[np.float64]:
    """Each row's product with the query, the same for the same row wherever it stands."""
    products: NDArray[np.float64] = np.einsum("ij,j->i", rows, query, dtype=np.float64)
    return products


def _by_memory(held: VectorRows, rows: Rows, cosines: NDArray[np.float64]) -> list[VectorMatch]:
    """Each memory once, by its best passage, best first."""
    best: dict[int, VectorMatch] = {}
    order = np.argsort(-cosines, kind="stable")
    ordered = rows[order]
    columns = ordered, held.keys[ordered], cosines[order], held.spans[ordered]
    for row, key, cosine, (passage, start, stop) in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        if key not in best:
            best[key] = VectorMatch(held.ids[row], cosine, passage, Span(start, stop), key)
    return list(best.values())


def _cut(best: list[VectorMatch], limit: int) -> list[VectorMatch]:
    """The first `limit`, and those as good as the last of them."""
    if len(best) <= limit:
        return best
    least = best[limit - 1].score
    return [near for near in best if near.score >= least]
