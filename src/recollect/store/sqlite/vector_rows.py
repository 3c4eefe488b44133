"""The rows of one model's vectors and the search in them. Few are compared as they are; of many, a
quantised scan proposes candidates, and their true cosines decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.errors import DimensionMismatch
from recollect.store.base import StoredVector
from recollect.store.sqlite import scan
from recollect.store.sqlite.scan import Codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.base import Vector

    Keys = NDArray[np.int64]
    Rows = NDArray[np.intp]
    Mask = NDArray[np.bool_]
    # Reads the vectors with these `seq`s from the vault: those that are there, and the vectors.
    Read = Callable[[Keys], tuple[Keys, Vector]]

# Up to so many rows are compared as they are: that takes about a millisecond, and needs no codes.
EXACT_ROWS = 16_384
# So few that pass a filter are read from the vault and compared rather than looked for by code.
FEW_ROWS = 1024
# Where a larger share passes a filter, the codes of all are scanned nearly as quickly.
MOST_ALONE = 0.25
# Taking the code of a row out costs about as much as scanning so many: where one in a hundred
# passes, the codes are taken out for the second search, where one in ten does, for the thirteenth.
ALONE_COST = 128
# So many are proposed. Chosen by benchmarks/bench_vectors.py: the true nearest are among them.
WIDE = 192
WIDE_PER_RESULT = 6
READ_ROWS = 4096
HEADROOM = 1.25


class VectorRows(NamedTuple):
    """What a search reads: the rows up to `size`, by ascending `seq`. Rows after it may just be
    being written. With `codes` the vectors themselves are not in memory."""

    size: int
    vectors: Vector
    codes: Codes | None
    seqs: Keys
    keys: Keys
    alive: Mask


class PassingRows(NamedTuple):
    """The rows that a search looks at: those that are there and pass its filter. `codes`: those of
    the passing `rows` by themselves, where the filter was `asked` for often enough."""

    stored: VectorRows
    mask: Mask
    total: int
    asked: int = 0
    rows: Rows | None = None
    codes: Codes | None = None


class NearRow(NamedTuple):
    """A memory, and the row and cosine of its best passage."""

    key: int
    row: int
    cosine: float


def with_room(count: int, width: int, codes: Codes | None = None) -> VectorRows:
    """No row yet, and room for `count` and some more."""
    capacity = int(count * HEADROOM) + READ_ROWS
    return VectorRows(
        0,
        np.empty((capacity, width if codes is None else 0), np.float32),
        codes,
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.zeros(capacity, np.bool_),
    )


def grown(stored: VectorRows, more: int) -> VectorRows:
    """The same rows with room for `more`; copied only where there is not enough."""
    needed = stored.size + more
    if needed <= len(stored.keys):
        return stored
    larger = with_room(needed, stored.vectors.shape[1], stored.codes)
    for array in ("vectors", "seqs", "keys", "alive"):
        getattr(larger, array)[: stored.size] = getattr(stored, array)[: stored.size]
    return larger._replace(size=stored.size)


def appended(stored: VectorRows, seqs: Keys, keys: Keys, vectors: Vector) -> VectorRows:
    """The rows and these behind them."""
    stored = grown(stored, len(seqs))
    first, last = stored.size, stored.size + len(seqs)
    if stored.codes is not None:
        stored.codes.add(vectors)
    else:
        stored.vectors[first:last] = vectors
    stored.seqs[first:last], stored.keys[first:last] = seqs, keys
    stored.alive[first:last] = True
    return stored._replace(size=last)


def coded(stored: VectorRows) -> VectorRows:
    """The same rows; codes in place of the vectors where there are too many to compare all."""
    if stored.codes is not None or stored.size <= EXACT_ROWS:
        return stored
    rows = stored.vectors[: stored.size]
    points = scan.learned(rows)
    made = None if points is None else scan.codes(rows.shape[1], points)
    if made is None:
        return stored
    made.add(rows)
    return stored._replace(codes=made, vectors=np.empty((len(stored.keys), 0), np.float32))


def shaped(rows: Vector, dimensions: int) -> Vector:
    """The rows cut to so many dimensions and normalised again; 0 leaves them as they are."""
    if not 0 < dimensions < rows.shape[1]:
        return rows
    cut = rows[:, :dimensions]
    lengths = np.linalg.norm(cut, axis=1, keepdims=True)
    unit: Vector = (cut / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit


def passing(stored: VectorRows, among: Keys | None, without: Keys | tuple[()]) -> PassingRows:
    """The rows of the memories with these keys (None: of all), without those to leave out."""
    keys, alive = stored.keys[: stored.size], stored.alive[: stored.size]
    mask = alive
    if among is not None or len(without):
        chosen = np.zeros(int(keys.max(initial=0)) + 1, np.bool_)  # by key: quicker than np.isin
        wanted = np.asarray(without if among is None else among, np.int64)
        chosen[wanted[wanted < len(chosen)]] = True
        listed: Mask = chosen[keys]
        mask = alive & ~listed if among is None else alive & listed
    return PassingRows(stored, mask, int(np.count_nonzero(mask)))


def asked_again(passing: PassingRows) -> PassingRows:
    """The rows for one more search; with the codes of the passing rows by themselves as soon as
    scans of all rows would have cost as much."""
    stored, asked = passing.stored, passing.asked + 1
    most = stored.size * min(MOST_ALONE, asked / ALONE_COST)
    passing = passing._replace(asked=asked)
    if stored.codes is None or passing.codes or not FEW_ROWS < passing.total <= most:
        return passing
    rows = np.flatnonzero(passing.mask)
    return passing._replace(rows=rows, codes=stored.codes.only(rows))


def nearest(passing: PassingRows, query: Vector, limit: int, read: Read) -> list[NearRow]:
    """The `limit` best memories among the passing rows, and every one as good as the last."""
    stored, wanted = passing.stored, limit
    while True:
        if stored.codes is None:
            rows = _chosen(stored, query, wanted, passing.mask)
            cosines = exact(stored.vectors[rows], query)
        else:
            proposed = _proposed(stored.codes, query, wanted, passing)
            rows, cosines = _read(stored, proposed, query, read)
        best = by_memory(stored.keys[rows], rows, cosines, limit)
        if len(best) >= limit or wanted >= stored.size:
            return best
        wanted *= 4  # several passages of one memory stood among the best


def _chosen(stored: VectorRows, query: Vector, count: int, passing: Mask) -> Rows:
    """Rows that contain the best `count` and all that equal the last of them."""
    places: Rows = np.flatnonzero(passing)
    if len(places) <= count:
        return places
    # A matrix product rounds the same vector differently in different rows: near the cut it cannot
    # decide, so what is near enough stays. Of many rows, it is quicker to compare all.
    if len(places) > EXACT_ROWS:
        rough = (stored.vectors[: stored.size] @ query)[places]
    else:
        rough = stored.vectors[places] @ query
    least = np.partition(rough, len(rough) - count)[len(rough) - count]
    # How far apart two float32 products of the same unit vectors can be, at most.
    roughness = 2 * len(query) * float(np.finfo(np.float32).eps)
    near: Rows = places[rough >= least - roughness]
    return near


def _read(
    stored: VectorRows, rows: Rows, query: Vector, read: Read
) -> tuple[Rows, NDArray[np.float64]]:
    """The rows that the vault has, and their cosines."""
    rows = np.sort(rows)  # neighbours stand on one page
    seqs, vectors = read(stored.seqs[rows])
    if len(seqs) < len(rows):  # removed since, or not yet there for this reader
        rows = rows[np.isin(stored.seqs[rows], seqs)]
    return rows, exact(vectors, query)


def _proposed(codes: Codes, query: Vector, count: int, passing: PassingRows) -> Rows:
    """The rows that are nearest by code among those that pass; all of them where they are few. So
    many more are asked for as do not pass, and more again where too few are left: those that pass
    may lie far from the query."""
    mask, total = passing.mask, passing.total
    if total <= max(count, FEW_ROWS):
        return np.flatnonzero(mask)
    wanted = min(max(WIDE, WIDE_PER_RESULT * count), total)
    if passing.rows is not None and passing.codes is not None:
        found = passing.codes.proposed(query, wanted + scan.BLOCK)  # what fills up a block is none
        alone: Rows = passing.rows[found[found < total]][:wanted]
        return alone
    size = len(mask)
    asked = wanted * size // total
    while True:
        found = codes.proposed(query, asked)
        found = found[found < size]
        left: Rows = found[mask[found]][:wanted]
        if len(left) >= min(wanted, max(2 * count, wanted // 2)) or asked >= size:
            return left
        asked *= 4


def exact(rows: Vector, query: Vector) -> NDArray[np.float64]:
    """Each row's product with the query, the same for the same row wherever it stands."""
    products: NDArray[np.float64] = np.einsum("ij,j->i", rows, query, dtype=np.float64)
    return products


