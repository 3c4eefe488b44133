"""All segments of an index, read as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.index.joining import read_rows
from recollect.index.phrases import Node
from recollect.index.postings import Numbers, Postings, PostingsRow, read_cells, read_postings
from recollect.index.segments import SegmentedIndex

Documents = NDArray[np.int64]
Places = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]]
EVERY = slice(None)
SEGMENT = itemgetter(0)  # of a row. SQLite, which would copy all postings to sort them, does not
LARGE = 256  # documents of a row that is quicker read by itself
PlacesRow = tuple[int, int, int, bytes, bytes]


class Hits:
    """Documents in order, and how often each holds a phrase: the counts of each column with its
    weight."""

    __slots__ = ("counts", "documents")

    def __init__(self, documents: NDArray[np.integer], *counts: tuple[float, NDArray[Any]]) -> None:
        self.documents = documents
        self.counts = counts

    def frequencies(self, places: slice | NDArray[np.intp] = EVERY) -> NDArray[np.float64]:
        """Return the weighted frequency in each document, or in those at these places."""
        if not self.counts:
            return np.zeros(len(self.documents[places]))
        (weight, counts), *others = self.counts
        total: NDArray[np.float64] = counts[places] * weight
        for weight, counts in others:
            total += counts[places] * weight
        return total

    def at(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> Hits:
        """Return the hits at these places."""
        counts = ((weight, counts[places]) for weight, counts in self.counts)
        return Hits(self.documents[places], *counts)

    def among(self, mask: NDArray[np.bool_] | None) -> Hits:
        """Return the hits in marked documents."""
        return self if mask is None else self.at(mask[self.documents])


NO_HITS = Hits(np.zeros(0, np.int64))


class TokenRows(Protocol):
    """The rows of tokens in all segments of an index, in one snapshot: each row has the number of
    its segment, then its documents, bits and postings, in order of the segments."""

    def prefetch(self, node: Node) -> None:
        """Read at once what an expression needs; tokens of prefixes are read later."""

    def postings(self, token: str) -> Sequence[PostingsRow]: ...

    def places(self, tokens: Sequence[str]) -> Sequence[PlacesRow]:
        """Return the rows of all these tokens, in order of the segments, with the positions
        last."""

    def beginning(self, start: str) -> Sequence[PostingsRow]:
        """Return the rows of all tokens that begin with `start`, in any order."""

    def tokens(self, start: str) -> Sequence[tuple[str, int]]:
        """Return these tokens, sorted, with the number of their documents, the dead included."""

    def damaged(self, what: str) -> Exception:
        """Return the store's error for rows that are not what was written."""


class SegmentedSearch:
    """One index of all segments, within a transaction. Rows of all segments become one array, so
    the time hardly depends on the number of segments."""

    def __init__(self, rows: TokenRows, index: SegmentedIndex) -> None:
        self._rows = rows
        bounds = zip(index.starts, index.starts[1:], strict=False)
        self._bounds = dict(zip(index.numbers, bounds, strict=True))
        self.keys, self.lengths = index.keys, index.lengths
        self.live, self.rows, self.tokens = index.live, index.rows, index.tokens
        self.prefetch = rows.prefetch

    def postings(self, token: str) -> Postings | None:
        """Return the token's documents, the dead included, and its frequencies."""
        rows = self._rows.postings(token)
        with self._telling_damage():
            return read_postings(rows, self._bounds) if rows else None

    def places(self, tokens: Sequence[str]) -> list[Places]:
        """Return every occurrence of these tokens, segment by segment, those in dead documents
        included. They are in order for a single token only."""
        found: list[Places] = []
        with self._telling_damage():
            for segment, rows in groupby(self._rows.places(tokens), SEGMENT):
                places = read_rows([("", *row[1:]) for row in rows], {"": 0}).places
                found.append((self._moved(segment, places.documents), *places[1:]))
        return found

    def cells(self, start: str) -> tuple[list[Postings], Places | None]:
        """Return the tokens that begin with `start`, the dead included: the postings of each common
        one, and the unordered cells of the others."""
        rows = self._rows.beginning(start)
        small = [row for row in rows if row[1] < LARGE]
        with self._telling_damage():
            large = [read_postings([row], self._bounds) for row in rows if row[1] >= LARGE]
            return large, read_cells(small, self._bounds) if small else None

    def beginning(self, start: str) -> list[str]:
        """Return the tokens of live documents that begin with `start`, sorted."""
        dead = len(self.keys) - self.rows
        # A token in more documents than are dead is in a live one.
        return [
            token
            for token, documents in self._rows.tokens(start)
            if documents > dead or self._is_live(token)
        ]

    def _is_live(self, token: str) -> bool:
        """Return True if a live document holds the token."""
        found = self.postings(token)
        return found is not None and (self.live is None or bool(self.live[found.documents].any()))

    def _moved(self, segment: int, documents: Numbers) -> Documents:
        """Return the documents of a row of this segment by their numbers among all documents."""
        start, end = self._bounds[segment]
        if int(documents.max()) >= end - start:
            raise ValueError("it has no such document")
        moved: Documents = documents.astype(np.int64, copy=False) + start
        return moved

    @contextmanager
    def _telling_damage(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, TypeError, LookupError) as error:
            raise self._rows.damaged(f"a segment cannot be read: {error}") from error
