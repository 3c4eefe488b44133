"""Cosines of stored float32 vectors, computed the same way wherever a score is made of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import DimensionMismatch
from recollect.store.base import StoredVector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.base import Vector


def cut_vectors(rows: Vector, dimensions: int) -> Vector:
    """Return the rows cut to `dimensions` and normalised again; 0 leaves them as they are.

    Source: Kusupati et al. 2022, "Matryoshka representation learning".
    """
    if not 0 < dimensions < rows.shape[1]:
        return rows
    cut = rows[:, :dimensions]
    lengths = np.linalg.norm(cut, axis=1, keepdims=True)
    unit: Vector = (cut / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit


def cosines(rows: Vector, query: Vector) -> NDArray[np.float64]:
    """Return each row's product with the query. A row's product does not depend on the others."""
    products: NDArray[np.float64] = np.einsum("ij,j->i", rows, query, dtype=np.float64)
    return products


def best_cosines(
    ids: Sequence[str], vectors: Sequence[bytes], vector: Vector, dimensions: int
) -> dict[str, float]:
    """Return the cosine of each memory's best passage. `ids` names the memory of each vector."""
    rows = _rows(vectors, vector)
    query = cut_vectors(vector[None, :], dimensions)[0]
    best: dict[str, float] = {}
    found = cosines(cut_vectors(rows, dimensions), query).tolist()
    for id, cosine in zip(ids, found, strict=True):
        best[id] = max(cosine, best.get(id, cosine))
    return best


def nearest_rows(ids: Sequence[str], vectors: Sequence[bytes], vector: Vector) -> dict[str, int]:
    """Return the row of each memory's best passage. `ids` names the memory of each vector."""
    order = np.argsort(cosines(_rows(vectors, vector), vector), kind="stable").tolist()
    return {ids[row]: row for row in order}  # the last of a memory is its nearest


def between(stored: Mapping[str, Sequence[StoredVector]]) -> dict[tuple[str, str], float]:
    """Return the cosine of each pair of these memories, in this order. A memory in passages has no
    vector of its own and is left out."""
    whole = {id: vectors[0].vector for id, vectors in stored.items() if len(vectors) == 1}
    if not whole:
        return {}
    rows = np.stack(list(whole.values()))
    pairs = np.einsum("ik,jk->ij", rows, rows, dtype=np.float64).tolist()
    return {(one, other): pairs[i][j] for (i, one), (j, other) in combinations(enumerate(whole), 2)}


def _rows(vectors: Sequence[bytes], vector: Vector) -> Vector:
    """Return stored vectors as rows; raise DimensionMismatch if `vector` has another dimension."""
    if not vectors:
        return np.empty((0, len(vector)), np.float32)
    rows = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
    if rows.shape[1] != len(vector):
        raise DimensionMismatch(rows.shape[1], len(vector))
    return rows
