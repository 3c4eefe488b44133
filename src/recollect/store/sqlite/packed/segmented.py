"""All segments of an index as a search reads them: as if they were one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any, Protocol

import apsw
import numpy as np

from recollect.store.sqlite.connection import LAST, as_json_list
from recollect.store.sqlite.packed.base import Documents, Places
from recollect.store.sqlite.packed.phrases import Node, asked_tokens
from recollect.store.sqlite.segments.postings import (
    Numbers,
    Postings,
    read_cells,
    read_places,
    read_postings,
)
from recollect.store.sqlite.segments.reader import PLACES, POSTINGS, STORED, SegmentedIndex

# Of one token: each row by itself takes as long as all of more together, if it has few documents.
FEW_ROWS, FEW_DOCUMENTS = 8, 64
PostingsRow = tuple[int, int, int, bytes]
PlacesRow = tuple[int, int, int, bytes, bytes]


class TokenRows(Protocol):
    """The rows of tokens in all segments of an index, each with the number of its segment, then its
    documents, bits and postings: at one moment, in order of the segments."""

    def prefetch(self, node: Node) -> None:
        """Read at once what an expression needs; what only a prefix finds comes later."""

    def postings(self, token: str) -> Sequence[PostingsRow]: ...

    def places(self, token: str) -> Sequence[PlacesRow]:
        """The same rows, and the places behind the postings."""

    def beginning(self, start: str) -> Sequence[PostingsRow]:
        """The rows of all tokens that begin so, in any order."""

    def tokens(self, start: str) -> Sequence[tuple[str, int]]:
        """These tokens by alphabet, and how many documents hold each, the dead included."""


class StoredTokenRows:
    """The rows in a vault in SQLite. One statement asks all segments for the postings that an
    expression needs; the places of phrases are read where a document has all their tokens."""

    def __init__(self, connection: apsw.Connection, index: SegmentedIndex) -> None:
        self._connection = connection
        numbers = ", ".join(map(str, index.numbers))
        within = f"p.segment IN ({numbers}) AND p.words = {index.words}"
        self._of_tokens = (
            f"SELECT p.token, p.segment, {POSTINGS} FROM json_each(?) j CROSS JOIN {STORED} "
            f"WHERE {within} AND p.token = j.value ORDER BY p.segment"
        )
        self._of_token = f"FROM {STORED} WHERE {within} AND p.token = ? ORDER BY p.segment"
        self._beginning = f"FROM {STORED} WHERE {within} AND p.token >= ? AND p.token < ?"
        self._postings: dict[str, list[PostingsRow]] = {}

    def prefetch(self, node: Node) -> None:
        tokens = set[str]().union(*asked_tokens(node))
        self._postings = {token: [] for token in tokens}
        rows = self._connection.execute(self._of_tokens, (as_json_list(tokens),))
        for token, *row in rows:
            self._postings[str(token)].append(tuple(row))

    def _rows(self, sql: str, *values: str) -> Any:
        return self._connection.execute(sql, values).fetchall()

    def postings(self, token: str) -> Sequence[PostingsRow]:
        if token in self._postings:
            return self._postings[token]
        rows: Sequence[PostingsRow]
        rows = self._rows(f"SELECT p.segment, {POSTINGS} {self._of_token}", token)
        return rows

    def places(self, token: str) -> Sequence[PlacesRow]:
        rows: Sequence[PlacesRow]
        rows = self._rows(f"SELECT p.segment, {POSTINGS}, {PLACES} {self._of_token}", token)
        return rows

    def beginning(self, start: str) -> Sequence[PostingsRow]:
        rows: Sequence[PostingsRow]
        sql = f"SELECT p.segment, {POSTINGS} {self._beginning}"
        rows = self._rows(sql, start, start + LAST)
        return rows

    def tokens(self, start: str) -> Sequence[tuple[str, int]]:
        rows: Sequence[tuple[str, int]]
        sql = f"SELECT p.token, sum(p.documents) {self._beginning} GROUP BY p.token"
        rows = self._rows(sql, start, start + LAST)
        return rows


class SegmentedSearch:
    """One index of all segments, within a transaction. What is read of all of them becomes one
    array: the time hardly depends on how many segments there are."""

    def __init__(self, rows: TokenRows, index: SegmentedIndex) -> None:
        self._rows = rows
        bounds = zip(index.starts, index.starts[1:], strict=False)
        self._bounds = dict(zip(index.numbers, bounds, strict=True))
        self.keys, self.lengths = index.keys, index.lengths
        self.live, self.rows, self.tokens = index.live, index.rows, index.tokens
        self.prefetch = rows.prefetch

    def postings(self, token: str) -> Postings | None:
        """The token's documents, the dead included, and its frequencies."""
        rows = self._rows.postings(token)
        if not rows:
            return None
        with _damage_told():
            found: list[Postings] = []
            for few, group in groupby(rows, lambda row: row[1] <= FEW_DOCUMENTS):
                some = [*group]
                if few and len(some) > FEW_ROWS:
                    found.append(_of_cells(self._cells(some)))
                else:
                    found += (self._postings(*row) for row in some)
            return _together(found)

    def _postings(self, segment: int, *row: Any) -> Postings:
        found = read_postings(*row)
        return found._replace(documents=self._moved(segment, found.documents))

    def places(self, token: str) -> Places | None:
        """Every occurrence of the token, those in dead documents included."""
        rows = self._rows.places(token)
        if not rows:
            return None
        with _damage_told():
            found = [read_places(*row[1:]) for row in rows]
            moved = [self._moved(r[0], one.documents) for r, one in zip(rows, found, strict=True)]
        if len(found) == 1:
            return moved[0], found[0].columns, found[0].positions
        columns = np.concatenate([one.columns for one in found])
        return np.concatenate(moved), columns, np.concatenate([one.positions for one in found])

    def cells(self, start: str) -> Places | None:
        """The documents and columns in which tokens stand that begin so, and how often: once for
        each token, in no order, the dead included."""
        rows = self._rows.beginning(start)
        if not rows:
            return None
        with _damage_told():
            return self._cells(rows)

    def _cells(self, rows: Sequence[PostingsRow]) -> Places:
        return read_cells([row[1:] for row in rows], [self._bounds[row[0]] for row in rows])

    def beginning(self, start: str) -> list[str]:
        """The tokens of live documents that begin so, by alphabet."""
        dead = len(self.keys) - self.rows
        # What stands in more documents than are dead stands in a live one.
        return [
            token
            for token, documents in self._rows.tokens(start)
            if documents > dead or self._is_live(token)
        ]

    def _is_live(self, token: str) -> bool:
        """Whether a live document holds the token."""
        found = self.postings(token)
        return found is not None and (self.live is None or bool(self.live[found.documents].any()))

    def _moved(self, segment: int, documents: Numbers) -> Documents:
        """The documents of a row of this segment by their numbers among those of all."""
        start, end = self._bounds[segment]
        if int(documents.max()) >= end - start:
            raise ValueError("it has no such document")
        moved: Documents = documents.astype(np.int64, copy=False) + start
        return moved


def _of_cells(cells: Places) -> Postings:
    """The postings of one token in many small segments, which are quicker read together."""
    documents, places = np.unique(cells[0], return_inverse=True)
    columns, inside = np.unique(cells[1], return_inverse=True)
    frequencies = np.zeros((len(columns), len(documents)), cells[2].dtype)
    frequencies[inside, places] = cells[2]
    return Postings(documents.astype(np.int64, copy=False), tuple(columns.tolist()), frequencies)


def _together(found: Sequence[Postings]) -> Postings:
    """Postings of segments one behind the other as one."""
    if len(found) == 1:
        return found[0]
    columns = sorted({column for postings in found for column in postings.columns})
    kind = np.result_type(*(postings.frequencies.dtype for postings in found))
    frequencies = np.zeros((len(columns), sum(len(postings.documents) for postings in found)), kind)
    start = 0
    for postings in found:
        end = start + len(postings.documents)
        for column, times in zip(postings.columns, postings.frequencies, strict=True):
            frequencies[columns.index(column), start:end] = times
        start = end
    documents = np.concatenate([postings.documents for postings in found])
    return Postings(documents, tuple(columns), frequencies)


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise apsw.CorruptError(f"a segment cannot be read: {error}") from error
