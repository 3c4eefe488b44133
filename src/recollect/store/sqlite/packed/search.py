"""One expression over the segments of an index, which are ranked as part of the whole: BM25 as FTS5
computes it, by the same formula, in the same order, in float64."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.deadline import NO_DEADLINE, Deadline
from recollect.store.base import COLUMNS, KeywordIndexName, KeywordQuery, KeywordStatistics, Match
from recollect.store.memory_rows import stored_id
from recollect.store.sqlite.bm25 import ALMOST, K1, B, fts5_scores, inverse_frequencies
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.fts5_index import TABLES
from recollect.store.sqlite.packed.evaluation import SegmentMatches, counted, evaluated, visited
from recollect.store.sqlite.packed.phrases import Node
from recollect.store.sqlite.packed.segmented import SegmentedSearch
from recollect.store.sqlite.segments.packing import FIELDS, columns_of
from recollect.types import best_first

if TYPE_CHECKING:
    from recollect.store.sqlite.filters import Condition

Keys = NDArray[np.int64]
Scores = NDArray[np.float64]

SPARSE = 16  # where fewer than one document in so many is hit, only these are looked at
MANY = 0.5  # hits for each document: with fewer left, adding them takes no longer than choosing
FEW = 50  # looking up a candidate takes as long as adding so many hits
BLOCK = 256
FIRST_READ = 100  # candidates that a filter is tried on first, and
THEN_READ = 4000  # after that, before all memories that pass it are read
NOTHING_COUNTED = KeywordStatistics(0, 0, ())


def scored(
    segments: SegmentedSearch,
    matches: SegmentMatches,
    statistics: KeywordStatistics,
    limit: int | None = None,
) -> tuple[Keys, Scores]:
    """The key and the score of every match, in no order; with `limit` at least of the best ones."""
    bm25 = Bm25(inverse_frequencies(statistics), statistics.tokens / max(1, statistics.rows) or 1.0)
    chosen = None if limit is None else candidates(segments, matches, bm25, limit)
    if chosen is None:
        return _every(segments, matches, bm25)
    return _some(segments, matches, bm25, chosen)


class Bm25(NamedTuple):
    """The inverse frequency of each phrase, and the average length of a document."""

    inverse: list[float]
    average: float

    def norm(self, lengths: NDArray[np.integer]) -> Scores:
        """What a document's length adds to the frequency below the line."""
        norm = K1 * ((1 - B) + (B * lengths) / self.average)
        return norm.astype(np.float64, copy=False)

    def part(self, phrase: int, frequencies: Scores, norm: Scores) -> Scores:
        """What a phrase adds to the scores of documents: `idf · f · (k1 + 1) / (f + norm)`."""
        added = frequencies * (K1 + 1.0)
        added /= frequencies + norm
        added *= self.inverse[phrase]
        return added

    def most(self, phrase: int) -> float:
        """More than a phrase adds to any document."""
        return self.inverse[phrase] * (K1 + 1.0)


def _every(segments: SegmentedSearch, matches: SegmentMatches, bm25: Bm25) -> tuple[Keys, Scores]:
    hit = sum(len(hits.documents) for hits in matches.hits)
    if hit * SPARSE < len(segments.keys):
        marked = [] if matches.matched is None else [np.flatnonzero(matches.matched)]
        documents = np.unique(np.concatenate([h.documents for h in matches.hits] + marked))
        return _some(segments, matches, bm25, documents)
    scores = _added(segments, matches, bm25, range(len(matches.hits)), np.zeros(len(segments.keys)))
    kept = np.flatnonzero(scores > 0 if matches.matched is None else matches.matched)
    return segments.keys[kept], scores[kept]


def _added(
    segments: SegmentedSearch,
    matches: SegmentMatches,
    bm25: Bm25,
    phrases: Iterable[int],
    scores: Scores,
) -> Scores:
    """The scores of all documents, to which these phrases are added."""
    for phrase in phrases:
        hits = matches.hits[phrase]
        norm = bm25.norm(segments.lengths.take(hits.documents))
        scores[hits.documents] += bm25.part(phrase, hits.frequencies(), norm)
    return scores


