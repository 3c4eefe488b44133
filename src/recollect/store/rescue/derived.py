"""Derived data: rebuilding it from the memories, and checking it; and repairing the history."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.index.postings import Places, read_places
from recollect.index.segments import Documents, Segment
from recollect.store.base import COLUMNS, KeywordIndexName, Stored
from recollect.store.differences import earlier
from recollect.store.history import LATEST, VERSION_BYTES, WRITE_BYTES, RemovableVersion
from recollect.store.memory_rows import BadRow
from recollect.store.sqlite import vector_index, vocabulary
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.fts5_index import TABLES, TOKENIZERS, subword_rows
from recollect.store.sqlite.history import BYTES, GROW, SIZE, remove
from recollect.store.sqlite.memories import READ, from_row
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.packing import pack
from recollect.store.sqlite.segments.tables import (
    PLACES,
    POSTINGS,
    STORED,
    TEXTS,
    Segments,
    documents_of,
    rows_checksum,
    write_all,
)

SEGMENTS = ("postings", "large_postings", "segment_documents", "segments", "segment_changes")
TopicHash = Callable[[str], bytes]
WRONG_VECTORS = """
    SELECT v.seq FROM vectors v JOIN models o ON o.key = v.model JOIN memories m ON m.key = v.memory
     WHERE length(v.vector) <> 4 * o.dimensions OR m.forgotten_at IS NOT NULL"""
WAITING = """
    SELECT o.key AS model, m.key AS memory FROM models o CROSS JOIN memories m
     WHERE m.forgotten_at IS NULL AND NOT EXISTS
           (SELECT 1 FROM vectors v WHERE v.memory = m.key AND v.model = o.key)"""
EVERY = "SELECT memory, write, before FROM versions WHERE before <> x'' ORDER BY memory, write DESC"
OF = "SELECT memory, write, length(before) FROM versions WHERE memory = ? AND write <= ?"
TOTAL = f"""
    SELECT (SELECT coalesce(sum(length(before) + {VERSION_BYTES}), 0) FROM versions)
         + {WRITE_BYTES} * (SELECT count(*) FROM writes WHERE action <> 'migrate')"""
SAMPLE = 32  # memories that are compared word by word, at least one of each segment,
FEW = 4  # and in a quick check
ROW = f"""
    SELECT {POSTINGS}, {PLACES} FROM {STORED}
     WHERE p.segment = ? AND p.words = ? AND p.token = ?"""
CHECKSUM = "SELECT checksum FROM segment_documents WHERE segment = ? AND words = ?"
DIFFERENT = "its words differ from those of the memories"
Keys = NDArray[np.int64]
Advance = Callable[[int], None]
# By the key of a memory: its words, with their columns and positions.
Words = dict[int, set[tuple[str, int, int]]]


def rebuild(connection: apsw.Connection, hashed: TopicHash) -> None:
    """Within a transaction, rebuild the keyword indexes, the vocabulary, the topic hashes, the
    waiting memories, and the vectors' codes. Vectors of a wrong size are removed and will be made
    again."""
    _rebuild_words(connection)
    connection.execute("UPDATE corpus SET documents = (SELECT count(*) FROM indexed)")
    vocabulary.fill(connection)
    names = connection.execute("SELECT name FROM tags").fetchall()
    connection.executemany(
        "UPDATE tags SET topic = ? WHERE name = ?",
        [(hashed(str(name)), name) for (name,) in names],
    )
    connection.execute(f"DELETE FROM vectors WHERE seq IN ({WRONG_VECTORS})")
    connection.execute("DELETE FROM waiting")
    connection.execute(f"INSERT INTO waiting {WAITING}")
    vector_index.fill(connection)


def _rebuild_words(connection: apsw.Connection) -> None:
    """Rebuild the keyword indexes: in the buffer, or in segments if there are many memories."""
    buffer.clear(connection)
    for table in SEGMENTS:
        connection.execute(f"DELETE FROM {table}")
    many = connection.execute("SELECT 1 FROM indexed LIMIT 1 OFFSET ?", (buffer.FIRST - 1,)).get
    if not many:
        buffer.fill(connection)
        return
    write_all(connection)


def history_problem(connection: apsw.Connection) -> str | None:
    """Return what is wrong with the versions; None if nothing."""
    if wrong := len({memory for memory, _, _ in find_unreadable(connection)}):
        return f"{wrong} memories have earlier versions that are not what was written"
    counted, real = connection.execute(SIZE).get, connection.execute(TOTAL).get
    return None if counted == real else f"{counted} bytes are recorded, but there are {real}"


def find_unreadable(connection: apsw.Connection) -> list[RemovableVersion]:
    """Return the versions that cannot be read back, and all older ones, which depend on them."""
    found: list[RemovableVersion] = []
    rows: Any = connection.execute(EVERY)
    for memory, versions in groupby(rows, itemgetter(0)):
        stored: Stored | None = None
        for _, write, before in versions:
            try:
                if stored is None:
                    row = connection.execute(f"{READ} WHERE m.key = ?", (memory,)).fetchall()
                    stored = from_row(row[0])
                stored = earlier(stored, before)
            except (apsw.CorruptError, BadRow, UnicodeDecodeError, IndexError):
                lost: Any = connection.execute(OF, (memory, write))
                found += lost
                break
    return found


def repair_history(connection: apsw.Connection, altered: Collection[int]) -> int:
    """Remove unreadable versions, and those of memories that were `altered`; return how many."""
    lost = {*find_unreadable(connection)}
    for memory in altered:
        rows: Any = connection.execute(OF, (memory, LATEST))
        lost |= {*rows}
    remove(connection, [*lost])
    real = int(connection.execute(TOTAL).get)
    counted = int(connection.execute(SIZE).get)
    if real != counted:
        connection.execute(GROW, (BYTES, real - counted))
    return len(lost)


def live_keys(connection: apsw.Connection, index: KeywordIndexName) -> Keys:
    """Return the memories in segments; a memory in several is repeated."""
    return _live_keys(Segments().each(connection, index))


def check_segments(
    connection: apsw.Connection, index: KeywordIndexName, advance: Advance | None
) -> tuple[Keys, str | None]:
    """Return the memories in segments, and what is wrong with these segments: their rows are
    compared with their checksum, and the words of some memories with their texts. Without
    `advance`, only a few memories are compared."""
    found = Segments().each(connection, index)
    return _live_keys(found), _segments_problem(connection, index, found, advance)


def _live_keys(found: Sequence[Segment]) -> Keys:
    keys = [s.keys if s.live is None else s.keys[s.live] for s in found]
    return np.concatenate([np.empty(0, np.int64), *keys])


def _segments_problem(
    connection: apsw.Connection,
    index: KeywordIndexName,
    found: Sequence[Segment],
    advance: Advance | None,
) -> str | None:
    some = max(1, (FEW if advance is None else SAMPLE) // max(1, len(found)))
    for segment in found:
        try:
            if advance is not None and not _are_rows_intact(connection, segment, advance):
                return DIFFERENT
            if not _is_sample_intact(connection, segment, index, some):
                return DIFFERENT
        except (ValueError, TypeError, IndexError, KeyError) as error:
            return f"segment {segment.number} cannot be read: {error}"
    return None


def _are_rows_intact(connection: apsw.Connection, segment: Segment, advance: Advance) -> bool:
    stored = connection.execute(CHECKSUM, segment.place).get
    found = rows_checksum(connection, segment.place)
    advance(len(segment.keys))
    documents = Documents(segment.keys, segment.lengths)
    return stored == found.with_documents(documents) and bool((np.diff(segment.keys) > 0).all())


def _is_sample_intact(
    connection: apsw.Connection, segment: Segment, index: KeywordIndexName, most: int
) -> bool:
    """Return True if some memories have the right words, and the right number of them."""
    size = len(segment.keys)
    sample = np.zeros(size, np.bool_)
    sample[np.linspace(0, size - 1, min(size, most), dtype=np.intp)] = True
    sample &= True if segment.live is None else segment.live
    keys = segment.keys[sample].tolist()
    real = _expected_words(connection, index, keys)
    if segment.lengths[sample].tolist() != [len(real.get(key, ())) for key in keys]:
        return False
    words: Words = {key: set() for key in keys}
    for token in {token for found in real.values() for token, _, _ in found}:
        row = connection.execute(ROW, (*segment.place, token)).fetchone()
        if row is None:
            return False
        places = read_places(*row)
        _add_words(words, token, segment.keys, places, sample[places.documents])
    return words == real


def _add_words(
    words: Words, token: str, keys: Keys, places: Places, chosen: NDArray[np.bool_] | slice
) -> None:
    columns = (values[chosen].tolist() for values in places)
    for document, column, position in zip(*columns, strict=True):
        words[int(keys[document])].add((token, column, position))


def _expected_words(
    connection: apsw.Connection, index: KeywordIndexName, keys: Sequence[int]
) -> Words:
    texts = connection.execute(TEXTS, (as_json_list(keys),)).fetchall()
    packed = pack([row[1:] for row in texts])[index]  # type: ignore[misc]
    mine = documents_of(packed, [int(row[0]) for row in texts]).keys  # type: ignore[arg-type]
    words: Words = {int(key): set() for key in mine}
    for token, count, bits, postings, occurring in packed.rows:
        places = read_places(count, bits, postings, occurring)
        _add_words(words, token, mine, places, slice(None))
    return words


def keys_of(rows: Iterable[Any]) -> Keys:
    return np.fromiter(chain.from_iterable(rows), np.int64)


def rebuild_in_memory(
    index: str, connection: apsw.Connection, keys: Sequence[apsw.SQLiteValue]
) -> apsw.Connection:
    """Return an index in memory with the content that this one should have for these memories."""
    rebuilt = apsw.Connection(":memory:")
    columns = ", ".join(COLUMNS[index])
    options = f"content = '', tokenize = \"{TOKENIZERS[index]}\""
    rebuilt.execute(f"CREATE VIRTUAL TABLE {TABLES[index]} USING fts5 ({columns}, {options})")
    places = ", ?" * len(COLUMNS[index])
    among = as_json_list(keys)  # type: ignore[arg-type]
    holds = f"{buffer.OF_WORDS.get(index)} AND {buffer.AMONG}"
    with rebuilt:
        rebuilt.executemany(
            f"INSERT INTO {TABLES[index]} (rowid, {columns}) VALUES (?{places})",
            connection.execute(f"SELECT key, {columns} FROM indexed WHERE {holds}", (among,))
            if index in buffer.OF_WORDS
            else subword_rows(connection, buffer.AMONG, among),
        )
    return rebuilt


def index_contents(
    table: str, connection: apsw.Connection
) -> list[list[tuple[apsw.SQLiteValue, ...]]]:
    """Return how often each word is in each column and in how many rows, the length of each row,
    and the totals from which BM25 takes its averages (empty or zeros when there is no row)."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, {table}, col)")
    try:
        return [
            connection.execute("SELECT term, col, doc, cnt FROM temp.words").fetchall(),
            connection.execute(f"SELECT id, sz FROM {table}_docsize ORDER BY id").fetchall(),
            connection.execute(
                f"SELECT rtrim(hex(block), '0') FROM {table}_data WHERE id = 1"
            ).fetchall(),
        ]
    finally:
        connection.execute("DROP TABLE temp.words")
