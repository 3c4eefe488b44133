"""Segments in memory: all segments of an index read as one, and several joined into one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.index import Row
from recollect.index.phrases import Node
from recollect.index.postings import (
    Numbers,
    Occurrences,
    Places,
    Postings,
    PostingsRow,
    encode_rows,
    join_occurrences,
    read_cells,
    read_postings,
    read_rows,
    select_occurrences,
)

Keys = NDArray[np.int64]
Mask = NDArray[np.bool_]
DocumentNumbers = NDArray[np.int64]
EVERY = slice(None)
SEGMENT = itemgetter(0)  # of a row. Sorting by it in SQLite would copy all postings
LARGE = 256  # documents of a row that is read alone, which is quicker
PlacesRow = tuple[int, int, int, bytes, bytes]
# Reads the tokens after this one: returns the last token read, None at the end, and the rows of
# each source in token order.
ReadBehind = Callable[[str], tuple[str | None, list[list[Row]]]]


class SegmentSource(Protocol):
    """The segments of a vault in one snapshot, in any database."""

    def changes(self, after: int) -> Sequence[tuple[int, int]]:
        """Return the log after this entry: memories, and the last segment each changed for."""

    def documents(self, number: int, words: int) -> Documents: ...


class Documents(NamedTuple):
    """The documents of one index of one segment."""

    keys: Keys  # ascending
    lengths: NDArray[np.uint32]


class Segment(NamedTuple):
    """One index of one segment in one snapshot. `live`: which documents count; None for all."""

    number: int
    words: int
    keys: Keys
    lengths: NDArray[np.uint32]
    live: Mask | None

    @property
    def place(self) -> tuple[int, int]:
        return self.number, self.words

    @property
    def rows(self) -> int:
        """The number of live documents."""
        return len(self.keys) if self.live is None else int(self.live.sum())


class SegmentedIndex(NamedTuple):
    """One index of all segments, with the changes up to `seq`. Its documents are those of the
    segments, one segment after the other; `rows` and `tokens` count the live ones."""

    seq: int
    numbers: tuple[int, ...]
    words: int
    starts: list[int]  # of each segment, and the end
    keys: Keys
    lengths: NDArray[np.uint32]
    live: Mask | None
    rows: int
    tokens: int

    def each(self) -> list[Segment]:
        parts = map(slice, self.starts, self.starts[1:])
        return [
            Segment(
                number,
                self.words,
                self.keys[part],
                self.lengths[part],
                None if self.live is None else self.live[part],
            )
            for number, part in zip(self.numbers, parts, strict=True)
        ]


class Changes(NamedTuple):
    """The log up to `seq`: the keys of memories, and the last segment that each was changed for."""

    numbers: tuple[int, ...]
    seq: int
    memories: Keys
    segments: Keys


class SegmentCache:
    """Segments in memory, shared by threads that read different snapshots."""

    def __init__(self) -> None:
        nothing = np.zeros(0, np.int64)
        self._changes = Changes((), 0, nothing, nothing)
        self._indexes: dict[int, SegmentedIndex] = {}

    def changes(self, source: SegmentSource, numbers: tuple[int, ...], seq: int) -> Changes:
        known = self._changes
        if (known.numbers, known.seq) == (numbers, seq):
            return known
        follows = known.seq <= seq
        rows = source.changes(known.seq if follows else 0) if known.seq != seq else ()
        read = np.array(rows, np.int64).reshape(-1, 2).T
        before = (known.memories, known.segments) if follows else read[:, :0]
        both = (np.concatenate(two) for two in zip(before, read, strict=True))
        new = Changes(numbers, seq, *both)
        if seq >= known.seq:  # otherwise another thread has read further
            self._changes = new
        return new

    def index(self, source: SegmentSource, words: int, changes: Changes) -> SegmentedIndex:
        known = self._indexes.get(words)
        if known is not None and (known.numbers, known.seq) == (changes.numbers, changes.seq):
            return known
        if known is not None and known.numbers == changes.numbers:
            new = _apply_changes(known, changes)
        else:
            read = {} if known is None else {one.number: one for one in known.each()}
            parts = [
                read.get(number) or source.documents(number, words) for number in changes.numbers
            ]
            starts = np.cumsum([0, *(len(part.keys) for part in parts)]).tolist()
            keys = np.concatenate([part.keys for part in parts])
            lengths = np.concatenate([part.lengths for part in parts])
            every = SegmentedIndex(0, changes.numbers, words, starts, keys, lengths, None, 0, 0)
            new = _apply_changes(every, changes)
        if known is None or known.seq <= changes.seq:
            self._indexes[words] = new
        return new


def _apply_changes(index: SegmentedIndex, changes: Changes) -> SegmentedIndex:
    """Return the index with these changes applied."""
    live: Mask | None = None
    for segment, start in zip(
        index.each() if len(changes.memories) else (), index.starts, strict=False
    ):
        dead = changed_places(segment.keys, changes.memories[changes.segments >= segment.number])
        if len(dead):
            live = np.ones(len(index.keys), np.bool_) if live is None else live
            live[start + dead] = False
    tokens = index.lengths.sum(dtype=np.int64, where=True if live is None else live)
    rows = len(index.keys) if live is None else np.count_nonzero(live)
    return index._replace(seq=changes.seq, live=live, rows=int(rows), tokens=int(tokens))


def changed_places(keys: Keys, memories: Keys) -> NDArray[np.intp]:
    if not len(keys):
        return np.zeros(0, np.intp)
    places = np.minimum(np.searchsorted(keys, memories), len(keys) - 1)
    found: NDArray[np.intp] = places[keys[places] == memories]
    return found


class Hits:
    """Documents in order, and how often each holds a phrase: counts of each column, weighted."""

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
        counts = ((weight, counts[places]) for weight, counts in self.counts)
        return Hits(self.documents[places], *counts)

    def among(self, mask: NDArray[np.bool_] | None) -> Hits:
        return self if mask is None else self.at(mask[self.documents])


NO_HITS = Hits(np.zeros(0, np.int64))


class TokenRows(Protocol):
    """The rows of tokens in all segments of an index, in one snapshot: each row has the number of
    its segment, then its documents, bits and postings, in order of the segments."""

    def prefetch(self, node: Node) -> None:
        """Read at once what an expression needs; tokens of prefixes are read later."""

    def postings(self, token: str) -> Sequence[PostingsRow]: ...

    def places(self, tokens: Sequence[str]) -> Sequence[PlacesRow]:
        """Return the rows of these tokens in order of the segments, positions last."""

    def beginning(self, start: str) -> Sequence[PostingsRow]:
        """Return the rows of all tokens that begin with `start`, in any order."""

    def tokens(self, start: str) -> Sequence[tuple[str, int]]:
        """Return these tokens, sorted, with the number of their documents, the dead included."""

    def damage_error(self, what: str) -> Exception:
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
                found.append(places._replace(documents=self._renumber(segment, places.documents)))
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
        found = self.postings(token)
        return found is not None and (self.live is None or bool(self.live[found.documents].any()))

    def _renumber(self, segment: int, documents: Numbers) -> DocumentNumbers:
        """Return the documents of a row of this segment by their numbers among all documents."""
        start, end = self._bounds[segment]
        if int(documents.max()) >= end - start:
            raise ValueError("it has no such document")
        moved: DocumentNumbers = documents.astype(np.int64, copy=False) + start
        return moved

    @contextmanager
    def _telling_damage(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, TypeError, LookupError) as error:
            raise self._rows.damage_error(f"a segment cannot be read: {error}") from error


def join_documents(sources: Sequence[Segment]) -> tuple[Documents, list[Numbers]]:
    """Return the live documents of all sources, and each source's new numbers (-1: dead)."""
    live = [np.ones(len(s.keys), np.bool_) if s.live is None else s.live for s in sources]
    every = [source.keys[mask] for source, mask in zip(sources, live, strict=True)]
    lengths = [source.lengths[mask] for source, mask in zip(sources, live, strict=True)]
    keys = np.concatenate(every)
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), np.int64)
    ranks[order] = np.arange(len(keys))
    numbers: list[Numbers] = []
    for mask, mine in zip(
        live, np.split(ranks, np.cumsum(list(map(len, every)))[:-1]), strict=True
    ):
        new = np.full(len(mask), -1, np.int64)
        new[mask] = mine
        numbers.append(new)
    return Documents(keys[order], np.concatenate(lengths)[order]), numbers


