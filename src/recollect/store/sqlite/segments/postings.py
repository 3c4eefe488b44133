"""The postings of a token as bytes: in which documents it stands, how often in each column, where.

Documents of a segment are numbered from 0 in the order of their keys. A row has the number of
documents, a bit for each column in which the token stands, the postings (document numbers, then
for each of those columns one frequency a document), and the places (the position of every
occurrence, by document, then column). Numbers are little-endian; documents take four bytes, the
others as many as the largest of the row needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

WIDTHS = (1, 2, 4)
DOCUMENT = np.dtype("<u4")
UNSIGNED = {width: np.dtype(f"<u{width}") for width in WIDTHS}

# A token, its number of documents, its columns as bits, its postings and its places.
Row = tuple[str, int, int, bytes, bytes]
Numbers = NDArray[np.integer[Any]]


class Postings(NamedTuple):
    """The documents of a token, ascending, and for each of its columns one frequency a document."""

    documents: NDArray[np.uint32]
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


@cache
def columns_of(bits: int) -> tuple[int, ...]:
    """The columns that the bits stand for."""
    return tuple(column for column in range(bits.bit_length()) if bits >> column & 1)


def read_postings(count: int, columns: int, postings: bytes) -> Postings:
    """The postings of a row."""
    which = columns_of(columns)
    numbers = np.frombuffer(postings, DOCUMENT, count)
    width = (len(postings) - numbers.nbytes) // (count * len(which))
    counted = np.frombuffer(postings, UNSIGNED[width], offset=numbers.nbytes)
    return Postings(numbers, which, counted.reshape(len(which), count))


def read_cells(rows: Sequence[tuple[int, int, bytes]]) -> Places:
    """What several rows tell of documents and columns, with the frequency instead of a position."""
    documents: list[bytes] = []
    times: list[NDArray[Any]] = []
    columns: list[int] = []
    counts: list[int] = []
    for count, bits, postings in rows:
        numbers = postings[: count * DOCUMENT.itemsize]
        inside = columns_of(bits)
        width = (len(postings) - len(numbers)) // (count * len(inside))
        documents += [numbers] * len(inside)
        columns += inside
        counts += [count] * len(inside)
        times.append(np.frombuffer(postings, UNSIGNED[width], offset=len(numbers)))
    return Places(
        np.frombuffer(b"".join(documents), DOCUMENT),
        np.repeat(np.array(columns, np.uint8), counts),
        np.concatenate(times),
    )


def read_places(count: int, columns: int, postings: bytes, places: bytes) -> Places:
    """Every occurrence that a row tells of."""
    found = read_postings(count, columns, postings)
    times = found.frequencies.T.ravel()
    documents = np.repeat(np.repeat(found.documents, len(found.columns)), times)
    of_column = np.repeat(np.tile(np.array(found.columns, np.uint8), count), times)
    positions = np.frombuffer(places, UNSIGNED[len(places) // len(documents)])
    return Places(documents, of_column, positions)


def encoded(tokens: Sequence[str], occurrences: Occurrences) -> Iterator[Row]:
    """The row of each token that occurs; a token's number is its place in `tokens`."""
    numbers, (documents, columns, positions) = occurrences
    if not len(numbers):
        return
    # A cell is what a document has of a token in one column.
    cells = _begins(numbers, documents, columns)
    times = np.diff(cells, append=len(numbers))
    cell_tokens, cell_columns = numbers[cells], columns[cells].astype(np.int64)
    postings = _begins(cell_tokens, documents[cells])
    first_cell = np.flatnonzero(np.diff(cell_tokens, prepend=-1))
    first_posting = np.searchsorted(postings, first_cell)
    counts = np.diff(first_posting, append=len(postings))
    bits = np.bitwise_or.reduceat(1 << cell_columns, first_cell)
    sizes = counts * np.bitwise_count(bits)
    starts = np.cumsum(sizes) - sizes
    # Where each cell's frequency stands: the token's start, the column's rank, the document's.
    per_token = np.diff(first_cell, append=len(cells))
    rank = np.bitwise_count(np.repeat(bits, per_token) & ((1 << cell_columns) - 1))
    place = np.searchsorted(postings, np.arange(len(cells)), "right") - 1
    place += np.repeat(starts - first_posting, per_token) + rank * np.repeat(counts, per_token)
    wide = np.zeros(int(sizes.sum()), np.uint32)
    wide[place] = times
    first = cells[first_cell]
    by_document = documents[cells[postings]].astype(DOCUMENT).tobytes()
    by_times = {width: wide.astype(UNSIGNED[width]).tobytes() for width in WIDTHS}
    by_position = {width: positions.astype(UNSIGNED[width]).tobytes() for width in WIDTHS}
    for token, count, column_bits, posting, start, size, width, begin, end, place_width in zip(
        cell_tokens[first_cell].tolist(), counts.tolist(), bits.tolist(), first_posting.tolist(),
        starts.tolist(), sizes.tolist(), _widths(np.maximum.reduceat(times, first_cell)),
        first.tolist(), [*first[1:].tolist(), len(numbers)],
        _widths(np.maximum.reduceat(positions, first)), strict=True,
    ):  # fmt: skip
        yield (
            tokens[token],
            count,
            column_bits,
            by_document[4 * posting : 4 * (posting + count)]
            + by_times[width][width * start : width * (start + size)],
            by_position[place_width][place_width * begin : place_width * end],
        )


def _begins(*sorted_by: Numbers) -> NDArray[np.intp]:
    """Where a new combination of values begins."""
    new = np.zeros(len(sorted_by[0]), np.bool_)
    new[:1] = True
    for values in sorted_by:
        new[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(new)


def _widths(largest: Numbers) -> list[int]:
    """How many bytes numbers up to these take."""
    which = np.searchsorted([1 << 8, 1 << 16], largest, "right")
    return [WIDTHS[number] for number in which.tolist()]
