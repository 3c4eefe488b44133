"""A quantised scan that proposes: vectors turned so that few dimensions tell most, in bytes.

The dimensions are the principal ones of the vectors themselves, so that a quarter of them keeps
nearly everything a cosine says; each is one byte. The best thousand by that measure are proposed to
whoever computes the true cosines. Where simsimd has no wheel, numpy multiplies the bytes.
"""

from __future__ import annotations

import os
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
DIMENSIONS = 96
WIDE = 800
WIDE_SHARE = 0.008
WIDE_PER_RESULT = 12
# So many vectors, spread over all, say which dimensions are the principal ones.
LEARNED_FROM = 8192
SPARE = 32
ROUNDS = 4
CODED_AT_ONCE = 8192
SAMPLED = 16


class Codes(NamedTuple):
    """Vectors in short: the principal dimensions in bytes, and the scale of each row."""

    basis: Floats
    bytes: NDArray[np.int8]
    scales: Floats


def learned(rows: Floats, capacity: int) -> Codes:
    """Codes of these vectors, with room for more of their kind."""
    basis = _principal(rows[:: max(1, len(rows) // LEARNED_FROM)])
    width = basis.shape[1]
    codes = Codes(basis, np.empty((capacity, width), np.int8), np.empty(capacity, np.float32))
    for first in range(0, len(rows), CODED_AT_ONCE):
        write_codes(codes, rows[first : first + CODED_AT_ONCE], first)
    return codes


def _principal(sample: Floats) -> Floats:
    """The directions in which these vectors are longest, by subspace iteration from a fixed random
    start: a full decomposition would take seconds for vectors of some thousand dimensions.
    Source: Halko, Martinsson and Tropp, 2011.
    """
    if sample.shape[1] <= DIMENSIONS:
        return np.eye(sample.shape[1], dtype=np.float32)
    chance = np.random.default_rng(0)
    basis = chance.standard_normal((sample.shape[1], DIMENSIONS + SPARE), np.float32)
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(sample.T @ (sample @ basis))
    _, turned = np.linalg.eigh((sample @ basis).T @ (sample @ basis))
    principal: Floats = basis @ turned[:, ::-1][:, :DIMENSIONS]
    return principal


def write_codes(codes: Codes, rows: Floats, first: int) -> None:
    """Write the codes of these vectors from row `first` on."""
    last = first + len(rows)
    codes.bytes[first:last], codes.scales[first:last] = _bytes(rows @ codes.basis)


def proposed(
    codes: Codes, rows: int, query: Floats, count: int, passing: Rows | None = None
) -> Rows:
    """Of the first `rows`, or of those passing, some that hold the `count` nearest by cosine."""
    small, _ = _bytes(query[None] @ codes.basis)
    held = codes.bytes[:rows] if passing is None else codes.bytes[passing]
    scales = codes.scales[:rows] if passing is None else codes.scales[passing]
    scores = byte_products(held, small[0]) * scales
    wanted = max(WIDE, int(WIDE_SHARE * len(scores)), WIDE_PER_RESULT * count)
    best = about_best(scores, wanted)
    return best if passing is None else passing[best]


def about_best(scores: NDArray[np.floating], count: int) -> Rows:
    """The places of about the `count` largest, in no order: the cut is read off every 16th score,
    which is quicker than a partition of all, and a pool need not be exact."""
    sample = scores[::SAMPLED]
    wanted = -(-count // SAMPLED)
    if len(sample) <= wanted:
        return np.arange(len(scores))
    found = _from_the(wanted, sample, scores)
    # Rows that come in a rhythm can make the sample unlike the whole.
    return found if 2 * len(found) >= count else _from_the(count, scores, scores)


def _from_the(count: int, sample: NDArray[np.floating], scores: NDArray[np.floating]) -> Rows:
    """The places of the scores that reach the sample's `count`-th largest."""
    cut = np.partition(sample, len(sample) - count)[len(sample) - count]
    return np.flatnonzero(scores >= cut)


def byte_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.floating]:
    """The product of each row with the query."""
    if simsimd is None:
        return numpy_byte_products(rows, query)
    # Without `out`: simsimd 6.5 gives back a None it does not own when it is told where to write.
    found = simsimd.cdist(query[None], rows, "dot", threads=1 + _has_idle_core())
    products: NDArray[np.floating] = np.asarray(found)[0]
    return products


def _has_idle_core() -> bool:
    """Whether a second thread would find a core free. On a busy machine it would be waited for,
    many times longer than one thread takes."""
    cores = os.cpu_count() or 1
    return hasattr(os, "getloadavg") and os.getloadavg()[0] <= cores - 1


def numpy_byte_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.floating]:
    products: Floats = rows.astype(np.float32) @ query.astype(np.float32)
    return products


def _bytes(rows: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Each row as bytes, its largest number becoming 127, and what a byte is worth in it."""
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-12)
    return np.rint(rows * (127 / largest)).astype(np.int8), (largest[:, 0] / 127).astype(np.float32)
