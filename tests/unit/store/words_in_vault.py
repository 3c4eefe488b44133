"""All words of a vault as its buffer and its segments have them, and as a new index has them."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import apsw
import numpy as np
import pytest

from recollect.index import postings
from recollect.store.base import COLUMNS
from recollect.store.sqlite import fts5_index
from recollect.store.sqlite.fts5_index import TABLES, TOKENIZERS
from recollect.store.sqlite.segments import buffer, merging
from recollect.store.sqlite.store import SqliteStore

# (token, memory, column, position), how often; and the length of each memory.
Words = tuple[Counter[tuple[str, int, int, int]], Counter[tuple[int, int]]]


def small_segments(patched: pytest.MonkeyPatch) -> None:
    """A few memories make a segment, and a few segments a larger one."""
    patched.setattr(buffer, "FIRST", 6)
    patched.setattr(buffer, "MOST", 3)
    patched.setattr(merging, "AT_ONCE", 7)
    patched.setattr(merging, "AT_THE_END", 8)
    patched.setattr(merging, "ROWS", 7)
    patched.setattr(merging, "TOKENS", 4)
    patched.setattr(postings, "SMALL", 2)


def check_words(store: SqliteStore) -> None:
    """Each live memory is in one place, and every index counts what a new one would count."""
    with store.database.reading() as connection:
        for index in COLUMNS:
            found, lengths = in_fts5(connection, index)
            segment = store.packed.segments(index)  # type: ignore[arg-type]
            if segment is not None:
                live = [True] * len(segment.keys) if segment.live is None else segment.live.tolist()
                sizes = zip(segment.keys.tolist(), segment.lengths.tolist(), live, strict=True)
                counted = [(key, length) for key, length, lives in sizes if lives]
                lengths.update(counted)
                assert (segment.rows, segment.tokens) == (len(counted), sum(n for _, n in counted))
                for token in segment.beginning(""):
                    check_token(segment, token, live, found)
            with closing(made_anew(connection, index)) as anew:
                assert (found, lengths) == in_fts5(anew, index)


def check_token(segment, token, live, found) -> None:  # type: ignore[no-untyped-def]
    """The postings of a token say what its places say, which are added to what was found."""
    places = [
        np.concatenate(every).tolist() for every in zip(*segment.places([token]), strict=True)
    ]
    cells: Counter[tuple[int, int]] = Counter()
    for document, column, position in zip(*places, strict=True):
        cells[document, column] += 1
        if live[document]:
            found[token, int(segment.keys[document]), column, position] += 1
    documents, columns, frequencies = segment.postings(token)
    assert cells == {
        (document, column): times
        for column, row in zip(columns, frequencies.tolist(), strict=True)
        for document, times in zip(documents.tolist(), row, strict=True)
        if times
    }
    assert dict(segment._rows.tokens(token))[token] == len(documents)
    assert any(live[document] for document in documents)


def in_fts5(connection: apsw.Connection, index: str) -> Words:
    table = TABLES[index]
    name = f"temp.{table}_instances"
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab (main, {table}, instance)"
    )
    rows = connection.execute(f"SELECT term, doc, col, offset FROM {name}")
    words = Counter((t, d, COLUMNS[index].index(c), o) for t, d, c, o in rows)
    sizes = connection.execute(f"SELECT id, sz FROM {table}_docsize").fetchall()
    return words, Counter((key, sum(varints(size))) for key, size in sizes)  # type: ignore[misc, arg-type]


def varints(block: bytes) -> list[int]:
    found, number = [], 0
    for byte in block:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            found.append(number)
            number = 0
    return found


def made_anew(connection: apsw.Connection, index: str) -> apsw.Connection:
    anew = apsw.Connection(":memory:")
    columns = ", ".join(COLUMNS[index])
    tokenizer = f'tokenize = "{TOKENIZERS[index]}"'
    anew.execute(
        f"CREATE VIRTUAL TABLE {TABLES[index]} USING fts5 ({columns}, content='', {tokenizer})"
    )
    holds = buffer.OF_WORDS.get(index)
    sql = f"SELECT key, {columns} FROM indexed WHERE {holds}"
    rows = connection.execute(sql) if holds else fts5_index.subword_rows(connection)
    places = ", ?" * len(COLUMNS[index])
    anew.executemany(f"INSERT INTO {TABLES[index]} (rowid, {columns}) VALUES (?{places})", rows)
    return anew
