"""Write everything that is derived from the words of memories, with each change of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from recollect.index import Row
from recollect.index.segments import Documents
from recollect.maths import batched
from recollect.store.memory_rows import LAST, Packed, PreparedMemories
from recollect.store.sqlite.segments.packing import fields_of, prepare
from recollect.store.sqlite.segments.tables import AT_ONCE, WORDS, documents_of
from recollect.store.sqlite.vocabulary import memory_tokens
from recollect.types import Memory
from recollect_postgres import vectors
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.pool import Connection
from recollect_postgres.segments import KEYS, TEXTS, MadeSegment, SegmentContent
from recollect_postgres.vectors import IndexChange

MOST_SMALL = 1_000  # memories of a small segment: each process keeps all small ones in memory
ROWS, BYTES = 4_000, 4_000_000  # of one INSERT
NUMBER = "SELECT nextval('word_numbers')"
CHANGED = """
INSERT INTO segment_changes
SELECT vault(), nextval('word_numbers'), key, %s FROM unnest(%s::bigint[]) AS key"""
SEGMENT = "INSERT INTO segments VALUES (vault(), %s, true, %s, NULL)"
SMALL_SEGMENT = """
INSERT INTO segments VALUES (vault(), nextval('word_numbers'), true, %s, %b) RETURNING number"""
DOCUMENTS = "INSERT INTO segment_documents VALUES (vault(), %s, %s, %b, %b)"
# An INSERT of arrays: PostgreSQL has no COPY into tables with row-level security.
POSTINGS = """
INSERT INTO postings SELECT vault(), %s, %s, *
  FROM unnest(%b::text[], %b::integer[], %b::integer[], %b::bytea[], %b::bytea[])"""
DERIVED = ("segments", "segment_documents", "postings", "segment_changes", "vocabulary")
LOOK_UP = "SELECT token, documents FROM vocabulary WHERE vault = vault() AND token = ANY(%b)"
BEGINNING = """
SELECT token, documents FROM vocabulary
 WHERE vault = vault() AND token >= %s AND token < %s AND length(token) BETWEEN %s AND %s"""
ADD = """
INSERT INTO vocabulary SELECT vault(), * FROM unnest(%b::text[], %b::bigint[])
    ON CONFLICT (vault, token)
    DO UPDATE SET documents = vocabulary.documents + excluded.documents"""
REMOVE = """
DELETE FROM vocabulary WHERE vault = vault() AND token = ANY(%b::text[]) AND documents <= 0"""


def index(
    connection: Connection,
    changes: Sequence[IndexChange],
    ready: PreparedMemories | None = None,
) -> list[MadeSegment]:
    """Index changes of memories that are written already; return the new small segments.

    ready: the prepared index of these memories, used if all of them are new and unchanged.
    """
    changed = [change for change in changes if _words(change.before) != _words(change.after)]
    gone = [change.key for change in changed if change.before is not None]
    added = {change.key: change.after for change in changed if change.after is not None}
    if gone:
        [(number,)] = connection.execute(NUMBER).fetchall()
        connection.execute(CHANGED, (number, gone))
    counts: Counter[str] = Counter()
    for change in changed:
        if change.before is not None:
            counts.subtract(memory_tokens(change.before))
    made: list[MadeSegment | None] = []
    if ready is not None and ready.ids == [memory.id for memory in added.values()]:
        counts.update(ready.vocabulary)
        made.append(write_segment(connection, ready.indexes, [*added]))
    else:
        for some in batched(sorted(added.items()), AT_ONCE):
            new = prepare([fields_of(memory) for _, memory in some])
            counts.update(new.vocabulary)
            made.append(write_segment(connection, new.indexes, [key for key, _ in some]))
    add_counts(connection, counts)
    vectors.follow(connection, changes)
    return [one for one in made if one is not None]


def _words(memory: Memory | None) -> list[str] | None:
    return None if memory is None else fields_of(memory)


def write_segment(
    connection: Connection, packed: Packed, keys: Sequence[int]
) -> MadeSegment | None:
    """Write a segment of memories with these keys, ascending; return it if it is small."""
    documents = {name: documents_of(packed[name], keys) for name in WORDS}
    if len(keys) <= MOST_SMALL:
        content = [
            SegmentContent(own.tobytes(), lengths.tobytes(), packed[name].rows)
            for name, (own, lengths) in documents.items()
        ]
        encoded = msgspec.msgpack.encode(content)
        return MadeSegment(connection.execute(SMALL_SEGMENT, (len(keys), encoded)), content)
    [(number,)] = connection.execute(NUMBER).fetchall()
    connection.execute(SEGMENT, (number, len(keys)))
    for name, words in WORDS.items():
        write_documents(connection, number, words, documents[name])
        write_rows(connection, number, words, packed[name].rows)
    return None


def write_documents(connection: Connection, number: int, words: int, documents: Documents) -> None:
    keys, lengths = documents
    connection.execute(DOCUMENTS, (number, words, keys.tobytes(), lengths.tobytes()))


def write_rows(connection: Connection, number: int, words: int, rows: Iterable[Row]) -> None:
    def size(row: Row) -> int:
        return len(row[3]) + len(row[4])

    for some in batched(rows, ROWS, size, BYTES):
        columns = (list(column) for column in zip(*some, strict=True))
        connection.execute(POSTINGS, (number, words, *columns))


def rebuild(connection: Connection) -> None:
    """Rebuild everything that is derived from words."""
    for table in DERIVED:
        connection.execute(f"DELETE FROM {table} WHERE vault = vault()")
    for some in batched((key for (key,) in connection.execute(KEYS).fetchall()), AT_ONCE):
        rows = connection.execute(TEXTS, (some,)).fetchall()
        made = prepare([row[1:] for row in rows])
        write_segment(connection, made.indexes, [row[0] for row in rows])
        add_counts(connection, made.vocabulary)


class PostgresVocabulary:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def documents(self) -> int:
        with self._database.reading() as connection:
            return self._database.facts(connection).documents

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        wanted = sorted({token for token in tokens if "\0" not in token})
        return dict(self._database.rows(LOOK_UP, wanted)) if wanted else {}

    def beginning(self, start: str, shortest: int, longest: int) -> dict[str, int]:
        if "\0" in start:
            return {}
        asked = (start, start + LAST, shortest, longest)
        return dict(self._database.rows(BEGINNING, *asked))


def add_counts(connection: Connection, counts: Mapping[str, int]) -> None:
    """Change the number of memories that hold each token."""
    changed = sorted((token, by) for token, by in counts.items() if by)
    if not changed:
        return
    connection.execute(ADD, ([token for token, _ in changed], [by for _, by in changed]))
    fewer = [token for token, by in changed if by < 0]
    if fewer:
        connection.execute(REMOVE, (fewer,))
