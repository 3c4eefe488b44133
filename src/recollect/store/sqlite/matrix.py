"""One model's vectors in memory: exact cosines with numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw
import numpy as np

from recollect.errors import DimensionMismatch

if TYPE_CHECKING:
    from recollect.store.base import Vector


class Matrix:
    """Unit vectors in rows, the memory key of each row, and how far it has followed the file.

    With `dimensions`, each vector is cut to that many and normalised again (Matryoshka).
    """

    def __init__(self, identity: str, dimensions: int) -> None:
        self._identity = identity
        self._dimensions = dimensions
        self._rows = np.empty((0, 0), np.float32)
        self._keys = np.empty(0, np.int64)
        self._seqs = np.empty(0, np.int64)
        self._read = 0
        self._removed = 0

    def follow(self, connection: apsw.Connection) -> None:
        """Take in what was added and removed since the last time."""
        removed = connection.execute(
            "SELECT seq, vector FROM vectors_removed WHERE seq > ? ORDER BY seq", (self._removed,)
        ).fetchall()
        if removed:
            self._removed = removed[-1][0]  # type: ignore[assignment]
            gone = np.array([vector for _, vector in removed], np.int64)
            kept = ~np.isin(self._seqs, gone)
            if not kept.all():
                self._keep(kept)
        added = connection.execute(
            "SELECT v.seq, v.memory, v.vector FROM models o CROSS JOIN vectors v "
            "ON v.model = o.key AND v.seq > ? WHERE o.identity = ? ORDER BY v.seq",
            (self._read, self._identity),
        ).fetchall()
        if added:
            self._append(added)

    def nearest(
        self, vector: Vector, limit: int, keys: Sequence[int] | None
    ) -> list[tuple[int, float]]:
        """The `limit` best rows among those keys, and every row as good as the last of them."""
        if not len(self._keys) or limit < 1:
            return []
        cosines = self._rows @ self._fitting(vector)
        chosen = self._keys
        if keys is not None:
            passing = np.isin(self._keys, np.asarray(keys, np.int64))
            cosines, chosen = cosines[passing], chosen[passing]
        if len(cosines) > limit:
            least = np.partition(cosines, len(cosines) - limit)[len(cosines) - limit]
            best = cosines >= least
            cosines, chosen = cosines[best], chosen[best]
        return list(zip(chosen.tolist(), cosines.tolist(), strict=True))

    def cosines(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        """The cosine of each of these memories that has a row."""
        if not len(self._keys):
            return {}
        rows = np.flatnonzero(np.isin(self._keys, np.asarray(keys, np.int64)))
        values = self._rows[rows] @ self._fitting(vector)
        return dict(zip(self._keys[rows].tolist(), values.tolist(), strict=True))

    def _keep(self, kept: np.typing.NDArray[np.bool_]) -> None:
        self._rows, self._keys, self._seqs = self._rows[kept], self._keys[kept], self._seqs[kept]

    def _append(self, added: Sequence[Sequence[apsw.SQLiteValue]]) -> None:
        seqs, keys, blobs = zip(*added, strict=True)
        rows = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), -1)
        rows = self._shaped(rows.astype(np.float32, copy=False))
        self._rows = np.vstack([self._rows, rows]) if len(self._keys) else rows
        self._keys = np.concatenate([self._keys, np.array(keys, np.int64)])
        self._seqs = np.concatenate([self._seqs, np.array(seqs, np.int64)])
        self._read = int(self._seqs[-1])

    def _fitting(self, vector: Vector) -> Vector:
        """The query's vector, cut like the rows; refused when its dimension is another."""
        shaped: Vector = self._shaped(vector[None, :])[0]
        if len(shaped) != self._rows.shape[1]:
            raise DimensionMismatch(self._rows.shape[1], len(shaped))
        return shaped

    def _shaped(self, rows: Vector) -> Vector:
        if not self._dimensions or self._dimensions >= rows.shape[1]:
            return rows
        cut = rows[:, : self._dimensions]
        lengths = np.linalg.norm(cut, axis=1, keepdims=True)
        unit: Vector = (cut / np.maximum(lengths, 1e-12)).astype(np.float32)
        return unit
