"""The postings of a token as bytes: its documents, its frequency in each column, and its positions.

Documents of a segment are numbered from 0 in the order of their keys. A row has the number of
documents; a bit for each column that has the token, and above these bits how many bytes each number
takes; the postings: the distance of each document from the one before, then for each of those
columns one frequency a document; and the places: the position of every occurrence, by document,
then column. Numbers are little-endian and take as many bytes as the largest of the row needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.index import Row

WIDTHS = (1, 2, 4)
DOCUMENT = np.dtype("<u4")
UNSIGNED = {width: np.dtype(f"<u{width}") for width in WIDTHS}
COLUMN_BITS = 16
SMALL = 64  # documents of a token whose row is read together with others
WIDTH_BITS = 3  # for each of: documents, frequencies, places

Numbers = NDArray[np.integer[Any]]
# The number of a segment, then documents, bits and postings of a token there.
PostingsRow = tuple[int, int, int, bytes]
# The first and last number of each segment's documents among those of all segments.
Bounds = Mapping[int, tuple[int, int]]


class Postings(NamedTuple):
    """The documents of a token, ascending, and for each of its columns one frequency a document."""

    documents: NDArray[np.int64]  # numpy is quickest with indexes of this type
    columns: tuple[int, ...]
    frequencies: Numbers  # one row for each of `columns`


class Places(NamedTuple):
    """Every occurrence of a token, by document, then column, then position."""

    documents: Numbers
    columns: Numbers
    positions: Numbers


class Occurrences(NamedTuple):
    """Tokens by number with their places, sorted by token, document, column and position."""

    tokens: Numbers
    places: Places


class Layout(NamedTuple):
    """The bits of a row: its columns, and how many bytes each number takes."""

    columns: tuple[int, ...]
    gaps: int
    frequencies: int
    places: int


@cache  # a few hundred different values
def layout(bits: int) -> Layout:
    columns = tuple(column for column in range(COLUMN_BITS) if bits >> column & 1)
    widths = (bits >> COLUMN_BITS + WIDTH_BITS * place & 7 for place in range(3))
    return Layout(columns, *widths)


def read_postings(rows: Sequence[PostingsRow], bounds: Bounds) -> Postings:
    """Return the postings of one token in these rows, which are in order of their segments."""
    how = [layout(bits) for _, _, bits, _ in rows]
    columns = sorted({column for one in how for column in one.columns})
    size = sum(count for _, count, _, _ in rows)
    documents = np.empty(size, np.int64)
    frequencies = np.zeros((len(columns), size), UNSIGNED[max(one.frequencies for one in how)])
    end = 0
    for (segment, count, _, postings), (which, gap, width, _) in zip(rows, how, strict=True):
        begin, end = end, end + count
        mine = documents[begin:end]
        np.cumsum(np.frombuffer(postings, UNSIGNED[gap], count), dtype=np.int64, out=mine)
        mine += bounds[segment][0]
        if mine[-1] >= bounds[segment][1]:
            raise ValueError("it has no such document")
        times = np.frombuffer(postings, UNSIGNED[width], offset=gap * count)
        every = len(which) == len(columns)
        among = slice(None) if every else [columns.index(column) for column in which]
        frequencies[among, begin:end] = times.reshape(len(which), count)
    return Postings(documents, tuple(columns), frequencies)


def read_cells(rows: Sequence[PostingsRow], bounds: Bounds) -> Places:
    """Return the documents and columns of several rows, with frequencies as positions."""
    alike: defaultdict[int, list[PostingsRow]] = defaultdict(list)
    for row in rows:
        alike[row[2]].append(row)
    found: list[Places] = []
    for bits, some in alike.items():
        how = layout(bits)
        segments, counts, _, postings = zip(*some, strict=True)
        cells = cells_alike(how, counts, postings)
        start: Any
        start, end = bounds[segments[0]]
        if len(bounds) > 1:
            limits = np.array([bounds[segment] for segment in segments])
            start, end = np.repeat(limits, np.array(counts) * len(how.columns), axis=0).T
        documents = cells.documents + start
        if (documents >= end).any():
            raise ValueError("it has no such document")
        found.append(cells._replace(documents=documents))
    every = [np.concatenate(values) for values in zip(*found, strict=True)]
    there = np.flatnonzero(every[2])  # a document may lack some of the token's columns
    return Places(*(values[there] for values in every))


def cells_alike(how: Layout, sizes: Sequence[int], postings: Sequence[bytes]) -> Places:
    """Return the cells of rows with equal layout. They are read together: most are small, and each
    by itself takes as long as a large one."""
    counts = np.array(sizes)
    ends = [how.gaps * size for size in sizes]
    both = [*zip(postings, ends, strict=True)]
    gaps = np.frombuffer(b"".join([row[:end] for row, end in both]), UNSIGNED[how.gaps])
    times = np.frombuffer(b"".join([row[end:] for row, end in both]), UNSIGNED[how.frequencies])
    sums = np.cumsum(gaps, dtype=np.int64)
    firsts = np.cumsum(counts) - counts
    documents = sums - np.repeat(sums[firsts] - gaps[firsts], counts)
    several = len(how.columns)
    cells = np.repeat(counts, several)
    if several > 1:  # each row's documents once for each column
        offsets = np.repeat(firsts, several) - (np.cumsum(cells) - cells)
        documents = documents[np.arange(len(times)) + np.repeat(offsets, cells)]
    columns = np.tile(np.array(how.columns, np.uint8), len(sizes))
    return Places(documents, np.repeat(columns, cells), times)


def read_places(count: int, bits: int, postings: bytes, places: bytes) -> Places:
    found = read_postings([(0, count, bits, postings)], {0: (0, 1 << 32)})
    times = found.frequencies.T.ravel()
    documents = np.repeat(np.repeat(found.documents, len(found.columns)), times)
    of_column = np.repeat(np.tile(np.array(found.columns, np.uint8), count), times)
    return Places(documents, of_column, np.frombuffer(places, UNSIGNED[layout(bits).places]))


def read_rows(rows: Sequence[Row], rank: dict[str, int]) -> Occurrences:
    """Return the unordered occurrences in the rows of one source, each token by its rank."""
    small: defaultdict[int, list[Row]] = defaultdict(list)  # by their bits
    parts: list[Occurrences] = []
    for row in rows:
        token, count, bits, postings, places = row
        if count <= SMALL:
            small[bits].append(row)
        else:
            one = read_places(count, bits, postings, places)
            parts.append(Occurrences(np.full(len(one.documents), rank[token], np.int64), one))
    parts += (_read_small(some, rank, layout(bits)) for bits, some in small.items())
    return parts[0] if len(parts) == 1 else join_occurrences(parts)


def _read_small(rows: Sequence[Row], rank: dict[str, int], how: Layout) -> Occurrences:
    """Return the occurrences of tokens with few documents, as most tokens have."""
    names, counts, _, postings, places = zip(*rows, strict=True)
    documents, columns, times = cells_alike(how, counts, postings)
    row: Numbers = np.repeat(np.arange(len(rows)), np.array(counts) * len(how.columns))
    if len(how.columns) > 1:  # cells are stored by column, positions by document
        order = np.argsort(row << 32 | documents, kind="stable")
        row, documents, columns, times = (v[order] for v in (row, documents, columns, times))
    tokens: Numbers = np.array([rank[name] for name in names], np.int64)[row]
    positions = np.frombuffer(b"".join(places), UNSIGNED[how.places])
    where = Places(np.repeat(documents, times), np.repeat(columns, times), positions)
    return Occurrences(np.repeat(tokens, times), where)


def join_occurrences(found: Sequence[Occurrences]) -> Occurrences:
    places = zip(*(some.places for some in found), strict=True)
    tokens = np.concatenate([some.tokens for some in found])
    return Occurrences(tokens, Places(*map(np.concatenate, places)))


def select_occurrences(found: Occurrences, which: NDArray[Any]) -> Occurrences:
    return Occurrences(found.tokens[which], Places(*(values[which] for values in found.places)))


def encode_rows(tokens: Sequence[str], occurrences: Occurrences) -> list[Row]:
    """Return the row of each token that occurs; a token's number is its place in `tokens`."""
    numbers, (documents, columns, positions) = occurrences
    if not len(numbers):
        return []
    # A cell: a token's occurrences in one column of one document.
    cells = _find_starts(numbers, documents, columns)
    times = np.diff(cells, append=len(numbers))
    cell_tokens, cell_columns = numbers[cells], columns[cells].astype(np.int64)
    postings = _find_starts(cell_tokens, documents[cells])
    first_cell = np.flatnonzero(np.diff(cell_tokens, prepend=-1))
    first_posting = np.searchsorted(postings, first_cell)
    counts = np.diff(first_posting, append=len(postings))
    bits = np.bitwise_or.reduceat(1 << cell_columns, first_cell)
    sizes = counts * np.bitwise_count(bits)
    starts = np.cumsum(sizes) - sizes
    # The place of each cell's frequency: the token's start, the column's rank, the document's.
    per_token = np.diff(first_cell, append=len(cells))
    rank = np.bitwise_count(np.repeat(bits, per_token) & ((1 << cell_columns) - 1))
    place = np.repeat(np.arange(len(postings)), np.diff(postings, append=len(cells)))
    place += np.repeat(starts - first_posting, per_token) + rank * np.repeat(counts, per_token)
    wide = np.zeros(int(sizes.sum()), np.uint32)
    wide[place] = times
    first = cells[first_cell]
    gaps = np.diff(documents[cells[postings]], prepend=0)
    gaps[first_posting] = documents[first]
    by_gap, gaps_of = _encode_parts(gaps, first_posting)
    by_times, times_of = _encode_parts(wide, starts)
    by_position, positions_of = _encode_parts(positions, first)
    widths = by_gap | by_times << WIDTH_BITS | by_position << 2 * WIDTH_BITS
    return [
        *zip(
            map(tokens.__getitem__, cell_tokens[first_cell].tolist()),
            counts.tolist(),
            (bits | widths << COLUMN_BITS).tolist(),
            map(add, gaps_of, times_of),
            positions_of,
            strict=True,
        )
    ]


def _encode_parts(numbers: Numbers, begins: Numbers) -> tuple[Numbers, list[bytes]]:
    """Return the bytes for each number in the part that begins at each place, and the parts."""
    largest = np.maximum.reduceat(numbers, begins)
    widths = np.array(WIDTHS)[np.searchsorted([1 << 8, 1 << 16], largest, "right")]
    known = {width: numbers.astype(UNSIGNED[width]).tobytes() for width in WIDTHS}
    ends = np.append(begins[1:], len(numbers))
    return widths, [
        known[width][begin:end]
        for width, begin, end in zip(
            widths.tolist(), (begins * widths).tolist(), (ends * widths).tolist(), strict=True
        )
    ]


def _find_starts(*sorted_by: Numbers) -> NDArray[np.intp]:
    """Return the positions where a new combination of values begins."""
    new = np.zeros(len(sorted_by[0]), np.bool_)
    new[:1] = True
    for values in sorted_by:
        new[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(new)
