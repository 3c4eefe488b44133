"""Checks of segments for the doctor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.base import KeywordIndexName
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.segments.joining import occurrences
from recollect.store.sqlite.segments.packing import pack
from recollect.store.sqlite.segments.postings import read_places
from recollect.store.sqlite.segments.reader import Segment, Segments
from recollect.store.sqlite.segments.writer import TEXTS, documents_of

SAMPLE = 200  # memories of a segment that are compared word by word: about 50 ms
DIFFERENT = "its words differ from those of the memories"

# By the key of a memory: its words, with their columns and positions.
Words = dict[int, set[tuple[str, int, int]]]


class OneMoment:
    """A connection within a transaction, as what segments are read from."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def connection(self) -> apsw.Connection:
        return self._connection

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        yield self._connection


def live_keys(connection: apsw.Connection, index: KeywordIndexName) -> list[int]:
    """The memories that segments speak for; one that several do as often."""
    found = Segments(OneMoment(connection)).each(index)
    keys = (s.keys if s.live is None else s.keys[s.live] for s in found)
    return list(chain.from_iterable(some.tolist() for some in keys))


def segments_problem(connection: apsw.Connection, index: KeywordIndexName) -> str | None:
    """What is wrong with the segments of an index: every row is read, and each live memory must
    have as many words as it should; the words of some are compared with the memories."""
    for segment in Segments(OneMoment(connection)).each(index):
        try:
            if _differs(connection, segment, index):
                return DIFFERENT
        except (ValueError, TypeError, IndexError, KeyError) as error:
            return f"segment {segment.number} cannot be read: {error}"
    return None


def _differs(connection: apsw.Connection, segment: Segment, index: KeywordIndexName) -> bool:
    size = len(segment.keys)
    live = np.ones(size, np.bool_) if segment.live is None else segment.live
    if len(segment.lengths) != size or (np.diff(segment.keys) <= 0).any():
        return True
    counted = np.zeros(size, np.int64)
    sample = np.zeros(size, np.bool_)
    sample[np.linspace(0, size - 1, min(size, SAMPLE), dtype=np.intp)] = True
    sample &= live
    keys = segment.keys[sample].tolist()
    words: Words = {key: set() for key in keys}
    if size:
        for names, found in occurrences(OneMoment(connection), [segment], [np.arange(size)]):
            counted += np.bincount(found.places.documents, minlength=size)
            chosen = sample[found.places.documents]
            _note(words, names, segment.keys, (found.tokens, *found.places), chosen)
    same = bool((counted[live] == segment.lengths[live]).all())
    return not same or words != _real(connection, index, keys)


def _note(
    words: Words,
    names: Sequence[str],
    keys: NDArray[np.int64],
    occurring: Iterable[NDArray[np.integer]],
    chosen: NDArray[np.bool_],
) -> None:
    columns = (values[chosen].tolist() for values in occurring)
    for token, document, column, position in zip(*columns, strict=True):
        words[int(keys[document])].add((names[token], column, position))


def _real(connection: apsw.Connection, index: KeywordIndexName, keys: Sequence[int]) -> Words:
    """The words of these memories as they should be."""
    texts = connection.execute(TEXTS, (as_json_list(keys),)).fetchall()
    packed = pack([row[1:] for row in texts])[index]  # type: ignore[misc]
    mine = documents_of(packed, [int(row[0]) for row in texts]).keys  # type: ignore[arg-type]
    words: Words = {int(key): set() for key in mine}
    for token, count, bits, postings, places in packed.rows:
        found = read_places(count, bits, postings, places)
        every = np.ones(len(found.documents), np.bool_)
        _note(words, [token], mine, (np.zeros(len(every), np.int64), *found), every)
    return words
