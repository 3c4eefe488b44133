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
# Where in a block's rows of sixteen bytes each vector stands; the second sixteen in the high bits.
PLACES = np.argsort([0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15])


class Codes:
    """The codes of a growing list of vectors, in two parts that are scanned at the same time. What
    comes is added to the second. Threads may ask while others add."""

    def __init__(self, both: Any, first: Any, second: Any) -> None:
        self._both, self._first, self._second = both, first, second
        self._guard = threading.Lock()

    def add(self, rows: Floats) -> None:
        """Append the codes of these vectors."""
        with self._guard:
            self._second.add(rows)
            self._both.syncWithSubIndexes()

    def packed(self) -> bytes:
        """The codes of what was added, in whole blocks, as `take` takes them."""
        return _bytes(self._second).tobytes() if self._second.ntotal else b""

    def take(self, parts: Iterable[bytes], size: int) -> None:
        """Begin with codes that others have packed, `size` bytes in all."""
        block = BLOCK * self._first.code_size
        half = size // 2 // block * block
        halves = [_with_room(self._first, half), _with_room(self._second, size - half)]
        self._both.syncWithSubIndexes()
        filled = 0
        for part in parts:
            codes = np.frombuffer(part, np.uint8)
            before = min(max(half - filled, 0), len(codes))
            halves[0][filled : filled + before] = codes[:before]
            filled += len(codes)
            halves[1][filled - half - len(codes) + before : filled - half] = codes[before:]

    def proposed(self, query: Floats, count: int) -> Rows:
        """The `count` rows that are nearest by their codes, best first."""
        with self._guard:
            _, found = self._both.search(query[None], min(count, self._both.ntotal))
        rows: Rows = found[0][found[0] >= 0]
        return rows

    def only(self, rows: Rows) -> Codes:
        """The codes of these rows, ascending, by themselves."""
        with self._guard:
            size = self._first.ntotal
            split = int(np.searchsorted(rows, size))
            halves = [
                _half_bytes(self._first, rows[:split]),
                _half_bytes(self._second, rows[split:] - size),
            ]
        padding = np.zeros((-len(rows) % BLOCK, *halves[0].shape[1:]), np.uint8)
        blocks = np.concatenate([*halves, padding]).reshape(-1, 2, BLOCK // 2, *padding.shape[1:])
        low, high = np.moveaxis(blocks[:, :, np.argsort(PLACES)], 1, 0)
        packed = np.moveaxis(low | high << 4, 1, -1).tobytes()
        made = codes(self._first.d, _faiss().vector_to_array(self._first.pq.centroids))
        assert made is not None
        made.take([packed], len(packed))
        return made

    def decoded(self, rows: Iterable[int]) -> Floats:
        """What is left of these vectors in their codes."""
        size = self._first.ntotal
        places = [(self._second, row - size) if row >= size else (self._first, row) for row in rows]
        return np.array([part.reconstruct(row) for part, row in places], np.float32)


def _with_room(index: Any, size: int) -> NDArray[np.uint8]:
    """The memory of the index's codes, which have so many bytes from now on."""
    index.codes.resize(size)
    index.ntotal = index.ntotal2 = size // index.code_size
    return _bytes(index) if size else np.empty(0, np.uint8)


def _bytes(index: Any) -> NDArray[np.uint8]:
    shared: NDArray[np.uint8] = _faiss().rev_swig_ptr(index.codes.get(), index.codes.size())
    return shared


def _half_bytes(index: Any, rows: Rows) -> NDArray[np.uint8]:
    """The code of each row: for every byte of it, the lower and the higher half."""
    if not len(rows):
        return np.empty((0, index.code_size, 2), np.uint8)
    blocks = _bytes(index).reshape(-1, index.code_size, 2, BLOCK // 2)
    block, place = np.divmod(rows, BLOCK)
    high, column = np.divmod(place, BLOCK // 2)
    found = blocks[block, :, :, PLACES[column]]
    shifts = (4 * high).astype(np.uint8)[:, None, None]
    halves: NDArray[np.uint8] = found >> shifts & np.uint8(15)
    return halves


def codes(width: int, codebook: Floats) -> Codes | None:
    """No codes yet, to be made with this codebook; None without faiss."""
    try:
        faiss = _faiss()
    except ImportError:
        return None
    both = faiss.IndexShards(width, True, True)
    parts = []
    for _ in range(2):
        part = faiss.IndexPQFastScan(width, width // 2, 4, faiss.METRIC_INNER_PRODUCT)
        faiss.copy_array_to_vector(codebook, part.pq.centroids)
        part.is_trained = True
        both.add_shard(part)
        parts.append(part)
    return Codes(both, *parts)


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