def _some(
    segments: SegmentedSearch, matches: SegmentMatches, bm25: Bm25, documents: Keys
) -> tuple[Keys, Scores]:
    """The scores of these documents, which are in order."""
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
    """The documents that may be among the best; None where that saves nothing.

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
        scores = _added(segments, matches, bm25, [phrase], scores)
        later -= len(matches.hits[phrase].documents)
        left -= bm25.most(phrase)
    least = least_of_best(scores, limit)
    return np.flatnonzero(scores >= least * ALMOST if least else scores > 0)


def least_of_best(scores: Scores, limit: int) -> float:
    """The lowest of the highest scores; 0 where there are fewer. It is at least the lowest of so
    many blocks' highest: most scores are below that."""
    blocks = scores[: len(scores) // BLOCK * BLOCK].reshape(-1, BLOCK).max(axis=1)
    least = _nth(blocks, limit)
    return _nth(scores[scores >= least] if least else scores[scores > 0], limit)


def _nth(values: Scores, number: int) -> float:
    """The value that so many are not below; 0 where there are fewer."""
    if len(values) < number:
        return 0.0
    return float(np.partition(values, len(values) - number)[len(values) - number])


class Passing(Protocol):
    """A filter: which memories pass it."""

    narrows: bool

    def ids(self, keys: Keys) -> dict[int, str]:
        """The ids of those of these memories that pass."""

    def every(self) -> Keys:
        """The keys of all that pass."""

    def texts(self, index: KeywordIndexName, keys: Sequence[int]) -> Iterable[tuple[object, ...]]:
        """Return the key and the columns of each of these memories, and of those that are in no
        segment, whether they pass or not."""


def best(keys: Keys, scores: Scores, limit: int, passing: Passing) -> list[Match]:
    """The best that pass, best first, equal scores by id. A filter is tried on the best first;
    where few of these pass, all memories that do are read."""
    for least in (FIRST_READ, THEN_READ) if passing.narrows else ():
        tried = max(limit * 4, least)
        if tried >= len(keys):
            break
        found = best_of(keys, scores, tried, passing)
        if len(found) >= limit:
            return found[:limit]
    if passing.narrows:
        kept = np.isin(keys, passing.every())
        keys, scores = keys[kept], scores[kept]
    return _ordered(*_highest(keys, scores, limit), passing)[:limit]


def best_of(keys: Keys, scores: Scores, tried: int, passing: Passing) -> list[Match]:
    """Those of so many of the best that pass, best first, equal scores by id."""
    return _ordered(*_highest(keys, scores, tried), passing)


def _highest(keys: Keys, scores: Scores, most: int) -> tuple[Keys, Scores]:
    """The `most` highest, and those that are equal to the last of them."""
    if len(scores) <= most:
        return keys, scores
    kept = scores >= least_of_best(scores, most)
    return keys[kept], scores[kept]


def _ordered(keys: Keys, scores: Scores, passing: Passing) -> list[Match]:
    ids = passing.ids(keys)
    pairs = zip(keys.tolist(), scores.tolist(), strict=True)
    return best_first(Match(ids[key], score) for key, score in pairs if key in ids)


class PackedSearch:
    """At one moment: made and used within a transaction. `buffered`: what the buffer counts."""

    def __init__(
        self,
        segments: SegmentedSearch,
        buffered: KeywordStatistics,
        index: KeywordIndexName,
        node: Node,
    ) -> None:
        self._segments = segments
        self.buffered = buffered
        self._columns = len(COLUMNS[index])
        self._node = node

    def statistics(self, holding: Sequence[int] | None = None) -> KeywordStatistics:
        """What the whole index counts; `holding`: what the segments count of each phrase."""
        if holding is None:
            holding = counted(self._segments, self._node, self._columns)
        rows, tokens, others = self.buffered
        both = tuple(map(sum, zip(holding, others, strict=True)))
        return KeywordStatistics(self._segments.rows + rows, self._segments.tokens + tokens, both)

    def best(self, query: KeywordQuery, passing: Passing) -> tuple[list[Match], KeywordStatistics]:
        """The best that pass, best first, equal scores by id; and what they were scored by."""
        matches, common = self._matched(query.column_weights, query.common, query.deadline)
        if matches.miscounted:
            return self._by_fts5(query, passing, common), common
        limit: int | None = query.limit
        if passing.narrows:
            # Mostly enough of the best pass, and to find these not everything is scored.
            tried = max(query.limit * 4, FIRST_READ)
            found = best_of(*scored(self._segments, matches, common, tried), tried, passing)
            if len(found) >= query.limit:
                return found[: query.limit], common
            limit = None
        return best(*scored(self._segments, matches, common, limit), query.limit, passing), common

    def keys(self) -> list[int]:
        """The keys of all that match."""
        keys, _ = scored(self._segments, *self._matched((1.0,) * self._columns, None))
        return [int(key) for key in keys]

    def _by_fts5(
        self, query: KeywordQuery, passing: Passing, common: KeywordStatistics
    ) -> list[Match]:
        """The best by FTS5 itself, over all memories that it looks at: what it counts in one may be
        left from an earlier one."""
        keys = visited(self._segments, self._node, query.column_weights, query.deadline)
        found = fts5_scores(query, common, passing.texts(query.index, keys))
        self.buffered = NOTHING_COUNTED  # it is part of what was found
        every = np.array([key for key, _ in found], np.int64)
        return best(every, np.array([score for _, score in found]), query.limit, passing)

    def _matched(
        self,
        weights: Sequence[float],
        common: KeywordStatistics | None,
        deadline: Deadline = NO_DEADLINE,
    ) -> tuple[SegmentMatches, KeywordStatistics]:
        """What the expression matches, and what BM25 counts."""
        matches = evaluated(self._segments, self._node, weights, deadline)
        return matches, common or self.statistics(matches.holding)


class MemoriesThat:
    """The memories that meet a condition; None: all of them."""

    def __init__(self, connection: apsw.Connection, condition: Condition | None) -> None:
        self._connection = connection
        self._condition, self._values = condition or ("1", [])
        self.narrows = condition is not None

    def ids(self, keys: Keys) -> dict[int, str]:
        sql = f"""SELECT m.key, m.id FROM json_each(?) j CROSS JOIN memories m ON m.key = j.value
            WHERE {self._condition}"""
        asked = (as_json_list(keys.tolist()), *self._values)
        return {int(key): stored_id(id) for key, id in self._connection.execute(sql, asked)}

    def texts(self, index: KeywordIndexName, keys: Sequence[int]) -> Iterator[tuple[object, ...]]:
        buffered = f"SELECT id FROM {TABLES[index]}_docsize"
        sql = f"""SELECT key, {", ".join(FIELDS)} FROM indexed
            WHERE key IN (SELECT value FROM json_each(?) UNION {buffered})"""
        for key, *fields in self._connection.execute(sql, (as_json_list(keys),)):
            if (columns := columns_of(fields, index)) is not None:
                yield key, *columns

    def every(self) -> Keys:
        sql = f"SELECT m.key FROM memories m WHERE {self._condition}"
        return np.array([key for (key,) in self._connection.execute(sql, self._values)], np.int64)
