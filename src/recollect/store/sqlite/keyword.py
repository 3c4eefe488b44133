"""Keyword search with BM25, filters before the limit, ties by id even at the cut.

A small vault is one FTS5 index. In a larger one that is only the buffer of what changed lately, and
the packed segments hold the rest; both are ranked as one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw
import msgspec

from recollect.index import ALMOST, KeywordStatistics
from recollect.index.phrases import leaves
from recollect.query.fts5 import each_counted
from recollect.store.base import KeywordIndexName, KeywordMatches, KeywordQuery, Match
from recollect.store.memory_rows import stored_id
from recollect.store.sqlite import fts5_index
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.filters import SqliteTopics, where
from recollect.store.sqlite.fts5_index import (
    FUNCTION,
    TABLES,
    index_statistics,
    least_by_common,
    least_by_own,
    pooled_bm25,
    scoring,
    stopped_at,
)
from recollect.store.sqlite.segments.buffer import is_alone
from recollect.types import AnyOf, Filter, any_of, best_first

if TYPE_CHECKING:
    from recollect.index.segments import SegmentedSearch
    from recollect.store.sqlite.segments.search import PackedSearch
    from recollect.store.sqlite.segments.tables import Segments

NO_BM25 = "bm25() is not available in this SQLite, so FTS5's own rank ordered the matches"


class PackedIndexes:
    """The segments of a vault: none while the vault is small. numpy is imported only if there are
    segments: the import takes longer than a search of a small vault."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._segments: Segments | None = None

    def forget(self) -> None:
        self._segments = None

    def segments(self, index: KeywordIndexName) -> SegmentedSearch | None:
        """Return the segments of an index, or None. Call it, and search, within one transaction."""
        connection = self._database.connection()
        if is_alone(connection):
            return None
        from recollect.index.segments import SegmentedSearch  # noqa: PLC0415  start-up time
        from recollect.store.sqlite.segments.search import StoredTokenRows  # noqa: PLC0415  start-up time
        from recollect.store.sqlite.segments.tables import Segments  # noqa: PLC0415  start-up time

        if self._segments is None:
            self._segments = Segments()
        found = self._segments.current(connection, index)
        if not found or not found.rows:
            return None
        return SegmentedSearch(StoredTokenRows(connection, found), found)

    def search(self, index: KeywordIndexName, expression: str) -> PackedSearch | None:
        """Return a search over the segments, or None. Call it within a transaction, too."""
        segments = self.segments(index)
        if segments is None:
            return None
        from recollect.store.sqlite.segments.search import PackedSearch  # noqa: PLC0415  start-up time

        connection = self._database.connection()
        node = fts5_index.parse_expression(connection, index, expression)
        segments.prefetch(node)
        buffered = index_statistics(connection, TABLES[index], ())
        if buffered.rows:
            buffered = index_statistics(connection, TABLES[index], fts5_index.phrases(index, node))
        else:
            none = (0,) * sum(len(leaf.phrases) for leaf in leaves(node))
            buffered = buffered._replace(holding=none)
        return PackedSearch(segments, buffered, index, node)


