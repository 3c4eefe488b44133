"""A quantised scan that proposes: one bit per dimension first, one byte for what remains.

Signs are compared for every vector, a thirty-second of the memory that float32 takes; the few
thousand nearest of those are compared byte by byte; the best of those are proposed to whoever
computes the true cosines. Where simsimd has no wheel, numpy counts the bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float32]

try:
    import simsimd
except ImportError:  # there is a wheel wherever the tests run
    simsimd = None  # type: ignore[assignment]

# Chosen by benchmarks/bench_vectors.py: the least at which the proposals hold every true answer.
WIDE = 2000
WIDE_SHARE = 0.02
NARROW = 192
SAMPLED = 16
# Fewer signs than this tell too little apart: then the bytes of every row are compared.
FEWEST_SIGNS = 128


class Codes(NamedTuple):
    """Vectors in short: signs around a mean, and bytes with the scale of each row."""

    mean: Floats
    signs: NDArray[np.uint8]
    bytes: NDArray[np.int8]
    scales: Floats

    @staticmethod
    def empty(capacity: int, width: int) -> Codes:
        return Codes(
            np.zeros(width, np.float32),
            np.empty((capacity, -(-width // 8)), np.uint8),
            np.empty((capacity, width), np.int8),
            np.empty(capacity, np.float32),
        )

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int8], Floats]:
        """The arrays with a row per vector."""
        return self.signs, self.bytes, self.scales


def write_codes(rows: Floats, codes: Codes, first: int) -> None:
    """Write the codes of these vectors from row `first` on, around the mean of the first ones."""
    if first == 0:
        codes.mean[:] = rows.mean(axis=0, dtype=np.float64)
    last = first + len(rows)
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-12)
    codes.signs[first:last] = np.packbits(rows > codes.mean, axis=1)
    codes.bytes[first:last] = np.rint(rows * (127 / largest))
    codes.scales[first:last] = largest[:, 0] / 127


def proposed(
    codes: Codes, rows: int, query: Floats, count: int, passing: Rows | None = None
) -> Rows:
    """Of the first `rows`, or of those passing, some that hold the `count` nearest by cosine."""
    looked_at = np.arange(rows) if passing is None else passing
    wide = looked_at if len(query) < FEWEST_SIGNS else _by_signs(codes, query, count, rows, passing)
    small = np.rint(query * (127 / max(float(np.abs(query).max()), 1e-12))).astype(np.int8)
    products = byte_products(codes.bytes[wide], small) * codes.scales[wide]
    return wide[best(products, max(NARROW, 2 * count))]


def _by_signs(codes: Codes, query: Floats, count: int, rows: int, passing: Rows | None) -> Rows:
    """A wide pool: the rows whose signs differ least from the query's."""
    signs = codes.signs[:rows] if passing is None else codes.signs[passing]
    nearness = -hamming(signs, np.packbits(query > codes.mean))
    pool = about_best(nearness, max(WIDE, int(WIDE_SHARE * len(nearness)), 8 * count))
    return pool if passing is None else passing[pool]


def about_best(scores: Floats, count: int) -> Rows:
    """The places of about the `count` largest, in no order: the cut is read off every 16th score,
    which is quicker than a partition of all, and a pool need not be exact."""
    sample = scores[::SAMPLED]
    wanted = -(-count // SAMPLED)
    if len(sample) <= wanted:
        return np.arange(len(scores))
    cut = np.partition(sample, len(sample) - wanted)[len(sample) - wanted]
    return np.flatnonzero(scores >= cut)


def best(scores: Floats, count: int) -> Rows:
    """The places of the `count` largest, and of all that equal the last, in no order."""
    if len(scores) <= count:
        return np.arange(len(scores))
    cut = np.partition(scores, len(scores) - count)[len(scores) - count]
    return np.flatnonzero(scores >= cut)


def hamming(signs: NDArray[np.uint8], query: NDArray[np.uint8]) -> Floats:
    """In how many bits each row differs from the query."""
    if simsimd is None:
        return numpy_hamming(signs, query)
    out = np.empty(len(signs), np.float32)
    # One thread: two are quicker on an idle machine, and fifty times slower on a busy one.
    simsimd.cdist(query[None], signs, "hamming", dtype="bin8", out=out[None], threads=1)
    return out


def numpy_hamming(signs: NDArray[np.uint8], query: NDArray[np.uint8]) -> Floats:
    counted: Floats = np.bitwise_count(signs ^ query).sum(axis=1, dtype=np.float32)
    return counted


def byte_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> Floats:
    """The product of each row with the query."""
    if simsimd is None:
        return numpy_byte_products(rows, query)
    out = np.empty(len(rows), np.float32)
    simsimd.cdist(query[None], rows, "dot", out=out[None], threads=1)
    return out


def numpy_byte_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> Floats:
    products: Floats = rows.astype(np.float32) @ query.astype(np.float32)
    return products
