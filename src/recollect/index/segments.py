"""Segments in memory: their documents, which of them are live, and all segments of an index as
one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
Mask = NDArray[np.bool_]


class SegmentSource(Protocol):
    """The segments of a vault in one snapshot, in any database."""

    def changes(self, after: int) -> Sequence[tuple[int, int]]:
        """Return the log after this entry: each memory, and the last segment that it was changed
        for."""

    def documents(self, number: int, words: int) -> Documents:
        """Return the documents of an index of a segment."""


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
    starts: list[int]  # of each segment's documents, and the end
    keys: Keys
    lengths: NDArray[np.uint32]
    live: Mask | None
    rows: int
    tokens: int

    def each(self) -> list[Segment]:
        """Return the segments separately."""
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

    numbers: tuple[int, ...]  # of the segments
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
        if seq >= known.seq:  # else another thread has come further
            self._changes = new
        return new

    def index(self, source: SegmentSource, words: int, changes: Changes) -> SegmentedIndex:
        known = self._indexes.get(words)
        if known is not None and (known.numbers, known.seq) == (changes.numbers, changes.seq):
            return known
        if known is not None and known.numbers == changes.numbers:
            new = _living(known, changes)
        else:
            read = {} if known is None else {one.number: one for one in known.each()}
            parts = [
                read.get(number) or source.documents(number, words) for number in changes.numbers
            ]
            starts = np.cumsum([0, *(len(part.keys) for part in parts)]).tolist()
            keys = np.concatenate([part.keys for part in parts])
            lengths = np.concatenate([part.lengths for part in parts])
            every = SegmentedIndex(0, changes.numbers, words, starts, keys, lengths, None, 0, 0)
            new = _living(every, changes)
        if known is None or known.seq <= changes.seq:
            self._indexes[words] = new
        return new


def _living(index: SegmentedIndex, changes: Changes) -> SegmentedIndex:
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
    """Return the places of these memories among the sorted keys."""
    if not len(keys):
        return np.zeros(0, np.intp)
    places = np.minimum(np.searchsorted(keys, memories), len(keys) - 1)
    found: NDArray[np.intp] = places[keys[places] == memories]
    return found
