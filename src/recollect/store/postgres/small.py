"""A few memories as the rows of a segment, in the form of `segments/packing.py`. For one memory it
takes a tenth of the time that numpy needs to begin with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

import apsw

from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.store.prepared import PackedIndex, Row
from recollect.store.sqlite.fts5_index import tokenizer
from recollect.store.sqlite.segments.packing import columns_of
from recollect.store.sqlite.segments.postings import COLUMN_BITS, DOCUMENT, WIDTH_BITS, WIDTHS
from recollect.store.sqlite.segments.reader import WORDS

Occurrence = tuple[int, int, int]  # document, column, position

ONE_BYTE_EACH = sum(1 << COLUMN_BITS + WIDTH_BITS * place for place in range(3))


class _Tokenizing(threading.local):
    """SQLite's own tokenizers, for each thread."""

    def __init__(self) -> None:
        self.connection = apsw.Connection(":memory:")
        self.cut = {index: tokenizer(self.connection, index) for index in COLUMNS}


TOKENIZING = _Tokenizing()


def pack_few(memories: Sequence[Sequence[str]]) -> dict[KeywordIndexName, PackedIndex]:
    """Every index over these memories, each given by its FIELDS in order."""
    cut = TOKENIZING.cut
    return {index: _packed(memories, index, cut[index]) for index in WORDS}


def _packed(
    memories: Sequence[Sequence[str]], index: KeywordIndexName, cut: Callable[[str], list[str]]
) -> PackedIndex:
    places: list[int] = []
    lengths: list[int] = []
    found: dict[str, list[Occurrence]] = {}
    for place, memory in enumerate(memories):
        texts = columns_of(memory, index)
        if texts is None:
            continue
        length = 0
        for column, text in enumerate(texts):
            tokens = cut(text) if text else ()
            length += len(tokens)
            for position, token in enumerate(tokens):
                found.setdefault(token, []).append((len(places), column, position))
        places.append(place)
        lengths.append(length)
    rows = [_row(token, found[token]) for token in sorted(found)]
    return PackedIndex(_bytes(places, DOCUMENT.itemsize), _bytes(lengths, DOCUMENT.itemsize), rows)


def _row(token: str, occurrences: Sequence[Occurrence]) -> Row:
    if len(occurrences) == 1:  # most are
        [(document, column, position)] = occurrences
        if document < 256 and position < 256:
            bits = 1 << column | ONE_BYTE_EACH
            return token, 1, bits, bytes((document, 1)), bytes((position,))
    times: dict[tuple[int, int], int] = {}
    for document, column, _ in occurrences:
        times[document, column] = times.get((document, column), 0) + 1
    documents = sorted({document for document, _ in times})
    columns = sorted({column for _, column in times})
    gaps = [here - before for before, here in zip((0, *documents), documents, strict=False)]
    frequencies = [times.get((document, column), 0) for column in columns for document in documents]
    positions = [position for _, _, position in occurrences]
    widths = [_width(max(numbers)) for numbers in (gaps, frequencies, positions)]
    bits = sum(1 << column for column in columns)
    for place, width in enumerate(widths):
        bits |= width << COLUMN_BITS + WIDTH_BITS * place
    postings = _bytes(gaps, widths[0]) + _bytes(frequencies, widths[1])
    return token, len(documents), bits, postings, _bytes(positions, widths[2])


def _width(largest: int) -> int:
    return next(width for width in WIDTHS if largest >> 8 * width == 0)


def _bytes(numbers: Sequence[int], width: int) -> bytes:
    return bytes(numbers) if width == 1 else b"".join(_each(numbers, width))


def _each(numbers: Sequence[int], width: int) -> Iterator[bytes]:
    return (number.to_bytes(width, "little") for number in numbers)
