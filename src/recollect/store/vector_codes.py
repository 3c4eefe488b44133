"""Codes of vectors, which a search scans. They propose the nearest; the true cosines of those, from
the stored vectors, decide.

Nothing is learned: a code depends on its own vector alone. A vector's code is int8, with a scale.
The score by such a code has a known error, and the scan, by simsimd, proposes every row that can be
among the nearest in spite of it. Of very many vectors, sign bits are scanned: an eighth of the
bytes, and an answer that may miss some of the nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import simsimd

from recollect.errors import DimensionMismatch
from recollect.store.base import StoredVector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.base import Vector

    Keys = NDArray[np.int64]
    Rows = NDArray[np.intp]
    Floats = NDArray[np.float32]
    # Reads the vectors with these numbers: the numbers that are there, in the same order, and the
    # vectors.
    Read = Callable[[Keys], tuple[Keys, Vector]]
    from numpy.typing import NDArray

    from recollect.store.base import Vector

LEVELS = 127  # on either side of 0
# Rounding errors are independent and uniform, so the error of a product has a standard deviation of
# 1/√12 of a step. Five of them: one row in two million errs by more.
ERROR = 5 / 12**0.5
# Rows are proposed down to this many errors below the last score wanted. With twice the error
# nothing can be missing; less is nearly always enough, and a check notices where it is not.
SLACK = 1.5
# The most rows to read at once. Only vectors that are nearly all alike need more.
MOST_READ = 4096
# If at most this share of the rows passes a filter, they are copied and the copies scanned.
MOST_COPIED = 0.25
# With more vectors than this, sign bits are scanned, which a new process reads five times as fast.
LARGE = 250_000
# With sign bits: the share of rows, and the least number, that differ least from the query's bits
# and are compared with the query itself; and how many vectors are then read. Chosen by
# benchmarks/bench_vectors.py: of a million, 99 % of the nearest ten are among them.
NEAR_SHARE, NEAR_LEAST = 0.03, 20_000
SIGNS_READ = 1024
HEADROOM = 1.25, 4096  # times the rows there are, and plus
WORD = 8  # bytes
BLOCK = 16_384  # rows of sign bits whose counts stay in the processor's cache


class CodedVectors(NamedTuple):
    """Codes of vectors: parallel arrays. Rows after `size` are room for more."""

    size: int
    seqs: Keys  # the number of each vector, by which it is read
    keys: Keys  # of its memory
    scales: Floats  # the step between two numbers of the code
    numbers: NDArray[Any]  # int8; or uint8: eight sign bits each

    @property
    def signs(self) -> bool:
        return self.numbers.dtype == np.uint8


class PassingVectors(NamedTuple):
    """The vectors that pass a filter: those in `rows`, or all without `rows`."""

    coded: CodedVectors
    rows: Rows | None


class ScoredRows(NamedTuple):
    """Rows with their scores by code. A score differs from the cosine by at most `error`."""

    seqs: Keys
    keys: Keys
    scores: Floats
    error: float


class NearVector(NamedTuple):
    """The best passage of a memory: the key of the memory, the vector's number, and its cosine."""

    key: int
    seq: int
    cosine: float


def encode(vectors: Vector) -> tuple[Floats, NDArray[np.int8]]:
    """Return the scale of each vector and its numbers divided by it, rounded to int8."""
    largest = np.abs(vectors).max(axis=1, initial=0)
    scales = (np.where(largest > 0, largest, 1) / LEVELS).astype(np.float32)
    return scales, np.rint(vectors / scales[:, None]).astype(np.int8)


def encode_signs(vectors: Vector) -> tuple[Floats, NDArray[np.uint8]]:
    """Return the scale of each vector and the signs of its numbers as bits, in whole words."""
    # Source of the scale: Gao and Long 2024, "RaBitQ".
    scales = 1 / np.maximum(np.abs(vectors).sum(axis=1), 1e-12)
    bits = np.packbits(vectors > 0, axis=1)
    return scales.astype(np.float32), np.pad(bits, ((0, 0), (0, -bits.shape[1] % WORD)))


def record(width: int, *, signs: bool = False) -> np.dtype[Any]:
    """Return the form of a stored code: what `CodedVectors` has of one row, as bytes."""
    numbers = ("numbers", "u1", (_sign_bytes(width),)) if signs else ("numbers", "i1", (width,))
    return np.dtype([("seq", "<i8"), ("key", "<i8"), ("scale", "<f4"), numbers])


def pack(seqs: Keys, keys: Keys, vectors: Vector, *, signs: bool = False) -> NDArray[Any]:
    """Return the codes of these vectors in the form in which they are stored."""
    rows = np.empty(len(seqs), record(vectors.shape[1], signs=signs))
    rows["seq"], rows["key"] = seqs, keys
    rows["scale"], rows["numbers"] = (encode_signs if signs else encode)(vectors)
    return rows