class SqliteKeyword:
    def __init__(
        self,
        database: Database,
        topics: SqliteTopics,
        packed: PackedIndexes,
        scorer: str = "bm25",
    ) -> None:
        self._database = database
        self._topics = topics
        self._packed = packed
        self._scorer = scorer
        self._local = threading.local()

    def match(self, query: KeywordQuery) -> KeywordMatches:
        filter = self._topics.resolve_archived(query.filter)
        query = msgspec.structs.replace(query, filter=filter)
        if not query.expression or query.limit < 1 or self._lacks_kinds(filter.kind):
            return KeywordMatches([])
        with self._database.reading() as connection, stopped_at(connection, query.deadline):
            packed = self._packed.search(query.index, query.expression)
            if packed is not None:
                from recollect.store.sqlite.segments.search import FilteredMemories  # noqa: PLC0415  numpy

                condition = where(filter, self._topics) if filter.narrows() else None
                found, common = packed.best(query, FilteredMemories(connection, condition))
                if any(packed.buffered.holding):
                    least = found[-1].score if len(found) == query.limit else 0.0
                    found += self._by_common(query, packed.buffered, common, least)
                return KeywordMatches(best_first(found)[: query.limit])
            score = self._score(query)
            try:
                best = self._best(query, score)
            except apsw.SQLError as error:
                if f"no such function: {self._scorer}" not in str(error):
                    raise
                return KeywordMatches(self._best(query, "rank"), NO_BM25)
            if query.common is not None and best:
                own, common = self.statistics(query.index, query.expression), query.common
                if own != common:
                    full, last = len(best) == query.limit, best[-1].score
                    least = least_by_common(own, common, last) if full else 0.0
                    best = self._by_common(query, own, common, least)
        return KeywordMatches(best)

    def _by_common(
        self,
        query: KeywordQuery,
        own: KeywordStatistics,
        common: KeywordStatistics,
        least: float,
    ) -> list[Match]:
        """Return the best by the common statistics that score at least `least`."""
        connection = self._database.connection()
        if getattr(self._local, "connection", None) is not connection:
            connection.register_fts5_function(FUNCTION, pooled_bm25)
            self._local.connection = connection
        table = TABLES[query.index]
        join, condition, values = self._join_filter(table, query.filter)
        every = f"""
            WITH best AS MATERIALIZED (
              SELECT {table}.rowid AS key, {FUNCTION}({table}, ?) AS score FROM {table} {join}
               WHERE {table} MATCH ? {condition} AND {self._score(query)} <= ?)"""
        how = scoring(common, query.column_weights)
        least_own = least_by_own(own, common, least) * ALMOST
        return self._run(every, (how, query.expression, *values, -least_own), query.limit)

    def statistics(self, index: KeywordIndexName, expression: str) -> KeywordStatistics:
        """Return the statistics of the index. They are kept until the next write: matching by
        common statistics needs them again."""
        with self._database.reading() as connection:
            state = (connection.pragma("data_version"), connection.total_changes())
            key = (index, expression, connection, state)
            if getattr(self._local, "key", None) != key:
                self._local.counted = self._read_statistics(connection, index, expression)
                self._local.key = key
        found: KeywordStatistics = self._local.counted
        return found

    def _read_statistics(
        self, connection: apsw.Connection, index: KeywordIndexName, expression: str
    ) -> KeywordStatistics:
        packed = self._packed.search(index, expression)
        if packed is not None:
            return packed.statistics()
        node = fts5_index.parse_expression(connection, index, expression)
        return index_statistics(connection, TABLES[index], fts5_index.phrases(index, node))

    def _score(self, query: KeywordQuery) -> str:
        """Return the expression that scores a row by its own index's statistics."""
        weights = ", ".join(map(repr, query.column_weights))
        return f"{self._scorer}({TABLES[query.index]}, {weights})"

    def _lacks_kinds(self, kind: AnyOf | None) -> bool:
        """Return True if no memory is of the filter's kinds: this lookup saves a match."""
        sql = "SELECT 1 FROM memories WHERE forgotten_at IS NULL AND kind = ? LIMIT 1"
        return kind is not None and not any(self._database.rows(sql, one) for one in any_of(kind))

    def _best(self, query: KeywordQuery, score: str) -> list[Match]:
        """Return the best matches. One row more than the limit shows whether equal scores straddle
        it. Only then the ids of all matches are read, to choose among equals by id."""
        table, limit = TABLES[query.index], query.limit
        join, condition, values = self._join_filter(table, query.filter)
        every = f"""
            SELECT {table}.rowid AS key, {score} AS score FROM {table} {join}
             WHERE {table} MATCH ? {condition}"""
        parameters = (query.expression, *values)
        best = f"WITH best AS ({every} ORDER BY score LIMIT ?) "
        found = self._run(best, (*parameters, limit + 1))
        if len(found) > limit and found[limit].score == found[limit - 1].score:
            found = self._run(f"WITH best AS ({every})", parameters, limit)
        return found[:limit]

    def _run(self, best: str, values: Sequence[apsw.SQLiteValue], limit: int = -1) -> list[Match]:
        sql = f"""{best} SELECT m.id, -best.score
            FROM best CROSS JOIN memories m ON m.key = best.key
            ORDER BY best.score, m.id LIMIT {limit}"""
        found = self._database.connection().execute(sql, values)
        return [Match(stored_id(id), float(score)) for id, score in found]

    def _join_filter(self, table: str, filter: Filter) -> tuple[str, str, list[apsw.SQLiteValue]]:
        """Return the join and the condition for the filter. The indexes contain only live memories,
        so without a filter no memory is read. Left-out kinds are few and looked up once."""
        rest = msgspec.structs.replace(filter, without_kinds=())
        if rest.narrows():
            condition, values = where(filter, self._topics)
            return f"CROSS JOIN memories m ON m.key = {table}.rowid", f"AND {condition}", values
        if not filter.without_kinds:
            return "", "", []
        places = ", ".join("?" for _ in filter.without_kinds)
        condition = f""" AND {table}.rowid NOT IN
            (SELECT key FROM memories WHERE forgotten_at IS NULL AND kind IN ({places}))"""
        return "", condition, [*filter.without_kinds]

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        return each_counted(words, lambda expression: self.statistics(index, expression).holding)

    def tokens(self, text: str) -> list[str]:
        connection = self._database.connection()
        if getattr(self._local, "tokenizing", None) is not connection:
            self._local.tokenizer = fts5_index.tokenizer(connection, "stemmed")
            self._local.tokenizing = connection
        found: list[str] = self._local.tokenizer(text)
        return found

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        with self._database.reading() as connection:
            found = set(fts5_index.terms(connection, TABLES[index], start))
            segments = self._packed.segments(index)
            found.update(segments.beginning(start) if segments else ())
        return sorted(found)
