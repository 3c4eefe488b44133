"""All segments of an index as a search reads them: as if they were one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import apsw
import numpy as np

from recollect.store.sqlite.connection import LAST
from recollect.store.sqlite.packed.base import Documents, Places
from recollect.store.sqlite.segments.postings import (
    Numbers,
    Postings,
    read_cells,
    read_places,
    read_postings,
)
from recollect.store.sqlite.segments.reader import PLACES, POSTINGS, STORED, SegmentedIndex


class SegmentedSearch:
    """One index of all segments, within a transaction. One statement asks all of them, and what it
    finds becomes one array: the time hardly depends on how many segments there are."""

    def __init__(self, connection: apsw.Connection, index: SegmentedIndex) -> None:
        self._execute = connection.execute
        bounds = zip(index.starts, index.starts[1:], strict=False)
        self._bounds = dict(zip(index.numbers, bounds, strict=True))
        self.keys, self.lengths = index.keys, index.lengths
        self.live, self.rows, self.tokens = index.live, index.rows, index.tokens
        numbers = ", ".join(map(str, index.numbers))
        within = f"FROM {STORED} WHERE p.segment IN ({numbers}) AND p.words = {index.words}"
        self._of_token = f"{within} AND p.token = ? ORDER BY p.segment"
        self._beginning = f"{within} AND p.token >= ? AND p.token < ?"

    def documents(self, token: str) -> int:
        """How many live documents hold the token."""
        if self.live is not None:
            found = self.postings(token)
            return 0 if found is None else int(self.live[found.documents].sum())
        return int(self._execute(f"SELECT total(p.documents) {self._of_token}", (token,)).get)

    def postings(self, token: str) -> Postings | None:
        """The token's documents, the dead included, and its frequencies."""
        rows = self._execute(f"SELECT p.segment, {POSTINGS} {self._of_token}", (token,)).fetchall()
        if not rows:
            return None
        with _damage_told():
            found = [read_postings(*row) for _, *row in rows]  # type: ignore[arg-type]
            moved = self._moved([row[0] for row in rows], [one.documents for one in found])
            return _together(moved, found)

    def places(self, token: str) -> Places | None:
        """Every occurrence of the token, those in dead documents included."""
        sql = f"SELECT p.segment, {POSTINGS}, {PLACES} {self._of_token}"
        rows = self._execute(sql, (token,)).fetchall()
        if not rows:
            return None
        with _damage_told():
            found = [read_places(*row) for _, *row in rows]  # type: ignore[arg-type]
            moved = self._moved([row[0] for row in rows], [one.documents for one in found])
        if len(found) == 1:
            return moved[0], found[0].columns, found[0].positions
        columns = np.concatenate([one.columns for one in found])
        return np.concatenate(moved), columns, np.concatenate([one.positions for one in found])

    def cells(self, start: str) -> Places | None:
        """The documents and columns in which tokens stand that begin so, and how often: once for
        each token, in no order, the dead included."""
        sql = f"SELECT p.segment, {POSTINGS} {self._beginning}"
        rows = self._execute(sql, (start, start + LAST)).fetchall()
        if not rows:
            return None
        with _damage_told():
            bounds = [self._bounds[row[0]] for row in rows]  # type: ignore[index]
            return read_cells([row[1:] for row in rows], bounds)  # type: ignore[misc]

    def beginning(self, start: str) -> list[str]:
        """The tokens of live documents that begin so, by alphabet."""
        sql = f"SELECT p.token, sum(p.documents) {self._beginning} GROUP BY p.token"
        dead = len(self.keys) - self.rows
        rows = self._execute(sql, (start, start + LAST)).fetchall()
        # What stands in more documents than are dead stands in a live one.
        return [
            str(token)
            for token, documents in rows
            if int(documents) > dead or self.documents(str(token))  # type: ignore[arg-type]
        ]

    def _moved(self, segments: Iterable[object], every: Iterable[Numbers]) -> list[Documents]:
        """The documents of rows of these segments by their numbers among those of all."""
        moved: list[Documents] = []
        for segment, documents in zip(segments, every, strict=True):
            start, end = self._bounds[segment]  # type: ignore[index]
            if int(documents.max()) >= end - start:
                raise ValueError("it has no such document")
            moved.append(documents.astype(np.int64, copy=False) + start)
        return moved


def _together(documents: Sequence[Documents], found: Sequence[Postings]) -> Postings:
    """Postings as one, where their documents have these numbers."""
    if len(found) == 1:
        return found[0]._replace(documents=documents[0])
    columns = sorted({column for one in found for column in one.columns})
    kind = np.result_type(*(one.frequencies.dtype for one in found))
    frequencies = np.zeros((len(columns), sum(map(len, documents))), kind)
    start = 0
    for one in found:
        end = start + len(one.documents)
        for column, times in zip(one.columns, one.frequencies, strict=True):
            frequencies[columns.index(column), start:end] = times
        start = end
    return Postings(np.concatenate(documents), tuple(columns), frequencies)


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise apsw.CorruptError(f"a segment cannot be read: {error}") from error
