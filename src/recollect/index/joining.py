"""Joining several segments into one, from their postings alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.index.base import Row
from recollect.index.postings import (
    UNSIGNED,
    Layout,
    Numbers,
    Occurrences,
    Places,
    cells_alike,
    encoded,
    layout,
    read_places,
)
from recollect.index.segments import Documents, Segment

SMALL = 64  # documents of a token
# Reads the tokens after this one: returns the last token read, None at the end, and the rows of
# each source in token order.
ReadBehind = Callable[[str], tuple[str | None, list[list[Row]]]]


def joined_documents(sources: Sequence[Segment]) -> tuple[Documents, list[Numbers]]:
    """Return the live documents of all sources, and for each source the new numbers of its
    documents, -1 for the dead."""
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


def joined_rows(read: ReadBehind, numbers: Sequence[Numbers]) -> Iterator[list[Row]]:
    """Yield batches of rows of the joined index. `numbers` are the new numbers of documents."""
    for names, found in occurrences(read, numbers):
        yield encoded(names, in_order(found))


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
            _renumbered(read_rows(every, rank), new)
            for every, new in zip(rows, numbers, strict=True)
            if every
        ]
        if found:
            yield names, _together(found)


def _together(found: Sequence[Occurrences]) -> Occurrences:
    places = zip(*(some.places for some in found), strict=True)
    tokens = np.concatenate([some.tokens for some in found])
    return Occurrences(tokens, Places(*map(np.concatenate, places)))


def in_order(found: Occurrences) -> Occurrences:
    """Sort occurrences by token and document. A document's occurrences of a token come from one row
    and are already in order."""
    return selected(found, np.argsort(found.tokens << 32 | found.places.documents, kind="stable"))


def selected(found: Occurrences, which: NDArray[Any]) -> Occurrences:
    return Occurrences(found.tokens[which], Places(*(values[which] for values in found.places)))


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
    parts += (_small(some, rank, layout(bits)) for bits, some in small.items())
    return parts[0] if len(parts) == 1 else _together(parts)


def _renumbered(found: Occurrences, new: Numbers) -> Occurrences:
    """Return the occurrences by the new numbers, without those in dead documents."""
    renumbered = found.places._replace(documents=new[found.places.documents])
    return selected(found._replace(places=renumbered), renumbered.documents >= 0)


def _small(rows: Sequence[Row], rank: dict[str, int], how: Layout) -> Occurrences:
    """Return the occurrences of tokens with few documents, as most tokens have."""
    names, counts, _, postings, places = zip(*rows, strict=True)
    documents, columns, times = cells_alike(how, counts, postings)
    row: Numbers = np.repeat(np.arange(len(rows)), np.array(counts) * len(how.columns))
    if len(how.columns) > 1:  # the cells are there column by column, the places by document
        order = np.argsort(row << 32 | documents, kind="stable")
        row, documents, columns, times = (v[order] for v in (row, documents, columns, times))
    tokens: Numbers = np.array([rank[name] for name in names], np.int64)[row]
    positions = np.frombuffer(b"".join(places), UNSIGNED[how.places])
    where = Places(np.repeat(documents, times), np.repeat(columns, times), positions)
    return Occurrences(np.repeat(tokens, times), where)
