"""One expression over the segments of an index, which are ranked as part of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw
import numpy as np

from recollect.deadline import NO_DEADLINE, Deadline
from recollect.store.base import COLUMNS, KeywordIndexName, KeywordQuery, KeywordStatistics, Match
from recollect.store.memory_rows import stored_id
from recollect.store.sqlite.bm25 import fts5_scores
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.filters import Condition
from recollect.store.sqlite.fts5_index import TABLES
from recollect.store.sqlite.packed.evaluation import (
    SegmentMatches,
    counted,
    evaluated,
    visited,
)
from recollect.store.sqlite.packed.phrases import Node
from recollect.store.sqlite.packed.ranking import (
    FIRST_READ,
    Keys,
    Passing,
    best,
    best_of,
    scored,
)
from recollect.store.sqlite.packed.segmented import SegmentedSearch
from recollect.store.sqlite.segments.packing import FIELDS, columns_of

NOTHING_COUNTED = KeywordStatistics(0, 0, ())


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
