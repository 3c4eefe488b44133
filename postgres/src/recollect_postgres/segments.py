"""Keyword search with BM25: the expressions, tokens and formula of SQLite's FTS5 over segments in
PostgreSQL; filters before the limit, ties by id.

Segments have the form of SQLite's. A write adds a small one: one row, which each process reads once
and keeps. An import or a merge makes a large one: a row for each token, of which a search reads
those it needs. Memory is keyed by the segment's number, which is never reused.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import apsw
import msgspec
import numpy as np

from recollect.index import KeywordStatistics, Row
from recollect.index.phrases import Node, asked_tokens, leaves
from recollect.index.postings import DOCUMENT, PostingsRow
from recollect.index.segments import (
    Documents,
    PlacesRow,
    SegmentCache,
    SegmentedIndex,
    SegmentedSearch,
)
from recollect.query.fts5 import all_of, each_counted
from recollect.store.base import KeywordIndexName, KeywordMatches, KeywordQuery
from recollect.store.memory_rows import LAST
from recollect.store.sqlite.fts5_index import parse_expression, tokenizer
from recollect.store.sqlite.segments.packing import FIELDS, columns_of
from recollect.store.sqlite.segments.search import Keys, PackedSearch
from recollect.store.sqlite.segments.tables import KEY, WORDS
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.memories import SqlCondition, where, without_archived
from recollect_postgres.pool import Connection

if TYPE_CHECKING:
    import psycopg

    from recollect_postgres.database import PostgresDatabase
    from recollect_postgres.pool import Connection

CHANGES = "SELECT memory, segment FROM segment_changes WHERE vault = vault() AND seq > %s"
CONTENTS = "SELECT number, content FROM segments WHERE vault = vault() AND number = ANY(%s)"
DOCUMENTS = """
SELECT keys, lengths FROM segment_documents
 WHERE vault = vault() AND segment = %s AND words = %s"""
WITHIN = "FROM postings WHERE vault = vault() AND segment = ANY(%s) AND words = %s"
POSTINGS = f"SELECT token, segment, documents, bits, postings {WITHIN} AND token = ANY(%s)"
PLACES = f"SELECT token, segment, documents, bits, postings, places {WITHIN} AND token = ANY(%s)"
BEGINNING = f"SELECT segment, documents, bits, postings {WITHIN} AND token >= %s AND token < %s"
TOKENS = f"SELECT token, documents {WITHIN} AND token >= %s AND token < %s"
KEYS = "SELECT key FROM memories WHERE vault = vault() AND forgotten_at IS NULL ORDER BY key"
TEXTS = f"""
SELECT key, {", ".join(FIELDS).replace("tags", "array_to_string(tags, ' ')")} FROM memories
 WHERE vault = vault() AND key = ANY(%s) AND forgotten_at IS NULL ORDER BY key"""


class _Tokenizing(threading.local):
    """SQLite's own tokenizers, for each thread."""

    def __init__(self) -> None:
        self.connection = apsw.Connection(":memory:")
        self.stemmed = tokenizer(self.connection, "stemmed")


TOKENIZING = _Tokenizing()


class SegmentContent(NamedTuple):
    """One index of a small segment, as it is stored; rows are in alphabetical order."""

    keys: bytes
    lengths: bytes
    rows: list[Row]

    def documents(self) -> Documents:
        return Documents(np.frombuffer(self.keys, KEY), np.frombuffer(self.lengths, DOCUMENT))


class MadeSegment(NamedTuple):
    """A small segment that this process has written: a cursor with its number, and its indexes."""

    number: psycopg.Cursor[tuple[int]]
    content: list[SegmentContent]


class SmallIndex:
    """One index of a small segment in memory."""

    def __init__(self, content: SegmentContent) -> None:
        self.documents = content.documents()
        self.rows = {row[0]: row[1:] for row in content.rows}

    @cached_property
    def _tokens(self) -> list[str]:
        return [*self.rows]

    def beginning(self, start: str) -> Iterable[str]:
        first = bisect_left(self._tokens, start)
        return takewhile(lambda token: token.startswith(start), self._tokens[first:])


Small = Mapping[int, list[SmallIndex]]  # by the number of the segment, then of the index


