"""A quantised scan that proposes candidates: two dimensions in four bits, compared by faiss.

Reading four bits per dimension instead of thirty-two makes it quick. The few hundred best rows are
proposed; the caller computes their true cosines. Where faiss has no wheel there are no codes, and
every vector is compared as it is.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float32]

# Chosen by benchmarks/bench_vectors.py: the least at which the proposals hold every true answer.
WIDE = 384
WIDE_PER_RESULT = 6
# So many vectors, spread over all, are enough to learn sixteen points per pair of dimensions from.
LEARNED_FROM = 5000
ROUNDS = 10


class Codes:
    """The codes of a growing list of vectors; threads may ask while others add."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._guard = threading.Lock()

    def add(self, rows: Floats) -> None:
        """Append the codes of these vectors."""
        with self._guard:
            self._index.add(rows)

    def proposed(self, query: Floats, count: int) -> Rows:
        """Some hundred rows that include the `count` nearest by cosine."""
        wanted = max(WIDE, WIDE_PER_RESULT * count)
        with self._guard:
            _, found = self._index.search(query[None], min(wanted, self._index.ntotal))
        rows: Rows = found[0][found[0] >= 0]
        return rows


def learned(rows: Floats) -> Codes | None:
    """Codes for these vectors and later ones; None without faiss or with an odd dimension."""
    try:
        import faiss  # noqa: PLC0415  start-up time: a tenth of a second, for large vaults only
    except ImportError:
        return None
    pairs, odd = divmod(rows.shape[1], 2)
    if odd:
        return None
    index = faiss.IndexPQFastScan(rows.shape[1], pairs, 4, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.niter = ROUNDS
    index.train(np.ascontiguousarray(rows[:: max(1, len(rows) // LEARNED_FROM)]))
    index.add(rows)
    return Codes(index)
