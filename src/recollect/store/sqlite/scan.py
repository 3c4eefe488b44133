"""A quantised scan that proposes candidates: two dimensions in four bits, compared by faiss.

Reading four bits per pair of dimensions instead of sixty-four makes it quick. The nearest rows by
code are proposed; the caller computes their true cosines. Where faiss has no wheel there are no
codes, and every vector is compared as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float32]

# So many vectors, spread over all, are enough to learn sixteen points per pair of dimensions from.
LEARNED_FROM = 5000
ROUNDS = 10
BLOCK = 32  # faiss interleaves the codes of so many vectors


class Codes:
    """The codes of a growing list of vectors; threads may ask while others add."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._guard = threading.Lock()

    def add(self, rows: Floats) -> None:
        """Append the codes of these vectors."""
        with self._guard:
            self._index.add(rows)

    def packed(self) -> bytes:
        """The codes in whole blocks, as `take` takes them."""
        return self._bytes().tobytes()

    def take(self, parts: Iterable[bytes], size: int) -> None:
        """Begin with codes that others have packed, `size` bytes in all."""
        self._index.codes.resize(size)
        self._index.ntotal = self._index.ntotal2 = size // self._index.code_size
        room, filled = self._bytes(), 0
        for part in parts:
            room[filled : filled + len(part)] = np.frombuffer(part, np.uint8)
            filled += len(part)

    def proposed(self, query: Floats, count: int) -> Rows:
        """The `count` rows that are nearest by their codes, best first."""
        with self._guard:
            _, found = self._index.search(query[None], min(count, self._index.ntotal))
        rows: Rows = found[0][found[0] >= 0]
        return rows

    def decoded(self, rows: Iterable[int]) -> Floats:
        """What is left of these vectors in their codes."""
        with self._guard:
            decoded: Floats = np.array([self._index.reconstruct(row) for row in rows], np.float32)
        return decoded

    def _bytes(self) -> NDArray[np.uint8]:
        codes = self._index.codes
        shared: NDArray[np.uint8] = _faiss().rev_swig_ptr(codes.get(), codes.size())
        return shared


def codes(width: int, codebook: Floats) -> Codes | None:
    """No codes yet, to be made with this codebook; None without faiss."""
    try:
        faiss = _faiss()
    except ImportError:
        return None
    index = faiss.IndexPQFastScan(width, width // 2, 4, faiss.METRIC_INNER_PRODUCT)
    faiss.copy_array_to_vector(codebook, index.pq.centroids)
    index.is_trained = True
    return Codes(index)


def learned(rows: Floats) -> Floats | None:
    """A codebook for these vectors and later ones; None without faiss or with an odd dimension."""
    pairs, odd = divmod(rows.shape[1], 2)
    if odd:
        return None
    try:
        faiss = _faiss()
    except ImportError:
        return None
    index = faiss.IndexPQFastScan(rows.shape[1], pairs, 4, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.niter = ROUNDS
    index.pq.cp.min_points_per_centroid = 1  # faiss warns of few
    index.train(np.ascontiguousarray(rows[:: max(1, len(rows) // LEARNED_FROM)]))
    codebook: Floats = faiss.vector_to_array(index.pq.centroids)
    return codebook


def _faiss() -> Any:
    import faiss  # noqa: PLC0415  start-up time: a tenth of a second, for large vaults only

    # Several threads wait busily for each other: on a loaded machine that costs more than it gains.
    faiss.omp_set_num_threads(1)
    return faiss