class WordSegments:
    """The segments of a vault. Threads share what is in memory, and only replace it."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._cache = SegmentCache()
        self._held: tuple[Sequence[int], Small] = (), {}  # all segments, and the small ones

    def forget(self) -> None:
        """Drop what is in memory."""
        self._cache, self._held = SegmentCache(), ((), {})

    def hold(self, made: Iterable[MadeSegment]) -> None:
        """Keep the segments that this process has written in memory."""
        known, small = self._held
        new = {number: one.content for one in made for (number,) in one.number.fetchall()}
        read = {number: [*map(SmallIndex, content)] for number, content in new.items()}
        self._held = [*known, *new], {**small, **read}

    def current(self, connection: Connection, index: KeywordIndexName) -> SegmentedIndex | None:
        """Return the segments of an index; None if it is empty."""
        current = self._current(connection, index)
        return None if current is None else current[0]

    def _current(
        self, connection: Connection, index: KeywordIndexName
    ) -> tuple[SegmentedIndex, Small] | None:
        """Return the segments with the small ones of the same moment; other threads may already
        have newer ones."""
        facts = self._database.facts(connection)
        if not facts.segments:
            return None
        small = self._small(connection, facts.segments)
        source = _Source(connection, small)
        changes = self._cache.changes(source, tuple(facts.segments), facts.seq)
        found = self._cache.index(source, WORDS[index], changes)
        return (found, small) if found.rows else None

    def _small(self, connection: Connection, numbers: Sequence[int]) -> Small:
        """Return the small ones among these segments, and read those that are not in memory; other
        threads may replace those meanwhile."""
        known, small = self._held
        if known == numbers:
            return small
        new = sorted(set(numbers).difference(known))
        rows = connection.execute(CONTENTS, (new,), binary=True).fetchall() if new else ()
        read = {
            number: [*map(SmallIndex, read_contents(content))]
            for number, content in rows
            if content is not None
        }
        small = {n: small[n] for n in numbers if n in small} | read
        self._held = numbers, small
        return small

    def segments(self, connection: Connection, index: KeywordIndexName) -> SegmentedSearch | None:
        current = self._current(connection, index)
        if current is None:
            return None
        segments, small = current
        return SegmentedSearch(FetchedRows(connection, segments, small), segments)

    def search(
        self, connection: Connection, index: KeywordIndexName, expression: str
    ) -> PackedSearch | int:
        """Return a search for an expression; if the index is empty, the number of its phrases."""
        node = parse_expression(TOKENIZING.connection, index, expression)
        phrases = sum(len(leaf.phrases) for leaf in leaves(node))
        segments = self.segments(connection, index)
        if segments is None:
            return phrases
        segments.prefetch(node)
        nothing = KeywordStatistics(0, 0, (0,) * phrases)
        return PackedSearch(segments, nothing, index, node)

    def holding(self, indexes: Sequence[KeywordIndexName], words: Sequence[str]) -> list[int]:
        """Return the keys of the memories with all these words, by any of these indexes."""
        keys: set[int] = set()
        with self._database.reading() as connection:
            for index in indexes:
                search = self.search(connection, index, all_of(words))
                keys.update(() if isinstance(search, int) else search.keys())
        return sorted(keys)


class _Source:
    """Reads the segments that are not in memory."""

    def __init__(self, connection: Connection, small: Small) -> None:
        self._connection = connection
        self._small = small

    def changes(self, after: int) -> Sequence[tuple[int, int]]:
        return self._connection.execute(CHANGES, (after,), binary=True).fetchall()

    def documents(self, number: int, words: int) -> Documents:
        if number in self._small:
            return self._small[number][words].documents
        asked = (number, words)
        [(keys, lengths)] = self._connection.execute(DOCUMENTS, asked, binary=True).fetchall()
        return SegmentContent(keys, lengths, []).documents()


class FetchedRows:
    """The rows of tokens in one index of all segments; those of an expression are read at once."""

    def __init__(self, connection: Connection, index: SegmentedIndex, small: Small) -> None:
        self._connection = connection
        self._small = [(n, small[n][index.words]) for n in index.numbers if n in small]
        self._within = ([n for n in index.numbers if n not in small], index.words)
        self._postings: dict[str, list[PostingsRow]] = {}
        self._places: dict[str, list[PlacesRow]] = {}

    def prefetch(self, node: Node) -> None:
        """Read the rows of an expression's words; those of prefixes are read later."""
        alone, placed = asked_tokens(node)
        self._read(POSTINGS, alone, self._postings)  # type: ignore[arg-type]
        self._read(PLACES, placed, self._places)  # type: ignore[arg-type]

    def _read(
        self, sql: str, tokens: Iterable[str], into: dict[str, list[tuple[object, ...]]]
    ) -> None:
        last = None if sql is PLACES else -1  # of a row: without the places
        for token in tokens:
            into[token] = [
                (number, *index.rows[token][:last])
                for number, index in self._small
                if token in index.rows
            ]
        if tokens and self._within[0]:
            asked = (*self._within, [*tokens])
            for token, *row in self._connection.execute(sql, asked, binary=True):
                into[token].append(tuple(row))
        for token in tokens:
            into[token].sort(key=itemgetter(0))

    def postings(self, token: str) -> Sequence[PostingsRow]:
        if token in self._places:
            return [row[:-1] for row in self._places[token]]
        if token not in self._postings:
            self._read(POSTINGS, (token,), self._postings)  # type: ignore[arg-type]
        return self._postings[token]

    def places(self, tokens: Sequence[str]) -> Sequence[PlacesRow]:
        missing = [token for token in tokens if token not in self._places]
        self._read(PLACES, missing, self._places)  # type: ignore[arg-type]
        return sorted((row for token in tokens for row in self._places[token]), key=itemgetter(0))

    def beginning(self, start: str) -> Sequence[PostingsRow]:
        rows: list[PostingsRow] = [
            (number, *index.rows[token][:-1])
            for number, index in self._small
            for token in index.beginning(start)
        ]
        asked = (*self._within, start, start + LAST)
        return rows + self._connection.execute(BEGINNING, asked, binary=True).fetchall()

    def tokens(self, start: str) -> Sequence[tuple[str, int]]:
        counts: dict[str, int] = {}
        asked = (*self._within, start, start + LAST)
        large = self._connection.execute(TOKENS, asked, binary=True).fetchall()
        small = (
            (token, index.rows[token][0])
            for _, index in self._small
            for token in index.beginning(start)
        )
        for token, documents in (*large, *small):
            counts[token] = counts.get(token, 0) + documents
        return sorted(counts.items())

    def damage_error(self, what: str) -> Exception:
        return apsw.CorruptError(what)