def unpack(rows: NDArray[Any], dimensions: int = 0) -> CodedVectors:
    """Return stored codes as arrays, cut to `dimensions` and normalised again (0: as they are)."""
    # Copies, except of the numbers: a few columns should not keep all of `rows` in memory.
    seqs, keys, scales = (rows[name].copy() for name in ("seq", "key", "scale"))
    numbers = rows["numbers"]
    if numbers.dtype == np.uint8:
        if dimensions:
            cut = np.packbits(np.unpackbits(numbers, axis=1)[:, :dimensions], axis=1)
            numbers = np.pad(cut, ((0, 0), (0, -cut.shape[1] % WORD)))
    elif 0 < dimensions < numbers.shape[1]:
        numbers = numbers[:, :dimensions]
        lengths = np.linalg.norm(numbers.astype(np.float32), axis=1)
        scales = 1 / np.maximum(lengths, 1)
    return CodedVectors(len(rows), seqs, keys, scales, numbers)


def make_room(count: int, width: int) -> CodedVectors:
    """Return arrays without a row, and with room for `count` and some more."""
    room = int(count * HEADROOM[0]) + HEADROOM[1]
    numbers: NDArray[Any] = np.empty((room, width), np.int8)
    if count > LARGE:
        numbers = np.empty((room, _sign_bytes(width)), np.uint8)
    seqs, keys = np.empty(room, np.int64), np.empty(room, np.int64)
    return CodedVectors(0, seqs, keys, np.empty(room, np.float32), numbers)


def append(coded: CodedVectors, more: CodedVectors) -> CodedVectors | None:
    """Return the rows with `more` after them, in the same arrays; None if these have no room.
    A search that began before goes on with the rows it has."""
    first, last = coded.size, coded.size + more.size
    if last > len(coded.seqs):
        return None
    coded.seqs[first:last], coded.keys[first:last] = more.seqs, more.keys
    coded.scales[first:last], coded.numbers[first:last] = more.scales, more.numbers
    return coded._replace(size=last)


def select(coded: CodedVectors, rows: Rows | slice) -> CodedVectors:
    """Return these rows; copies unless they are a slice."""
    seqs = coded.seqs[rows]
    arrays = coded.keys[rows], coded.scales[rows], coded.numbers[rows]
    return CodedVectors(len(seqs), seqs, *arrays)


def select_passing(
    coded: CodedVectors, among: Keys | None, without: Keys | tuple[()]
) -> PassingVectors:
    """Return the vectors of these memories (None: of all), except of those in `without`."""
    if among is None and not len(without):
        return PassingVectors(coded, None)
    keys = coded.keys[: coded.size]
    listed = np.zeros(int(keys.max(initial=0)) + 1, np.bool_)  # by key: quicker than np.isin
    wanted = np.asarray(without if among is None else among, np.int64)
    listed[wanted[wanted < len(listed)]] = True
    rows: Rows = np.flatnonzero(~listed[keys] if among is None else listed[keys])
    if len(rows) > MOST_COPIED * coded.size:
        return PassingVectors(coded, rows)
    return PassingVectors(select(coded, rows), None)


def score(passing: PassingVectors, query: Vector) -> ScoredRows:
    """Compare the query with the codes of the vectors that pass."""
    size, seqs, keys, scales, numbers = select(passing.coded, slice(passing.coded.size))
    [scale], [code] = encode(query[None, :])
    scores = np.empty(size, np.float32)
    if size:  # simsimd refuses empty arrays
        products = np.asarray(simsimd.dot(code, numbers))
        np.multiply(products, scales * scale, out=scores, casting="same_kind")
    error = ERROR * float(np.hypot(scales.max(initial=0), scale))  # the query is rounded, too
    if passing.rows is None:
        return ScoredRows(seqs, keys, scores, error)
    return ScoredRows(seqs[passing.rows], keys[passing.rows], scores[passing.rows], error)


def join(parts: Sequence[ScoredRows]) -> ScoredRows:
    """Return all rows of several scans."""
    none = ScoredRows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32), 0)
    seqs, keys, scores, errors = zip(none, *parts, strict=True)
    return ScoredRows(
        np.concatenate(seqs), np.concatenate(keys), np.concatenate(scores), max(errors)
    )


