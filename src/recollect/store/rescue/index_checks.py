"""The doctor's checks of keyword indexes: of the buffer and of segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.index.postings import Places, read_places
from recollect.index.segments import Documents, Segment
from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.store.sqlite import subwords
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.fts5_index import TABLES, TOKENIZERS
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.packing import pack
from recollect.store.sqlite.segments.reader import PLACES, POSTINGS, STORED, Segments
from recollect.store.sqlite.segments.writer import TEXTS, documents_of, rows_checksum

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


def live_keys(connection: apsw.Connection, index: KeywordIndexName) -> Keys:
    """Return the memories in segments; a memory in several is repeated."""
    return _live_keys(Segments().each(connection, index))


def in_segments(
    connection: apsw.Connection, index: KeywordIndexName, advance: Advance | None
) -> tuple[Keys, str | None]:
    """Return the memories in segments, and what is wrong with these segments: their rows are
    compared with their checksum, and the words of some memories with their texts. Without
    `advance`, only a few memories are compared."""
    found = Segments().each(connection, index)
    return _live_keys(found), _problem(connection, index, found, advance)


def _live_keys(found: Sequence[Segment]) -> Keys:
    keys = [s.keys if s.live is None else s.keys[s.live] for s in found]
    return np.concatenate([np.empty(0, np.int64), *keys])


def _problem(
    connection: apsw.Connection,
    index: KeywordIndexName,
    found: Sequence[Segment],
    advance: Advance | None,
) -> str | None:
    some = max(1, (FEW if advance is None else SAMPLE) // max(1, len(found)))
    for segment in found:
        try:
            if advance is not None and not _rows_right(connection, segment, advance):
                return DIFFERENT
            if not _sample_right(connection, segment, index, some):
                return DIFFERENT
        except (ValueError, TypeError, IndexError, KeyError) as error:
            return f"segment {segment.number} cannot be read: {error}"
    return None


def _rows_right(connection: apsw.Connection, segment: Segment, advance: Advance) -> bool:
    stored = connection.execute(CHECKSUM, segment.place).get
    found = rows_checksum(connection, segment.place)
    advance(len(segment.keys))
    documents = Documents(segment.keys, segment.lengths)
    return stored == found.with_documents(documents) and bool((np.diff(segment.keys) > 0).all())


def _sample_right(
    connection: apsw.Connection, segment: Segment, index: KeywordIndexName, most: int
) -> bool:
    """Return True if some memories have the right words, and the right number of them."""
    size = len(segment.keys)
    sample = np.zeros(size, np.bool_)
    sample[np.linspace(0, size - 1, min(size, most), dtype=np.intp)] = True
    sample &= True if segment.live is None else segment.live
    keys = segment.keys[sample].tolist()
    real = _real(connection, index, keys)
    if segment.lengths[sample].tolist() != [len(real.get(key, ())) for key in keys]:
        return False
    words: Words = {key: set() for key in keys}
    for token in {token for found in real.values() for token, _, _ in found}:
        row = connection.execute(ROW, (*segment.place, token)).fetchone()
        if row is None:
            return False
        places = read_places(*row)
        _note(words, token, segment.keys, places, sample[places.documents])
    return words == real


def _note(
    words: Words, token: str, keys: Keys, places: Places, chosen: NDArray[np.bool_] | slice
) -> None:
    columns = (values[chosen].tolist() for values in places)
    for document, column, position in zip(*columns, strict=True):
        words[int(keys[document])].add((token, column, position))


def _real(connection: apsw.Connection, index: KeywordIndexName, keys: Sequence[int]) -> Words:
    """Return the words that these memories should have."""
    texts = connection.execute(TEXTS, (as_json_list(keys),)).fetchall()
    packed = pack([row[1:] for row in texts])[index]  # type: ignore[misc]
    mine = documents_of(packed, [int(row[0]) for row in texts]).keys  # type: ignore[arg-type]
    words: Words = {int(key): set() for key in mine}
    for token, count, bits, postings, occurring in packed.rows:
        places = read_places(count, bits, postings, occurring)
        _note(words, token, mine, places, slice(None))
    return words


def keys_of(rows: Iterable[Any]) -> Keys:
    return np.fromiter(chain.from_iterable(rows), np.int64)


def made_anew(
    index: str, connection: apsw.Connection, keys: Sequence[apsw.SQLiteValue]
) -> apsw.Connection:
    """Return an index in memory with the content that this one should have for these memories."""
    anew = apsw.Connection(":memory:")
    columns = ", ".join(COLUMNS[index])
    options = f"content = '', tokenize = \"{TOKENIZERS[index]}\""
    anew.execute(f"CREATE VIRTUAL TABLE {TABLES[index]} USING fts5 ({columns}, {options})")
    places = ", ?" * len(COLUMNS[index])
    among = as_json_list(keys)  # type: ignore[arg-type]
    holds = f"{buffer.OF_WORDS.get(index)} AND {buffer.AMONG}"
    with anew:
        anew.executemany(
            f"INSERT INTO {TABLES[index]} (rowid, {columns}) VALUES (?{places})",
            connection.execute(f"SELECT key, {columns} FROM indexed WHERE {holds}", (among,))
            if index in buffer.OF_WORDS
            else subwords.rows(connection, buffer.AMONG, among),
        )
    return anew


def contents(table: str, connection: apsw.Connection) -> list[list[tuple[apsw.SQLiteValue, ...]]]:
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