def read_contents(content: bytes) -> list[SegmentContent]:
    """Decode the indexes of a small segment, in their order."""
    return msgspec.msgpack.decode(content, type=list[SegmentContent])


FEW = 1_000  # memories that pass a filter: reading these takes a millisecond
ALL = SqlCondition("m.vault = vault()", [])


class PostgresKeyword:
    def __init__(self, database: PostgresDatabase, words: WordSegments) -> None:
        self._database = database
        self._words = words

    def match(self, query: KeywordQuery) -> KeywordMatches:
        if not query.expression or query.limit < 1:
            return KeywordMatches([])
        with self._database.reading() as connection:
            search = self._words.search(connection, query.index, query.expression)
            if isinstance(search, int):
                return KeywordMatches([])
            filter = without_archived(query.filter, self._database, connection)
            condition = where(filter, self._database) if filter.narrows() else None
            matches, _ = search.best(query, PassingMemories(connection, condition))
        return KeywordMatches(matches)

    def statistics(self, index: KeywordIndexName, expression: str) -> KeywordStatistics:
        with self._database.reading() as connection:
            search = self._words.search(connection, index, expression)
            if isinstance(search, int):
                return KeywordStatistics(0, 0, (0,) * search)
            return search.statistics()

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        return each_counted(words, lambda asked: self.statistics(index, asked).holding)

    def tokens(self, text: str) -> list[str]:
        return TOKENIZING.stemmed(text)

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        with self._database.reading() as connection:
            segments = self._words.segments(connection, index)
            return [] if segments is None else segments.beginning(start)


class PassingMemories:
    """The memories that meet a condition, by default all."""

    def __init__(self, connection: Connection, condition: SqlCondition | None) -> None:
        self._connection = connection
        self._condition, self._values = condition or ALL
        self.narrows = condition is not None
        self._tried = False
        self._few: dict[int, str] | None = None  # all that pass, if there are few

    def ids(self, keys: Keys) -> dict[int, str]:
        if not len(keys):
            return {}
        if self.narrows and self._few is None and self._tried:
            # The best candidates did not pass: perhaps hardly any memory does.
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
        rows = self._connection.execute(sql, self._values or None, binary=True).fetchall()
        self._few = dict(rows) if len(rows) <= FEW else None

    def every(self) -> Keys:
        if self._few is None:
            self._look_for_few()
        if self._few is not None:
            return np.array([*self._few], np.int64)
        sql = f"SELECT m.key FROM memories m WHERE {self._condition}"
        rows = self._connection.execute(sql, self._values or None, binary=True).fetchall()
        return np.array([key for (key,) in rows], np.int64)
