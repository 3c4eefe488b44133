"""One model's vectors in memory: exact cosines with numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import apsw
import numpy as np

from recollect.errors import DimensionMismatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.base import Vector

    Keys = NDArray[np.int64]


class Held(NamedTuple):
    """Unit vectors in rows, the memory key and the `seq` of each row, and the dimension they are
    stored in. A change makes a new one, so that a search in another thread sees no half of it."""

    rows: Vector
    keys: Keys
    seqs: Keys
    width: int


class Matrix:
    """What is held of one model, and how far it has followed the file.

    With `dimensions`, each vector is cut to that many and normalised again (Matryoshka).
    """

    def __init__(self, identity: str, dimensions: int) -> None:
        self._identity = identity
        self._dimensions = dimensions
        self._held = Held(np.empty((0, 0), np.float32), _keys(()), _keys(()), 0)
        self._read = 0
        self._removed = 0

    def follow(self, connection: apsw.Connection) -> None:
        """Take in what was added and removed since the last time."""
        log = "SELECT seq, vector FROM vectors_removed WHERE seq > ? ORDER BY seq"
        if not len(self._held.keys):  # nothing held, nothing to remove: only the log's end counts
            log = "SELECT seq, vector FROM vectors_removed WHERE seq > ? ORDER BY seq DESC LIMIT 1"
        with connection:  # both are read at one moment
            removed = connection.execute(log, (self._removed,)).fetchall()
            added = connection.execute(
                "SELECT v.seq, v.memory, v.vector FROM models o CROSS JOIN vectors v "
                "ON v.model = o.key AND v.seq > ? WHERE o.identity = ? "
                "AND length(v.vector) = 4 * o.dimensions ORDER BY v.seq",
                (self._read, self._identity),
            ).fetchall()
        if removed:
            self._removed = removed[-1][0]  # type: ignore[assignment]
            self._drop(_keys([vector for _, vector in removed]))  # type: ignore[misc]
        if added:
            self._append(added)

    def nearest(
        self, vector: Vector, limit: int, among: Sequence[int] | None, without: Sequence[int]
    ) -> list[tuple[int, float]]:
        """The `limit` best memories among those keys, and every one as good as the last of them.

        A matrix product rounds the same vector differently in different rows, so it only chooses:
        what is near enough to the cut is computed again, one row like the other.
        """
        held = self._held
        if not len(held.keys) or limit < 1:
            return []
        query = self._fitting(vector, held)
        rough = held.rows @ query
        rows = np.arange(len(held.keys))
        if among is not None:
            rows = np.flatnonzero(np.isin(held.keys, _keys(among)))
        elif without:
            rows = np.flatnonzero(np.isin(held.keys, _keys(without), invert=True))
        if len(rows) > limit:
            cut = np.partition(rough[rows], len(rows) - limit)[len(rows) - limit]
            rows = rows[rough[rows] >= cut - _roughness(len(query))]
        return list(zip(held.keys[rows].tolist(), _exact(held.rows[rows], query), strict=True))

    def cosines(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        """The cosine of each of these memories that has a row."""
        held = self._held
        if not len(held.keys):
            return {}
        rows = np.flatnonzero(np.isin(held.keys, _keys(keys)))
        values = _exact(held.rows[rows], self._fitting(vector, held))
        return dict(zip(held.keys[rows].tolist(), values, strict=True))

    def _drop(self, gone: Keys) -> None:
        rows, keys, seqs, width = self._held
        kept = ~np.isin(seqs, gone)
        if not kept.all():
            self._held = Held(rows[kept], keys[kept], seqs[kept], width)

    def _append(self, added: Sequence[Sequence[apsw.SQLiteValue]]) -> None:
        seqs, keys, blobs = zip(*added, strict=True)
        given = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), -1)
        rows = self._shaped(given.astype(np.float32, copy=False))
        held = self._held
        self._held = Held(
            np.vstack([held.rows, rows]) if len(held.keys) else rows,
            np.concatenate([held.keys, _keys(keys)]),
            np.concatenate([held.seqs, _keys(seqs)]),
            given.shape[1],
        )
        self._read = int(self._held.seqs[-1])

    def _fitting(self, vector: Vector, held: Held) -> Vector:
        """The query's vector, cut like the rows; refused when its dimension is another."""
        if len(vector) != held.width:
            raise DimensionMismatch(held.width, len(vector))
        shaped: Vector = self._shaped(vector[None, :])[0]
        return shaped

    def _shaped(self, rows: Vector) -> Vector:
        if not self._dimensions or self._dimensions >= rows.shape[1]:
            return rows
        cut = rows[:, : self._dimensions]
        lengths = np.linalg.norm(cut, axis=1, keepdims=True)
        unit: Vector = (cut / np.maximum(lengths, 1e-12)).astype(np.float32)
        return unit


def _keys(keys: Sequence[int]) -> Keys:
    return np.asarray(keys, np.int64)


def _roughness(dimensions: int) -> float:
    """How far apart two float32 products of the same unit vectors can be, at most."""
    return 2 * dimensions * float(np.finfo(np.float32).eps)


def _exact(rows: Vector, query: Vector) -> list[float]:
    """Each row's product with the query, the same for the same row wherever it stands."""
    products: list[float] = (rows.astype(np.float64) * query).sum(axis=1).tolist()
    return products
