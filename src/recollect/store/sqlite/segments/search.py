"""Searching the segments of an index with one expression, and ranking the matches with those of the
buffer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.deadline import NO_DEADLINE, Deadline
from recollect.index import KeywordStatistics
from recollect.index.evaluation import SegmentMatches, count_holding, evaluate, visited_keys
from recollect.index.phrases import Node, asked_tokens
from recollect.index.postings import PostingsRow
from recollect.index.ranking import least_of_best, score_matches
from recollect.index.segments import SEGMENT, PlacesRow, SegmentedIndex, SegmentedSearch
from recollect.store.base import COLUMNS, KeywordIndexName, KeywordQuery, Match
from recollect.store.memory_rows import LAST, stored_id
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.fts5_index import TABLES, fts5_scores
from recollect.store.sqlite.segments.packing import FIELDS, columns_of
from recollect.store.sqlite.segments.tables import PLACES, POSTINGS, STORED
from recollect.types import best_first

if TYPE_CHECKING:
    from recollect.store.sqlite.filters import Condition

Keys = NDArray[np.int64]
Scores = NDArray[np.float64]

FIRST_READ = 100  # candidates to filter first, and
THEN_READ = 4000  # then, before all memories that pass are read
NOTHING_COUNTED = KeywordStatistics(0, 0, ())


class Passing(Protocol):
    """A filter on memories."""

    narrows: bool

    def ids(self, keys: Keys) -> dict[int, str]: ...

    def every(self) -> Keys: ...

    def texts(self, index: KeywordIndexName, keys: Sequence[int]) -> Iterable[tuple[object, ...]]:
        """Return the key and columns of these memories and of those in no segment, unfiltered."""


def best(keys: Keys, scores: Scores, limit: int, passing: Passing) -> list[Match]:
    """Return the best that pass, best first, equal scores by id. A filter is tried on the best
    first; if few of these pass, all memories that do are read."""
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
    return best_of(keys, scores, limit, passing)[:limit]


def best_of(keys: Keys, scores: Scores, most: int, passing: Passing) -> list[Match]:
    """Return those of the `most` best, ties included, that pass: best first, equal scores by id."""
    if len(scores) > most:
        kept = scores >= least_of_best(scores, most)
        keys, scores = keys[kept], scores[kept]
    ids = passing.ids(keys)
    pairs = zip(keys.tolist(), scores.tolist(), strict=True)
    return best_first(Match(ids[key], score) for key, score in pairs if key in ids)


class PackedSearch:
    """One search, within a transaction. `buffered`: the statistics of the buffer."""

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
        """Return those of the whole index; `holding`: the segments' numbers for each phrase."""
        if holding is None:
            holding = count_holding(self._segments, self._node, self._columns)
        rows, tokens, others = self.buffered
        both = tuple(map(sum, zip(holding, others, strict=True)))
        return KeywordStatistics(self._segments.rows + rows, self._segments.tokens + tokens, both)

    def best(self, query: KeywordQuery, passing: Passing) -> tuple[list[Match], KeywordStatistics]:
        """Return the best that pass, best first, ties by id; and the statistics for their
        scores."""
        matches, common = self._match(query.column_weights, query.common, query.deadline)
        if matches.miscounted:
            return self._by_fts5(query, passing, common), common
        limit: int | None = query.limit
        if passing.narrows:
            # Usually enough of the best pass, and finding them does not score everything.
            tried = max(query.limit * 4, FIRST_READ)
            found = best_of(*score_matches(self._segments, matches, common, tried), tried, passing)
            if len(found) >= query.limit:
                return found[: query.limit], common
            limit = None
        return best(
            *score_matches(self._segments, matches, common, limit), query.limit, passing
        ), common

    def keys(self) -> list[int]:
        keys, _ = score_matches(self._segments, *self._match((1.0,) * self._columns, None))
        return [int(key) for key in keys]

    def _by_fts5(
        self, query: KeywordQuery, passing: Passing, common: KeywordStatistics
    ) -> list[Match]:
        """Return the best by FTS5 over all memories it visits: it may count words of another
        row."""
        keys = visited_keys(self._segments, self._node, query.column_weights, query.deadline)
        found = fts5_scores(query, common, passing.texts(query.index, keys))
        self.buffered = NOTHING_COUNTED  # `found` includes the buffer
        every = np.array([key for key, _ in found], np.int64)
        return best(every, np.array([score for _, score in found]), query.limit, passing)

    def _match(
        self,
        weights: Sequence[float],
        common: KeywordStatistics | None,
        deadline: Deadline = NO_DEADLINE,
    ) -> tuple[SegmentMatches, KeywordStatistics]:
        """Return the matches of the expression, and the statistics for BM25."""
        matches = evaluate(self._segments, self._node, weights, deadline)
        return matches, common or self.statistics(matches.holding)