def by_memory(keys: Keys, rows: Rows, cosines: NDArray[np.float64], limit: int) -> list[NearRow]:
    """Each memory once, by its best row, best first: `limit` of them, and those as good as the last
    of these."""
    best: dict[int, NearRow] = {}
    order = np.argsort(-cosines, kind="stable")
    columns = keys[order].tolist(), rows[order].tolist(), cosines[order].tolist()
    least = 0.0
    for key, row, cosine in zip(*columns, strict=True):
        if len(best) >= limit and not cosine >= least:
            break
        if key not in best:
            best[key] = NearRow(key, row, cosine)
            least = cosine
    return list(best.values())


def best_cosines(
    ids: Sequence[str], vectors: Sequence[bytes], vector: Vector, dimensions: int
) -> dict[str, float]:
    """The cosine of each of these memories, which are named once for each vector: its best
    passage's."""
    if not vectors:
        return {}
    rows = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
    if rows.shape[1] != len(vector):
        raise DimensionMismatch(rows.shape[1], len(vector))
    query = shaped(vector[None, :], dimensions)[0]
    best: dict[str, float] = {}
    for id, cosine in zip(ids, exact(shaped(rows, dimensions), query).tolist(), strict=True):
        best[id] = max(cosine, best.get(id, cosine))
    return best


def nearest_rows(ids: Sequence[str], vectors: Sequence[bytes], vector: Vector) -> dict[str, int]:
    """Of each of these memories, which are named once for each vector, the row of the nearest."""
    if not vectors:
        return {}
    rows = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
    if rows.shape[1] != len(vector):
        raise DimensionMismatch(rows.shape[1], len(vector))
    order = np.argsort(exact(rows, vector), kind="stable").tolist()
    return {ids[row]: row for row in order}  # the last of a memory is its nearest


def between(stored: Mapping[str, Sequence[StoredVector]]) -> dict[tuple[str, str], float]:
    """The cosine of each pair of these memories, in this order. A memory in passages has no vector
    of its own and is left out."""
    whole = {id: vectors[0].vector for id, vectors in stored.items() if len(vectors) == 1}
    if not whole:
        return {}
    rows = np.stack(list(whole.values()))
    cosines = np.einsum("ik,jk->ij", rows, rows, dtype=np.float64).tolist()
    return {
        (one, other): cosines[i][j] for (i, one), (j, other) in combinations(enumerate(whole), 2)
    }
