"""BM25 over the segments of an index, as FTS5 computes it: the same formula, in the same order, in
float64, with the statistics of the whole index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.index import ALMOST, K1, B, KeywordStatistics, inverse_frequencies
from recollect.index.evaluation import SegmentMatches
from recollect.index.segments import SegmentedSearch

Keys = NDArray[np.int64]
Scores = NDArray[np.float64]

SPARSE = 16  # if fewer than one document in 16 is hit, only these are scored
MANY = 0.5  # hits for each document: with fewer left, adding them takes no longer than choosing
FEW = 50  # looking up a candidate takes as long as adding 50 hits
BLOCK = 256


def score_matches(
    segments: SegmentedSearch,
    matches: SegmentMatches,
    statistics: KeywordStatistics,
    limit: int | None = None,
) -> tuple[Keys, Scores]:
    """Return the key and score of every match, unordered; with `limit`, at least of the best."""
    bm25 = Bm25(inverse_frequencies(statistics), statistics.tokens / max(1, statistics.rows) or 1.0)
    chosen = None if limit is None else candidates(segments, matches, bm25, limit)
    if chosen is None:
        return _score_all(segments, matches, bm25)
    return _score_some(segments, matches, bm25, chosen)


class Bm25(NamedTuple):
    """The inverse frequency of each phrase, and the average length of a document."""

    inverse: list[float]
    average: float

    def norm(self, lengths: NDArray[np.integer]) -> Scores:
        """Return the share of a document's length in the denominator."""
        norm = K1 * ((1 - B) + (B * lengths) / self.average)
        return norm.astype(np.float64, copy=False)

    def part(self, phrase: int, frequencies: Scores, norm: Scores) -> Scores:
        """Return a phrase's addition to scores: `idf · f · (k1 + 1) / (f + norm)`."""
        added = frequencies * (K1 + 1.0)
        added /= frequencies + norm
        added *= self.inverse[phrase]
        return added

    def most(self, phrase: int) -> float:
        """Return an upper bound of a phrase's addition to any score."""
        return self.inverse[phrase] * (K1 + 1.0)


def _score_all(
    segments: SegmentedSearch, matches: SegmentMatches, bm25: Bm25
) -> tuple[Keys, Scores]:
    hit = sum(len(hits.documents) for hits in matches.hits)
    if hit * SPARSE < len(segments.keys):
        marked = [] if matches.matched is None else [np.flatnonzero(matches.matched)]
        documents = np.unique(np.concatenate([h.documents for h in matches.hits] + marked))
        return _score_some(segments, matches, bm25, documents)
    scores = _add_phrases(
        segments, matches, bm25, range(len(matches.hits)), np.zeros(len(segments.keys))
    )
    kept = np.flatnonzero(scores > 0 if matches.matched is None else matches.matched)
    return segments.keys[kept], scores[kept]


def _add_phrases(
    segments: SegmentedSearch,
    matches: SegmentMatches,
    bm25: Bm25,
    phrases: Iterable[int],
    scores: Scores,
) -> Scores:
    """Add these phrases to the scores of all documents."""
    for phrase in phrases:
        hits = matches.hits[phrase]
        norm = bm25.norm(segments.lengths.take(hits.documents))
        scores[hits.documents] += bm25.part(phrase, hits.frequencies(), norm)
    return scores


def _score_some(
    segments: SegmentedSearch, matches: SegmentMatches, bm25: Bm25, documents: Keys
) -> tuple[Keys, Scores]:
    """Return the scores of these documents, which are in order."""
    norm = bm25.norm(segments.lengths[documents])
    scores = np.zeros(len(documents))
    for phrase, hits in enumerate(matches.hits):
        if len(hits.documents):
            places = np.searchsorted(hits.documents, documents)
            matching = np.flatnonzero(hits.documents.take(places, mode="clip") == documents)
            frequencies = hits.frequencies(places[matching])
            scores[matching] += bm25.part(phrase, frequencies, norm[matching])
    return segments.keys[documents], scores


def candidates(
    segments: SegmentedSearch, matches: SegmentMatches, bm25: Bm25, limit: int
) -> Keys | None:
    """Return the documents that may be among the best; None if that saves nothing.

    MaxScore (Turtle and Flood, 1995): phrases add to the scores from the rarest on. Once all that
    are left cannot lift a document above the best that there are, only documents count that are
    high enough already.
    """
    size, later = len(segments.keys), sum(len(hits.documents) for hits in matches.hits)
    if matches.matched is not None or later * SPARSE < size:
        return None
    order = sorted(range(len(bm25.inverse)), key=bm25.inverse.__getitem__, reverse=True)
    left = sum(map(bm25.most, order))
    scores = np.zeros(size)
    for phrase in order:
        if later > size * MANY and scores.max() * ALMOST > left:
            least = least_of_best(scores, limit) * ALMOST
            if least > left:
                chosen = np.flatnonzero(scores >= least - left)
                if len(chosen) * FEW < later:
                    return chosen
        scores = _add_phrases(segments, matches, bm25, [phrase], scores)
        later -= len(matches.hits[phrase].documents)
        left -= bm25.most(phrase)
    least = least_of_best(scores, limit)
    return np.flatnonzero(scores >= least * ALMOST if least else scores > 0)


def least_of_best(scores: Scores, limit: int) -> float:
    """Return the lowest of the `limit` highest scores; 0 if there are fewer. Each block's highest
    score gives a lower bound, which most scores do not reach."""
    blocks = scores[: len(scores) // BLOCK * BLOCK].reshape(-1, BLOCK).max(axis=1)
    least = _nth(blocks, limit)
    return _nth(scores[scores >= least] if least else scores[scores > 0], limit)


def _nth(values: Scores, number: int) -> float:
    """Return the `number`-th highest value; 0 if there are fewer."""
    if len(values) < number:
        return 0.0
    return float(np.partition(values, len(values) - number)[len(values) - number])