class FilteredMemories:
    """The memories that meet a condition, or all without one."""

    def __init__(self, connection: apsw.Connection, condition: Condition | None) -> None:
        self._connection = connection
        self._condition, self._values = condition or ("1", [])
        self.narrows = condition is not None

    def ids(self, keys: Keys) -> dict[int, str]:
        sql = f"""SELECT m.key, m.id FROM json_each(?) j CROSS JOIN memories m ON m.key = j.value
            WHERE {self._condition}"""
        values = (as_json_list(keys.tolist()), *self._values)
        return {int(key): stored_id(id) for key, id in self._connection.execute(sql, values)}

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


class StoredTokenRows:
    """The rows in a vault in SQLite. One statement reads the postings that an expression needs from
    all segments; the positions of phrases are read if a document has all their tokens."""

    def __init__(self, connection: apsw.Connection, index: SegmentedIndex) -> None:
        self._connection = connection
        numbers = ", ".join(map(str, index.numbers))
        within = f"p.segment IN ({numbers}) AND p.words = {index.words}"
        self._of_tokens = (
            f"FROM json_each(?) j CROSS JOIN {STORED} WHERE {within} AND p.token = j.value"
        )
        self._beginning = f"FROM {STORED} WHERE {within} AND p.token >= ? AND p.token < ?"
        self._postings: dict[str, list[PostingsRow]] = {}

    def prefetch(self, node: Node) -> None:
        tokens = set[str]().union(*asked_tokens(node))
        self._postings = {token: [] for token in tokens}
        sql = f"SELECT p.token, p.segment, {POSTINGS} {self._of_tokens}"
        for row in self._connection.execute(sql, (as_json_list(tokens),)):
            self._postings[str(row[0])].append(row[1:])
        for rows in self._postings.values():
            rows.sort(key=SEGMENT)

    def _rows(self, sql: str, *values: str) -> Any:
        return self._connection.execute(sql, values).fetchall()

    def postings(self, token: str) -> Sequence[PostingsRow]:
        if token in self._postings:
            return self._postings[token]
        sql = f"SELECT p.segment, {POSTINGS} {self._of_tokens}"
        return sorted(self._rows(sql, as_json_list([token])), key=SEGMENT)

    def places(self, tokens: Sequence[str]) -> Sequence[PlacesRow]:
        sql = f"SELECT p.segment, {POSTINGS}, {PLACES} {self._of_tokens}"
        return sorted(self._rows(sql, as_json_list(tokens)), key=SEGMENT)

    def beginning(self, start: str) -> Sequence[PostingsRow]:
        rows: Sequence[PostingsRow]
        sql = f"SELECT p.segment, {POSTINGS} {self._beginning}"
        rows = self._rows(sql, start, start + LAST)
        return rows

    def tokens(self, start: str) -> Sequence[tuple[str, int]]:
        rows: Sequence[tuple[str, int]]
        sql = f"SELECT p.token, sum(p.documents) {self._beginning} GROUP BY p.token"
        rows = self._rows(sql, start, start + LAST)
        return rows

    def damage_error(self, what: str) -> Exception:
        return apsw.CorruptError(what)
