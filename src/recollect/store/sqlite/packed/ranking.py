"""BM25 over segments, as FTS5 computes it: the same formula, in the same order, in float64."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import KeywordStatistics, Match
from recollect.store.sqlite.bm25 import K1, B, inverse_frequencies
from recollect.store.sqlite.packed.base import Searchable
from recollect.store.sqlite.packed.evaluation import SegmentMatches

Keys = NDArray[np.int64]
Scores = NDArray[np.float64]

SPARSE = 16  # where fewer than one document in so many is hit, only these are looked at
FIRST_READ = 100  # candidates that a filter is tried on first, and
THEN_READ = 4000  # after that, before all memories that pass it are read


def total(
    segments: Iterable[tuple[Searchable, Sequence[int]]],
) -> KeywordStatistics:
    """What segments count together: each with the numbers of documents that hold the phrases."""
    every = list(segments)
    return KeywordStatistics(
        sum(segment.rows for segment, _ in every),
        sum(segment.tokens for segment, _ in every),
        tuple(map(sum, zip(*(holding for _, holding in every), strict=True))),
    )


def scored(
    found: Sequence[tuple[Searchable, SegmentMatches]], statistics: KeywordStatistics
) -> tuple[Keys, Scores]:
    """The key and the score of every match, in no order."""
    inverse = inverse_frequencies(statistics)
    average = statistics.tokens / max(1, statistics.rows) or 1.0
    parts = [_scored(segment, matches, inverse, average) for segment, matches in found]
    keys, scores = zip(*parts, strict=True)
    return np.concatenate(keys), np.concatenate(scores)


def _scored(
    segment: Searchable, matches: SegmentMatches, inverse: Sequence[float], average: float
) -> tuple[Keys, Scores]:
    size = len(segment.keys)
    hit = sum(len(hits.documents) for hits in matches.hits)
    if hit * SPARSE < size:
        every = [hits.documents for hits in matches.hits]
        if matches.matched is not None:
            every.append(np.flatnonzero(matches.matched))
        documents = np.unique(np.concatenate(every)).astype(np.int64)
    else:
        documents = np.arange(size)
    scores = np.zeros(len(documents))
    norm = K1 * ((1 - B) + (B * segment.lengths[documents]) / average)
    for hits, rarity in zip(matches.hits, inverse, strict=True):
        places = hits.documents
        if len(documents) < size:
            places = np.searchsorted(documents, places)
        frequencies = hits.frequencies
        scores[places] += rarity * ((frequencies * (K1 + 1.0)) / (frequencies + norm[places]))
    kept = scores > 0 if matches.matched is None else matches.matched[documents]
    kept = np.flatnonzero(kept)
    return segment.keys[documents[kept]], scores[kept]


class Passing(Protocol):
    """A filter: which memories pass it."""

    narrows: bool

    def ids(self, keys: Keys) -> dict[int, str]:
        """The ids of those of these memories that pass."""

    def every(self) -> Keys:
        """The keys of all that pass."""


def best(keys: Keys, scores: Scores, limit: int, passing: Passing) -> list[Match]:
    """The best that pass, best first, equal scores by id. A filter is tried on the best first;
    where few of these pass, all memories that do are read."""
    for least in (FIRST_READ, THEN_READ) if passing.narrows else ():
        tried = max(limit * 4, least)
        if tried >= len(keys):
            break
        found = _ordered(*_highest(keys, scores, tried), passing)
        if len(found) >= limit:
            return found[:limit]
    if passing.narrows:
        kept = np.isin(keys, passing.every())
        keys, scores = keys[kept], scores[kept]
    return _ordered(*_highest(keys, scores, limit), passing)[:limit]


def _highest(keys: Keys, scores: Scores, most: int) -> tuple[Keys, Scores]:
    """The `most` highest, and those that are equal to the last of them."""
    if len(scores) <= most:
        return keys, scores
    least = np.partition(scores, len(scores) - most)[len(scores) - most]
    kept = scores >= least
    return keys[kept], scores[kept]


def _ordered(keys: Keys, scores: Scores, passing: Passing) -> list[Match]:
    ids = passing.ids(keys)
    pairs = zip(keys.tolist(), scores.tolist(), strict=True)
    found = [Match(ids[key], score) for key, score in pairs if key in ids]
    return sorted(found, key=lambda match: (-match.score, match.memory_id))
