"""What the packed index makes of segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Documents = NDArray[np.int64]
Places = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]]
EVERY = slice(None)


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


NO_HITS = Hits(np.zeros(0, np.int64))
