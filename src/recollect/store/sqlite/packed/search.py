"""One expression over the segments of an index and its write buffer, ranked as one."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import numpy as np

from recollect.store.base import COLUMNS, KeywordIndexName, KeywordQuery, KeywordStatistics, Match
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.filters import Condition
from recollect.store.sqlite.packed.base import Searchable
from recollect.store.sqlite.packed.evaluation import SegmentMatches, counted, evaluated
from recollect.store.sqlite.packed.phrases import Node
from recollect.store.sqlite.packed.ranking import Keys, Scores, best, scored, total


class PackedSearch:
    """At one moment: made and used within a transaction."""

    def __init__(self, parts: Sequence[Searchable], index: KeywordIndexName, node: Node) -> None:
        self._parts = parts
        self._columns = len(COLUMNS[index])
        self._node = node

    def statistics(self) -> KeywordStatistics:
        """What the index counts."""
        return total((part, counted(part, self._node, self._columns)) for part in self._parts)

    def best(
        self, query: KeywordQuery, connection: apsw.Connection, condition: Condition | None
    ) -> list[Match]:
        """The best that meet the condition, best first, equal scores by id."""
        limit = query.limit if condition is None else None
        keys, scores = self._ranked(query.column_weights, query.common, limit)
        return best(keys, scores, query.limit, MemoriesThat(connection, condition))

    def scores(self, query: KeywordQuery) -> list[tuple[int, float]]:
        """The key and the score of every match, best first."""
        keys, scores = self._ranked(query.column_weights, query.common)
        order = np.argsort(-scores, kind="stable")
        return list(zip(keys[order].tolist(), scores[order].tolist(), strict=True))

    def keys(self) -> list[int]:
        """The keys of all that match."""
        keys, _ = self._ranked((1.0,) * self._columns)
        return [int(key) for key in keys]

    def _ranked(
        self,
        weights: Sequence[float],
        common: KeywordStatistics | None = None,
        limit: int | None = None,
    ) -> tuple[Keys, Scores]:
        found: list[tuple[Searchable, SegmentMatches]] = [
            (part, evaluated(part, self._node, weights)) for part in self._parts
        ]
        own = total((part, matches.holding) for part, matches in found)
        return scored(found, common or own, limit)


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
        return {int(key): str(id) for key, id in self._connection.execute(sql, asked)}

    def every(self) -> Keys:
        sql = f"SELECT m.key FROM memories m WHERE {self._condition}"
        return np.array([key for (key,) in self._connection.execute(sql, self._values)], np.int64)
