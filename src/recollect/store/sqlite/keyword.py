"""Keyword search: FTS5 with BM25, filters before the limit, ties by id even at the cut."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import cast

import apsw
import msgspec

from recollect.query.fts5 import any_of
from recollect.store.base import (
    COLUMNS,
    KeywordIndexName,
    KeywordMatches,
    KeywordStatistics,
    Match,
)
from recollect.store.sqlite import subwords
from recollect.store.sqlite.bm25 import FUNCTION, counted, least_share, pooled_bm25, scoring
from recollect.store.sqlite.connection import LAST, Database
from recollect.store.sqlite.filters import where
from recollect.store.sqlite.topics import SqliteTopics
from recollect.types import Filter, Memory

TABLES: Mapping[str, str] = {
    "stemmed": "stemmed",
    "plain": "plain",
    "subwords": subwords.TABLE,
    "details": "details_words",  # FTS5 has a column of the table's own name already
}
TOKENIZERS: Mapping[str, str] = {
    "stemmed": "porter unicode61",
    "plain": "unicode61",
    "subwords": "ascii tokenchars '.'",  # tokens come ready made: every letter beyond ASCII stays
    "details": "porter unicode61",
}
SNIPPET = (
    "coalesce(nullif(snippet(found, 1, '<mark>', '</mark>', '...', 32), ''),"
    " nullif(snippet(found, 2, '<mark>', '</mark>', '...', 32), ''),"
    " snippet(found, 0, '<mark>', '</mark>', '...', 32), '')"
)
SNIPPET_READS = 8000
SAME_START = 4
MOST_MATCHES = 1000
ALMOST = 1 - 1e-9  # what rounding may take away
QUOTED = re.compile(r'"((?:[^"]|"")*)"')
NO_BM25 = "bm25() is not available in this SQLite, so FTS5's own rank ordered the matches"


class SqliteKeyword:
    def __init__(self, database: Database, topics: SqliteTopics, scorer: str = "bm25") -> None:
        self._database = database
        self._topics = topics
        self._scorer = scorer
        self._local = threading.local()

    def match(
        self,
        index: KeywordIndexName,
        expression: str,
        weights: Mapping[str, float],
        limit: int,
        filter: Filter,
        common: KeywordStatistics | None = None,
    ) -> KeywordMatches:
        if not expression or limit < 1 or self._nothing_is(filter.kind):
            return KeywordMatches([])
        table, score = self._scored(index, weights)
        with self._database.translated():
            try:
                best = self._best(table, score, expression, limit, filter)
            except apsw.SQLError as error:
                if f"no such function: {self._scorer}" not in str(error):
                    raise
                ranked = self._best(table, "rank", expression, limit, filter)
                return KeywordMatches(ranked, NO_BM25)
            if common is not None and best:
                best = self._pooled(index, expression, weights, limit, filter, common, best)
        return KeywordMatches(best)

    def _pooled(
        self,
        index: KeywordIndexName,
        expression: str,
        weights: Mapping[str, float],
        limit: int,
        filter: Filter,
        common: KeywordStatistics,
        best: Sequence[Match],
    ) -> list[Match]:
        """The best by the common statistics, among those that stand high enough by their own."""
        own = self.statistics(index, expression)
        if own == common:
            return list(best)
        least = best[-1].score * least_share(own, common) if len(best) == limit else 0.0
        table, score = self._scored(index, weights)
        join, condition, values = self._narrowed(table, filter)
        pooled, how = self._pooled_score(index, expression, weights, common)
        every = f"""
            WITH best AS MATERIALIZED (SELECT {table}.rowid AS key, {pooled} AS score
              FROM {table} {join} WHERE {table} MATCH ? {condition} AND {score} <= ?)"""
        asked = (how, expression, *values, -least * ALMOST)
        return self._run(self._database.connection(), every, asked, limit)

    def _pooled_score(
        self,
        index: KeywordIndexName,
        expression: str,
        weights: Mapping[str, float],
        common: KeywordStatistics,
    ) -> tuple[str, str]:
        """The expression that scores by common statistics, and its value."""
        connection = self._database.connection()
        if getattr(self._local, "connection", None) is not connection:
            connection.register_fts5_function(FUNCTION, pooled_bm25)
            self._local.connection = connection
        how = scoring(common, expression, [weights.get(name, 0.0) for name in COLUMNS[index]])
        return f"{FUNCTION}({TABLES[index]}, ?)", how

    def statistics(self, index: KeywordIndexName, expression: str) -> KeywordStatistics:
        """What the index counts; who matches by common statistics has just asked for its own."""
        with self._database.translated():
            connection = self._database.connection()
            state = (connection.pragma("data_version"), connection.total_changes())
            asked = (index, expression, connection, state)
            if getattr(self._local, "asked", None) != asked:
                self._local.counted = counted(connection, TABLES[index], expression)
                self._local.asked = asked
        found: KeywordStatistics = self._local.counted
        return found

    def scores(
        self,
        index: KeywordIndexName,
        expression: str,
        weights: Mapping[str, float],
        common: KeywordStatistics | None = None,
    ) -> list[tuple[int, float]]:
        """The key and the score of every match, without a look at the memories, best first."""
        table, score = self._scored(index, weights)
        values = [expression]
        if common is not None:
            score, how = self._pooled_score(index, expression, weights, common)
            values.insert(0, how)
        sql = f"SELECT rowid, -{score} FROM {table} WHERE {table} MATCH ? ORDER BY 2 DESC"
        return self._database.rows(sql, *values)  # type: ignore[return-value]

    def _scored(self, index: KeywordIndexName, weights: Mapping[str, float]) -> tuple[str, str]:
        """The table of an index, and the expression that scores its rows."""
        column_weights = ", ".join(repr(float(weights.get(name, 0.0))) for name in COLUMNS[index])
        return TABLES[index], f"{self._scorer}({TABLES[index]}, {column_weights})"

    def _nothing_is(self, kind: str | None) -> bool:
        """Whether the filter asks for a kind that no memory has: this lookup saves a match."""
        sql = "SELECT 1 FROM memories WHERE forgotten_at IS NULL AND kind = ? LIMIT 1"
        return kind is not None and not self._database.rows(sql, kind)

    def _best(
        self, table: str, score: str, expression: str, limit: int, filter: Filter
    ) -> list[Match]:
        """One row more than asked for tells whether equal scores straddle the limit. Only then the
        ids of all matches are read, to choose among equals by id."""
        connection = self._database.connection()
        join, condition, values = self._narrowed(table, filter)
        best = f"""
            SELECT {table}.rowid AS key, {score} AS score FROM {table} {join}
             WHERE {table} MATCH ? {condition} ORDER BY score LIMIT ?"""
        found = self._run(connection, f"WITH best AS ({best}) ", (expression, *values, limit + 1))
        if len(found) > limit and found[limit].score == found[limit - 1].score:
            every = f"""
                WITH best AS (SELECT {table}.rowid AS key, {score} AS score FROM {table} {join}
                WHERE {table} MATCH ? {condition})"""
            found = self._run(connection, every, (expression, *values), limit)
        return found[:limit]

    def _run(
        self,
        connection: apsw.Connection,
        best: str,
        values: Sequence[apsw.SQLiteValue],
        limit: int = -1,
    ) -> list[Match]:
        sql = f"""{best} SELECT m.id, -best.score
            FROM best CROSS JOIN memories m ON m.key = best.key
            ORDER BY best.score, m.id LIMIT {limit}"""
        return [Match(*row) for row in connection.execute(sql, values)]

    def _narrowed(self, table: str, filter: Filter) -> tuple[str, str, list[apsw.SQLiteValue]]:
        """The join and the condition for the filter. The indexes contain only live memories, so
        without a filter no memory is read. Left-out kinds are few and looked up once."""
        asked = msgspec.structs.replace(filter, without_kinds=())
        if asked.narrows():
            condition, values = where(filter, self._topics.hashed)
            return f"CROSS JOIN memories m ON m.key = {table}.rowid", f"AND {condition}", values
        if not filter.without_kinds:
            return "", "", []
        places = ", ".join("?" for _ in filter.without_kinds)
        condition = f"""AND {table}.rowid NOT IN
            (SELECT key FROM memories WHERE forgotten_at IS NULL AND kind IN ({places}))"""
        return "", condition, list(filter.without_kinds)

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        return dict(zip(words, self.statistics(index, any_of(words)).holding, strict=False))

    def tokens(self, text: str) -> list[str]:
        connection = self._database.connection()
        if getattr(self._local, "tokenizing", None) is not connection:
            self._local.tokenizer = connection.fts5_tokenizer("porter", ["unicode61"])
            self._local.tokenizing = connection
        flags = apsw.FTS5_TOKENIZE_DOCUMENT
        found = self._local.tokenizer(
            text.encode(), flags, None, include_offsets=False, include_colocated=False
        )
        return cast(list[str], found)  # without offsets and synonyms: plain texts

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        table = f"temp.{TABLES[index]}_terms"
        with self._database.translated():
            connection = self._database.connection()
            connection.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} "
                f"USING fts5vocab (main, {TABLES[index]}, row)"
            )
            sql = f"SELECT term FROM {table} WHERE term >= ? AND term < ? ORDER BY term"
            return [str(term) for (term,) in connection.execute(sql, (start, start + LAST))]

    def snippets(
        self, index: KeywordIndexName, expression: str, memories: Sequence[Memory]
    ) -> dict[str, str]:
        """Snippets by FTS5's own snippet(). A contentless index has no text, so the few memories
        shown are indexed in memory with the same tokenizer.

        Of a text with thousands of matches only a part is indexed, since the time of snippet()
        grows with their square. Where that part alone does not match, any of the terms may.
        """
        if not expression or not memories or index == "subwords":
            return {}
        terms = [term.replace('""', '"') for term in QUOTED.findall(expression)]
        connection = apsw.Connection(":memory:")
        columns = dict.fromkeys(("title", "text", "tags", *COLUMNS[index], "id"))

        def _declared(name: str) -> str:  # what the index does not hold cannot match here either
            return name if name in COLUMNS[index] else f"{name} UNINDEXED"

        connection.execute(
            f"CREATE VIRTUAL TABLE found USING fts5 ({', '.join(map(_declared, columns))}, "
            f'tokenize = "{TOKENIZERS[index]}")'
        )
        connection.executemany(
            f"INSERT INTO found VALUES ({', '.join('?' for _ in columns)})",
            [
                [_near_match(_column(memory, name), terms) for name in columns]
                for memory in memories
            ],
        )
        sql = f"SELECT id, {SNIPPET} FROM found WHERE found MATCH ?"
        rows = connection.execute(sql, (any_of(terms),)).fetchall()
        rows += connection.execute(sql, (expression,)).fetchall()
        connection.close()
        return {str(id): str(snippet) for id, snippet in rows}


def _near_match(text: str, terms: Sequence[str]) -> str:
    """The text, or of one with thousands of matches the part from shortly before the first on."""
    if len(text) <= SNIPPET_READS:
        return text
    lowered = text.lower()
    # A stem may end differently; its beginning is enough to find the places.
    starts = {term.lower()[:SAME_START] for term in terms} - {""}
    if sum(lowered.count(start) for start in starts) <= MOST_MATCHES:
        return text
    first = min(place for start in starts if (place := lowered.find(start)) >= 0)
    begin = max(0, first - SNIPPET_READS // 16)
    return text[begin : begin + SNIPPET_READS]


def _column(memory: Memory, name: str) -> str:
    return " ".join(memory.tags) if name == "tags" else str(getattr(memory, name))
