"""The words of a vault as a search reads them: its segments, which are the form of SQLite's.

What a write adds is a small segment: one row, which each process reads once and keeps. What an
import or a merge makes is large: a row for each token, of which a search reads those it asks for.
What is in memory is by the segment's number, which never comes again.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import apsw
import msgspec
import numpy as np

from recollect.index.base import KeywordStatistics, Row
from recollect.index.phrases import Node, asked_tokens, leaves
from recollect.index.postings import DOCUMENT, PostingsRow
from recollect.index.segmented import PlacesRow, SegmentedSearch
from recollect.index.segments import Documents, SegmentCache, SegmentedIndex
from recollect.query.fts5 import all_of
from recollect.store.base import KeywordIndexName
from recollect.store.memory_rows import LAST
from recollect.store.sqlite.fts5_index import tokenizer, understood
from recollect.store.sqlite.segments.reader import KEY, WORDS
from recollect.store.sqlite.segments.search import PackedSearch

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


class _Tokenizing(threading.local):
    """SQLite's own tokenizers, for each thread."""

    def __init__(self) -> None:
        self.connection = apsw.Connection(":memory:")
        self.stemmed = tokenizer(self.connection, "stemmed")


TOKENIZING = _Tokenizing()


class SegmentContent(NamedTuple):
    """One index of a small segment, as its row holds it: keys, lengths, rows by alphabet."""

    keys: bytes
    lengths: bytes
    rows: list[Row]

    def documents(self) -> Documents:
        return Documents(np.frombuffer(self.keys, KEY), np.frombuffer(self.lengths, DOCUMENT))


class MadeSegment(NamedTuple):
    """A small segment that this process has written: what will give its number, and its indexes."""

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
    """The segments of a vault; all threads share what is in memory, and only replace it."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._cache = SegmentCache()
        self._held: tuple[Sequence[int], Small] = (), {}  # all segments, and the small ones

    def forget(self) -> None:
        """Drop what is in memory."""
        self._cache, self._held = SegmentCache(), ((), {})

    def hold(self, made: Iterable[MadeSegment]) -> None:
        """Have in memory what this process has written, so that it need not read it."""
        known, small = self._held
        new = {number: one.content for one in made for (number,) in one.number.fetchall()}
        read = {number: [*map(SmallIndex, content)] for number, content in new.items()}
        self._held = [*known, *new], {**small, **read}

    def current(self, connection: Connection, index: KeywordIndexName) -> SegmentedIndex | None:
        """The segments of an index; None where there are none."""
        found = self._current(connection, index)
        return None if found is None else found[0]

    def _current(
        self, connection: Connection, index: KeywordIndexName
    ) -> tuple[SegmentedIndex, Small] | None:
        """With the small ones of the same moment: other threads may have come further."""
        facts = self._database.facts(connection)
        if not facts.segments:
            return None
        small = self._small(connection, facts.segments)
        source = _Source(connection, small)
        changes = self._cache.changes(source, tuple(facts.segments), facts.seq)
        found = self._cache.index(source, WORDS[index], changes)
        return (found, small) if found.rows else None

    def _small(self, connection: Connection, numbers: Sequence[int]) -> Small:
        """The small ones among these segments. Those that are in memory are not read again; other
        threads may replace these meanwhile."""
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
        """A search in an index."""
        current = self._current(connection, index)
        if current is None:
            return None
        found, small = current
        return SegmentedSearch(FetchedRows(connection, found, small), found)

    def search(
        self, connection: Connection, index: KeywordIndexName, expression: str
    ) -> PackedSearch | int:
        """A search for an expression; where there is no memory, the number of its phrases."""
        node = understood(TOKENIZING.connection, index, expression)
        phrases = sum(len(leaf.phrases) for leaf in leaves(node))
        found = self.segments(connection, index)
        if found is None:
            return phrases
        found.prefetch(node)
        nothing = KeywordStatistics(0, 0, (0,) * phrases)
        return PackedSearch(found, nothing, index, node)

    def holding(self, indexes: Sequence[KeywordIndexName], words: Sequence[str]) -> list[int]:
        """The keys of the memories of which one of these indexes holds all the words."""
        keys: set[int] = set()
        with self._database.reading() as connection:
            for index in indexes:
                found = self.search(connection, index, all_of(words))
                keys.update(() if isinstance(found, int) else found.keys())
        return sorted(keys)


class _Source:
    """Where the segments are read from that are not in memory."""

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
    """The rows of tokens in one index of all segments. What an expression needs is read at once."""

    def __init__(self, connection: Connection, index: SegmentedIndex, small: Small) -> None:
        self._connection = connection
        self._small = [(n, small[n][index.words]) for n in index.numbers if n in small]
        self._within = ([n for n in index.numbers if n not in small], index.words)
        self._postings: dict[str, list[PostingsRow]] = {}
        self._places: dict[str, list[PlacesRow]] = {}

    def prefetch(self, node: Node) -> None:
        """Read the rows of an expression's words; those that only a prefix finds come later."""
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
        found: list[PostingsRow] = [
            (number, *index.rows[token][:-1])
            for number, index in self._small
            for token in index.beginning(start)
        ]
        asked = (*self._within, start, start + LAST)
        return found + self._connection.execute(BEGINNING, asked, binary=True).fetchall()

    def tokens(self, start: str) -> Sequence[tuple[str, int]]:
        found: dict[str, int] = {}
        asked = (*self._within, start, start + LAST)
        large = self._connection.execute(TOKENS, asked, binary=True).fetchall()
        small = (
            (token, index.rows[token][0])
            for _, index in self._small
            for token in index.beginning(start)
        )
        for token, documents in (*large, *small):
            found[token] = found.get(token, 0) + documents
        return sorted(found.items())

    def damaged(self, what: str) -> Exception:
        return apsw.CorruptError(what)


def read_contents(content: bytes) -> list[SegmentContent]:
    """The indexes of a small segment in their order."""
    return msgspec.msgpack.decode(content, type=list[SegmentContent])
