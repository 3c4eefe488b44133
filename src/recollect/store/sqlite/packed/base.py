"""What the packed index reads: segments, and what it makes of them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Documents = NDArray[np.uint32]
Places = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]]
EVERY = slice(None)


class TokenCounts(Protocol):
    """The documents that hold a token, in order, the columns in which it stands, and for each of
    these columns how often it stands there, one number a document."""

    @property
    def documents(self) -> Documents: ...

    @property
    def columns(self) -> tuple[int, ...]: ...

    @property
    def frequencies(self) -> NDArray[np.integer]: ...


class Searchable(Protocol):
    """One index of one segment, or of the write buffer. `live` marks the documents that count;
    None: all do. `rows` and `tokens` are those of live documents."""

    @property
    def keys(self) -> NDArray[np.int64]: ...

    @property
    def lengths(self) -> NDArray[np.uint32]: ...

    @property
    def live(self) -> NDArray[np.bool_] | None: ...

    @property
    def rows(self) -> int: ...

    @property
    def tokens(self) -> int: ...

    def postings(self, token: str) -> TokenCounts | None:
        """What holds the token; None where nothing does."""

    def places(self, token: str) -> Places | None:
        """The document, the column and the position of each occurrence, in this order."""

    def beginning(self, start: str) -> list[str]:
        """The tokens that begin so, by alphabet."""

    def cells(self, start: str) -> Places | None:
        """The documents and columns in which tokens stand that begin so, and how often: for all of
        them together, or once for each token. In no order."""


class Hits:
    """Documents in order, and how often each holds a phrase: each count with the weight of its
    column."""

    __slots__ = ("counts", "documents")

    def __init__(self, documents: NDArray[np.integer], *counts: tuple[float, NDArray[Any]]) -> None:
        self.documents = documents
        self.counts = counts

    def frequencies(self, places: slice | NDArray[np.intp] = EVERY) -> NDArray[np.float64]:
        """The weighted frequency in each document, or in those at these places."""
        if not self.counts:
            return np.zeros(len(self.documents[places]))
        (weight, counts), *others = self.counts
        total: NDArray[np.float64] = counts[places] * weight
        for weight, counts in others:
            total += counts[places] * weight
        return total

    def at(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> Hits:
        """Those at these places."""
        counts = ((weight, counts[places]) for weight, counts in self.counts)
        return Hits(self.documents[places], *counts)

    def among(self, mask: NDArray[np.bool_] | None) -> Hits:
        """Those of documents that are marked."""
        return self if mask is None else self.at(mask[self.documents])


NO_HITS = Hits(np.zeros(0, np.uint32))
