"""The rows of one model's vectors and the search in them: a quantised scan proposes candidates,
true cosines decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect.store.base import StoredVector, VectorMatch
from recollect.store.sqlite.scan import Codes, learned
from recollect.types import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.base import Vector

    Keys = NDArray[np.int64]
    Rows = NDArray[np.intp]

# Up to so many rows are compared as they are: that takes about a millisecond, and needs no codes.
EXACT_ROWS = 16_384
# Of a filter that lets pass fewer than this share, too few proposals would be left.
MOST_LEFT_OUT = 0.5
READ_ROWS = 4096
HEADROOM = 1.25


class VectorRows(NamedTuple):
    """What a search reads: the rows up to `size`. Rows after it may just be being written."""

    size: int
    vectors: Vector
    codes: Codes | None
    keys: Keys
    spans: NDArray[np.int32]
    alive: NDArray[np.bool_]
    ids: list[str]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays with a row per vector."""
        return self.vectors, self.keys, self.spans, self.alive


def with_room(count: int, width: int) -> VectorRows:
    """No row yet, and room for `count` and some more."""
    capacity = int(count * HEADROOM) + READ_ROWS
    return VectorRows(
        0,
        np.empty((capacity, width), np.float32),
        None,
        np.empty(capacity, np.int64),
        np.empty((capacity, 3), np.int32),
        np.zeros(capacity, np.bool_),
        [],
    )


def grown(stored: VectorRows, more: int) -> VectorRows:
    """The same rows with room for `more`; copied only where there is not enough."""
    needed = stored.size + more
    if needed <= len(stored.vectors):
        return stored
    # The codes are learned again, not copied: rows that came since may be of another kind.
    larger = with_room(needed, stored.vectors.shape[1])
    stored = stored._replace(codes=None)
    for old, new in zip(stored.arrays(), larger.arrays(), strict=True):
        new[: stored.size] = old[: stored.size]
    return larger._replace(size=stored.size, ids=stored.ids)


def with_codes(stored: VectorRows) -> VectorRows:
    """The same rows, with codes where there are enough rows to need them."""
    if stored.codes is not None or stored.size <= EXACT_ROWS:
        return stored
    return stored._replace(codes=learned(stored.vectors[: stored.size]))


def nearest(
    stored: VectorRows, query: Vector, limit: int, passing: Rows | None
) -> list[VectorMatch]:
    """The `limit` best memories among the passing rows, and every one as good as the last."""
    wanted = limit
    while True:
        chosen = _chosen(stored, query, wanted, passing)
        best = by_memory(stored, chosen, exact(stored.vectors[chosen], query))
        if len(best) >= limit or wanted >= stored.size:
            return _cut(best, limit)
        wanted *= 4  # several passages of one memory stood among the best


def _chosen(stored: VectorRows, query: Vector, count: int, passing: Rows | None) -> Rows:
    """Rows that contain the best `count` and all that equal the last of them."""
    if stored.codes is not None:
        passing = _proposed(stored, stored.codes, query, count, passing)
    places = np.arange(stored.size) if passing is None else passing
    if len(places) <= count:
        return places
    # A matrix product rounds the same vector differently in different rows: near the cut it cannot
    # decide, so what is near enough stays. Of many rows, it is quicker to compare all.
    if len(places) > EXACT_ROWS:
        rough = (stored.vectors[: stored.size] @ query)[places]
    else:
        rough = stored.vectors[places] @ query
    least = np.partition(rough, len(rough) - count)[len(rough) - count]
    near: Rows = places[rough >= least - _roughness(len(query))]
    return near


def _proposed(
    stored: VectorRows, codes: Codes, query: Vector, count: int, passing: Rows | None
) -> Rows | None:
    """The rows worth comparing: those that the codes propose. All that pass, where they are few or
    where the filter leaves out so many that too few proposals would remain."""
    if passing is None:
        found = codes.proposed(query, count)
        return found[found < stored.size]
    if len(passing) <= EXACT_ROWS or len(passing) < MOST_LEFT_OUT * stored.size:
        return passing
    chosen = np.zeros(stored.size, np.bool_)
    chosen[passing] = True
    found = codes.proposed(query, int(count / MOST_LEFT_OUT))
    found = found[found < stored.size]
    left: Rows = found[chosen[found]]
    return left if len(left) > count else passing


def _roughness(dimensions: int) -> float:
    """How far apart two float32 products of the same unit vectors can be, at most."""
    return 2 * dimensions * float(np.finfo(np.float32).eps)


def exact(rows: Vector, query: Vector) -> NDArray[np.float64]:
    """Each row's product with the query, the same for the same row wherever it stands."""
    products: NDArray[np.float64] = np.einsum("ij,j->i", rows, query, dtype=np.float64)
    return products


def by_memory(stored: VectorRows, rows: Rows, cosines: NDArray[np.float64]) -> list[VectorMatch]:
    """Each memory once, by its best passage, best first."""
    best: dict[int, VectorMatch] = {}
    order = np.argsort(-cosines, kind="stable")
    ordered = rows[order]
    columns = ordered, stored.keys[ordered], cosines[order], stored.spans[ordered]
    for row, key, cosine, (passage, start, stop) in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        if key not in best:
            best[key] = VectorMatch(stored.ids[row], cosine, passage, Span(start, stop), key)
    return list(best.values())


def _cut(best: list[VectorMatch], limit: int) -> list[VectorMatch]:
    """The first `limit`, and those as good as the last of them."""
    if len(best) <= limit:
        return best
    least = best[limit - 1].score
    return [near for near in best if near.score >= least]


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
