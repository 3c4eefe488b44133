"""Several segments as one: their postings put together, without a look at the memories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.segments.postings import (
    UNSIGNED,
    Layout,
    Numbers,
    Occurrences,
    Places,
    Row,
    cells_alike,
    encoded,
    layout,
    read_places,
)
from recollect.store.sqlite.segments.reader import PLACES, POSTINGS, STORED, Documents, Segment

TOKENS = 2_000  # of the largest segment, that are put together at a time
SMALL = 64  # documents of a token
NEXT = """
    SELECT token FROM postings WHERE segment = ? AND words = ? AND token > ?
     ORDER BY token LIMIT 1 OFFSET ?"""
WITHIN = f"""
    SELECT p.token, {POSTINGS}, {PLACES} FROM {STORED} WHERE p.segment = ? AND p.words = ?
       AND p.token > ? AND (p.token <= ? OR ? IS NULL) ORDER BY p.token"""


def joined_documents(sources: Sequence[Segment]) -> tuple[Documents, list[Numbers]]:
    """The live documents of all, and for each source the new numbers of its documents, -1 for the
    dead."""
    live = [np.ones(len(s.keys), np.bool_) if s.live is None else s.live for s in sources]
    every = [source.keys[mask] for source, mask in zip(sources, live, strict=True)]
    lengths = [source.lengths[mask] for source, mask in zip(sources, live, strict=True)]
    keys = np.concatenate(every)
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), np.int64)
    ranks[order] = np.arange(len(keys))
    numbers = []
    for mask, mine in zip(
        live, np.split(ranks, np.cumsum(list(map(len, every)))[:-1]), strict=True
    ):
        numbers.append(np.full(len(mask), -1, np.int64))
        numbers[-1][mask] = mine
    return Documents(keys[order], np.concatenate(lengths)[order]), numbers


def joined_rows(
    database: Database, sources: Sequence[Segment], numbers: Sequence[Numbers]
) -> Iterator[list[Row]]:
    """The rows of the joined index, some at a time, where documents have these new numbers. The
    segments stay while they are joined, so each read may be of another moment."""
    largest = max(sources, key=lambda source: len(source.keys))
    low: str | None = ""
    while low is not None:
        with database.reading() as connection:
            high = connection.execute(NEXT, (*largest.place, low, TOKENS)).get
            rows = [
                connection.execute(WITHIN, (*source.place, low, high, high)).fetchall()
                for source in sources
            ]
        names = sorted({str(row[0]) for every in rows for row in every})
        rank = {name: number for number, name in enumerate(names)}
        found = [
            _read(every, rank, new)  # type: ignore[arg-type]
            for every, new in zip(rows, numbers, strict=True)
            if every
        ]
        if found:
            yield list(encoded(names, _sorted(found)))
        low = high  # type: ignore[assignment]


def _sorted(found: Sequence[Occurrences]) -> Occurrences:
    tokens = np.concatenate([some.tokens for some in found])
    documents, columns, positions = (
        np.concatenate(values) for values in zip(*(some.places for some in found), strict=True)
    )
    # What a document has of a token comes from one row, and stands there in order.
    order = np.argsort(tokens << 32 | documents, kind="stable")
    return Occurrences(tokens[order], Places(documents[order], columns[order], positions[order]))


def _read(rows: Sequence[Row], rank: dict[str, int], new: Numbers) -> Occurrences:
    """The occurrences in the rows of one source, by the new numbers; those in dead documents are
    left out."""
    small: defaultdict[int, list[Row]] = defaultdict(list)  # by their bits
    parts: list[tuple[Numbers, Places]] = []
    for row in rows:
        token, count, bits, postings, places = row
        if count <= SMALL and len(layout(bits).columns) == 1:
            small[bits].append(row)
        else:
            found = read_places(count, bits, postings, places)
            parts.append((np.full(len(found.documents), rank[token], np.int64), found))
    parts += (_small(some, rank, layout(bits)) for bits, some in small.items())
    tokens = np.concatenate([numbers for numbers, _ in parts])
    documents, columns, positions = (
        np.concatenate(values) for values in zip(*(places for _, places in parts), strict=True)
    )
    numbers = new[documents]
    live = numbers >= 0
    return Occurrences(tokens[live], Places(numbers[live], columns[live], positions[live]))


def _small(rows: Sequence[Row], rank: dict[str, int], how: Layout) -> tuple[Numbers, Places]:
    """The occurrences of tokens that stand in one column of a few documents: most tokens."""
    names, counts, _, postings, places = zip(*rows, strict=True)
    documents, _, times = cells_alike(how, [*zip(counts, postings, strict=True)])
    tokens = np.repeat(np.array([rank[name] for name in names], np.int64), counts)
    positions = np.frombuffer(b"".join(places), UNSIGNED[how.places])
    columns = np.full(len(positions), how.columns[0], np.uint8)
    return np.repeat(tokens, times), Places(np.repeat(documents, times), columns, positions)