def join_rows(read: ReadBehind, numbers: Sequence[Numbers]) -> Iterator[list[Row]]:
    """Yield batches of rows of the joined index. `numbers` are the new numbers of documents."""
    for names, found in occurrences(read, numbers):
        yield encode_rows(names, sort_occurrences(found))


def occurrences(
    read: ReadBehind, numbers: Sequence[Numbers]
) -> Iterator[tuple[list[str], Occurrences]]:
    """Yield batches of tokens, sorted, with their unordered occurrences in all sources. `numbers`:
    the new numbers of each source's documents, -1 for those to leave out."""
    low: str | None = ""
    while low is not None:
        low, rows = read(low)
        names = sorted({row[0] for every in rows for row in every})
        rank = {name: number for number, name in enumerate(names)}
        found = [
            _renumber(read_rows(every, rank), new)
            for every, new in zip(rows, numbers, strict=True)
            if every
        ]
        if found:
            yield names, join_occurrences(found)


def sort_occurrences(found: Occurrences) -> Occurrences:
    """Sort occurrences by token and document; within a document they are already in order."""
    return select_occurrences(
        found, np.argsort(found.tokens << 32 | found.places.documents, kind="stable")
    )


def _renumber(found: Occurrences, new: Numbers) -> Occurrences:
    """Return the occurrences by the new numbers, without those in dead documents."""
    renumbered = found.places._replace(documents=new[found.places.documents])
    return select_occurrences(found._replace(places=renumbered), renumbered.documents >= 0)