def search(passing: PassingVectors, query: Vector, limit: int, read: Read) -> list[NearVector]:
    """Return the `limit` best memories, best first, and every one as good as the last of these. A
    memory counts by its best passage."""
    if not passing.coded.signs:
        return nearest(score(passing, query), query, limit, read)
    count = max(SIGNS_READ, 2 * limit)
    while True:
        scored = score_signs(passing, query, count)
        best = nearest(scored, query, limit, read)
        if len(best) >= limit or len(scored.seqs) < count:
            return best
        count *= 4  # the best include passages of one memory, or removed vectors


def score_signs(passing: PassingVectors, query: Vector, count: int) -> ScoredRows:
    """Return the `count` rows that are nearest by their sign bits, among the vectors that pass."""
    coded, rows = passing
    _, [signs] = encode_signs(query[None, :])
    distances = _distances(coded.numbers[: coded.size], signs)
    if rows is not None:
        distances = distances[rows]
    places: Rows = np.arange(len(distances))
    most = max(int(NEAR_SHARE * len(distances)), NEAR_LEAST, count)
    if len(distances) > most:
        part = distances[:: len(distances) // NEAR_LEAST]  # a sample is enough to choose the cut
        place = most * len(part) // len(distances)
        places = np.flatnonzero(distances <= np.partition(part, place)[place])
    rows = places if rows is None else rows[places]
    near = select(coded, rows)
    [scale], [code] = encode(query[None, :])
    bits = np.unpackbits(near.numbers, axis=1)[:, : len(query)].view(np.int8)
    products = np.empty(0)
    if near.size:  # simsimd refuses empty arrays
        products = 2 * np.asarray(simsimd.dot(code, bits)) - int(code.sum())
    scores = np.multiply(products, near.scales * scale).astype(np.float32)
    if len(scores) > count:
        best = np.sort(np.argpartition(-scores, count)[:count])
        near, scores = select(near, best), scores[best]
    return ScoredRows(near.seqs, near.keys, scores, np.inf)


def _distances(signs: NDArray[np.uint8], query: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Return the number of bits in which each row differs from the query's. numpy counts them twice
    as quickly as simsimd: a row is shorter than what a call of its function costs."""
    words = len(query) // WORD
    distances = np.empty(len(signs), np.uint16)
    repeated = np.tile(query.view(np.uint64), BLOCK)
    for first in range(0, len(signs), BLOCK):
        block = signs[first : first + BLOCK].view(np.uint64).reshape(-1)
        counts = np.bitwise_count(block ^ repeated[: len(block)]).reshape(-1, words)
        found = distances[first : first + BLOCK]
        found[:] = counts[:, 0]
        for word in range(1, words):
            found += counts[:, word]
    return distances


def nearest(scored: ScoredRows, query: Vector, limit: int, read: Read) -> list[NearVector]:
    """Like `search`, of rows that are scored."""
    scores, wanted = scored.scores, limit
    while True:
        rows, least = _propose(scores, wanted, SLACK * scored.error)
        seqs, vectors = read(scored.seqs[rows])
        proposed = len(rows)
        if len(seqs) < proposed:  # removed since they were coded
            rows = rows[np.isin(scored.seqs[rows], seqs)]
        best = _by_memory(scored.keys[rows], seqs, cosines(vectors, query), limit)
        # Other rows have a cosine of less than `least` and the error.
        complete = len(best) >= limit and best[limit - 1].cosine >= least + scored.error
        if complete or proposed == len(scores):
            return best
        wanted *= 4  # the best include passages of one memory, or removed vectors


def _propose(scores: Floats, wanted: int, slack: float) -> tuple[Rows, float]:
    """Return the rows that score at most `slack` less than the best `wanted`, and that least score.
    Of more than MOST_READ the best."""
    if len(scores) <= wanted:
        return np.arange(len(scores)), -2.0
    place = len(scores) - wanted
    least = float(np.partition(scores, place)[place]) - slack
    rows: Rows = np.flatnonzero(scores >= least)
    most = max(MOST_READ, 2 * wanted)
    if len(rows) > most:
        rows = np.sort(rows[np.argpartition(-scores[rows], most)[:most]])
    return rows, least


def _by_memory(keys: Keys, seqs: Keys, found: NDArray[np.float64], limit: int) -> list[NearVector]:
    """Return the `limit` best memories by their best vectors, and those equal to the last."""
    best: dict[int, NearVector] = {}
    order = np.argsort(-found, kind="stable")
    columns = keys[order].tolist(), seqs[order].tolist(), found[order].tolist()
    least = 0.0
    for key, seq, cosine in zip(*columns, strict=True):
        if len(best) >= limit and not cosine >= least:
            break
        if key not in best:
            best[key] = NearVector(key, seq, cosine)
            least = cosine
    return list(best.values())


def _sign_bytes(width: int) -> int:
    return -(-width // (8 * WORD)) * WORD


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
