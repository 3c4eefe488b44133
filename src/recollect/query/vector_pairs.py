"""Near pairs among many vectors, without comparing all of them.

Few vectors are all compared. Of many, only those on the same side of a dozen random planes, tried
with several sets of planes. Source: Charikar 2002, "Similarity estimation techniques from rounding
algorithms".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Places = NDArray[np.intp]

# Up to this number all are compared: a second of work.
FEW = 5_000
BLOCK = 1_000
# Chosen by benchmarks/bench_duplicates.py: nine of ten pairs with a cosine of 0.9 are found.
TABLES = 12
BUCKET = 24  # vectors on the same sides of all planes, on average
LARGEST = 512  # a larger bucket is cut into pieces: its vectors are much alike
MOST = 8  # neighbours of one vector


def near_pairs(vectors: Floats, least: float) -> dict[tuple[int, int], float]:
    """Return the cosine of each two rows that is at least `least`; the lower row number comes
    first. Only the nearest few of each row are returned. Rows have unit length; float16 will do."""
    found: dict[tuple[int, int], float] = {}
    for rows, others in _blocks(len(vectors)) if len(vectors) <= FEW else _buckets(vectors):
        cosines = vectors[rows].astype(np.float32) @ vectors[others].astype(np.float32).T
        cosines[rows[:, None] == others[None, :]] = -1.0
        if len(others) > MOST:
            kept = np.partition(cosines, -MOST, axis=1)[:, -MOST]
            cosines[cosines < np.maximum(kept, least)[:, None]] = -1.0
        near = np.nonzero(cosines >= least)
        ones, twos = rows[near[0]], others[near[1]]
        lower, upper = np.minimum(ones, twos).tolist(), np.maximum(ones, twos).tolist()
        found.update(zip(zip(lower, upper, strict=True), cosines[near].tolist(), strict=True))
    return found


def _blocks(count: int) -> Iterator[tuple[Places, Places]]:
    every = np.arange(count)
    for first in range(0, count, BLOCK):
        yield every[first : first + BLOCK], every


def _buckets(vectors: Floats) -> Iterator[tuple[Places, Places]]:
    count, width = vectors.shape
    random = np.random.default_rng(1)
    # Planes through the mean: embeddings point into one half of the space.
    mean = vectors[:: max(1, count // FEW)].astype(np.float32).mean(axis=0)
    bits = int(np.log2(count / BUCKET)) + 1
    for _ in range(TABLES):
        planes = random.standard_normal((width, bits), np.float32)
        sides = np.concatenate(
            [
                (vectors[first : first + BLOCK].astype(np.float32) - mean) @ planes > 0
                for first in range(0, count, BLOCK)
            ]
        )
        codes = sides @ (1 << np.arange(bits))
        order = np.argsort(codes, kind="stable")
        ends = np.flatnonzero(np.diff(codes[order])) + 1
        for bucket in np.split(order, ends):
            for first in range(0, len(bucket) if len(bucket) > 1 else 0, LARGEST):
                piece = bucket[first : first + LARGEST]
                yield piece, piece
