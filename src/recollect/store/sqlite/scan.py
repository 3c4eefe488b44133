"""A quantised scan that proposes: one bit per dimension first, one byte for what remains.

Signs are compared for every vector, a twentieth of the memory that float32 takes; the few
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
WIDE = 3000
WIDE_SHARE = 0.02
NARROW = 256
SAMPLED = 16


class Codes(NamedTuple):
    """Vectors in short: signs around the mean, and bytes with the scale of each row."""

    mean: Floats
    signs: NDArray[np.uint8]
    bytes: NDArray[np.int8]
    scales: Floats


def coded(rows: Floats, mean: Floats | None = None) -> Codes:
    """Codes of these vectors. `mean` is given when they join others that were coded around it."""
    if mean is None:
        mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-12)
    return Codes(
        mean,
        np.packbits(rows > mean, axis=1),
        np.rint(rows / largest * 127).astype(np.int8),
        (largest[:, 0] / 127).astype(np.float32),
    )


def joined(one: Codes, other: Codes) -> Codes:
    """Both, the second coded around the first's mean."""
    return Codes(
        one.mean,
        np.concatenate([one.signs, other.signs]),
        np.concatenate([one.bytes, other.bytes]),
        np.concatenate([one.scales, other.scales]),
    )


def kept(codes: Codes, rows: NDArray[np.bool_]) -> Codes:
    return Codes(codes.mean, codes.signs[rows], codes.bytes[rows], codes.scales[rows])


def proposed(
    codes: Codes, query: Floats, count: int, passing: NDArray[np.bool_] | None = None
) -> Rows:
    """Rows that hold the `count` nearest by cosine, and a few hundred others."""
    nearness = -hamming(codes.signs, np.packbits(query > codes.mean))
    if passing is not None:
        nearness[~passing] = -np.inf
    wide = about_best(nearness, max(WIDE, int(WIDE_SHARE * len(nearness)), 8 * count))
    small = np.rint(query / max(float(np.abs(query).max()), 1e-12) * 127).astype(np.int8)
    products = byte_products(codes.bytes[wide], small) * codes.scales[wide]
    return wide[best(products, max(NARROW, 2 * count))]


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
