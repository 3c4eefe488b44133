"""Keyword search with BM25: the expressions, tokens and formula of SQLite's FTS5 over segments that
PostgreSQL holds; filters before the limit, ties by id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from recollect.index.base import KeywordStatistics
from recollect.query.fts5 import each_counted
from recollect.store.base import KeywordIndexName, KeywordMatches, KeywordQuery
from recollect.store.sqlite.segments.packing import columns_of
from recollect.store.sqlite.segments.search import Keys
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.filters import SqlCondition, settled, where
from recollect_postgres.indexing import TEXTS
from recollect_postgres.pool import Connection
from recollect_postgres.segments import TOKENIZING, WordSegments

FEW = 1_000  # of those that pass a filter: reading these takes a millisecond
EVERY = SqlCondition("m.vault = vault()", [])


class PostgresKeyword:
    def __init__(self, database: PostgresDatabase, words: WordSegments) -> None:
        self._database = database
        self._words = words

    def match(self, query: KeywordQuery) -> KeywordMatches:
        if not query.expression or query.limit < 1:
            return KeywordMatches([])
        with self._database.reading() as connection:
            found = self._words.search(connection, query.index, query.expression)
            if isinstance(found, int):
                return KeywordMatches([])
            filter = settled(query.filter, self._database, connection)
            condition = where(filter, self._database) if filter.narrows() else None
            matches, _ = found.best(query, PassingMemories(connection, condition))
        return KeywordMatches(matches)

    def statistics(self, index: KeywordIndexName, expression: str) -> KeywordStatistics:
        with self._database.reading() as connection:
            found = self._words.search(connection, index, expression)
            if isinstance(found, int):
                return KeywordStatistics(0, 0, (0,) * found)
            return found.statistics()

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        return each_counted(words, lambda asked: self.statistics(index, asked).holding)

    def tokens(self, text: str) -> list[str]:
        return TOKENIZING.stemmed(text)

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        with self._database.reading() as connection:
            found = self._words.segments(connection, index)
            return [] if found is None else found.beginning(start)


class PassingMemories:
    """The memories that meet a condition; None: all of them."""

    def __init__(self, connection: Connection, condition: SqlCondition | None) -> None:
        self._connection = connection
        self._condition, self._values = condition or EVERY
        self.narrows = condition is not None

        self._tried = False
        self._few: dict[int, str] | None = None  # all that pass, where these are few

    def ids(self, keys: Keys) -> dict[int, str]:
        if not len(keys):
            return {}
        if self.narrows and self._few is None and self._tried:
            # The best that there are did not pass: it may be that hardly any does.
            self._look_for_few()
        self._tried = True
        if self._few is not None:
            return {key: self._few[key] for key in keys.tolist() if key in self._few}
        sql = f"SELECT m.key, m.id FROM memories m WHERE m.key = ANY(%s) AND {self._condition}"
        asked = (keys.tolist(), *self._values)
        return dict(self._connection.execute(sql, asked, binary=True).fetchall())

    def texts(self, index: KeywordIndexName, keys: Sequence[int]) -> Iterator[tuple[object, ...]]:
        for key, *fields in self._connection.execute(TEXTS, ([*keys],)):
            if (columns := columns_of(fields, index)) is not None:
                yield key, *columns

    def _look_for_few(self) -> None:
        sql = f"SELECT m.key, m.id FROM memories m WHERE {self._condition} LIMIT {FEW + 1}"
        found = self._connection.execute(sql, self._values or None, binary=True).fetchall()
        self._few = dict(found) if len(found) <= FEW else None

    def every(self) -> Keys:
        if self._few is None:
            self._look_for_few()
        if self._few is not None:
            return np.array([*self._few], np.int64)
        sql = f"SELECT m.key FROM memories m WHERE {self._condition}"
        rows = self._connection.execute(sql, self._values or None, binary=True).fetchall()
        return np.array([key for (key,) in rows], np.int64)
