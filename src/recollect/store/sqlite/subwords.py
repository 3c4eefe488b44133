"""The index `subwords`: written from Python in every write, since SQL cannot split identifiers.

The triggers take a changed, forgotten or purged memory out; here the live ones are put in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import apsw

from recollect.query.subwords import subwords
from recollect.types import Memory

CAMEL_CASE = re.compile("[a-z][A-Z]")
FIELDS = ("title", "text", "tags", "id", "context", "why", "impact", "source")
TABLE = "parts"  # its name since version 3 of the vault
MOST_WAITING = 1000  # memories that a write keeps in mind: about a megabyte of text
INSERT = f"INSERT INTO {TABLE} (rowid, title, text, tags, other) VALUES (?, ?, ?, ?, ?)"


class SubwordsChange:
    """What one write puts in, many memories at a time: one after the other they are split in half
    the time, and every statement that fires triggers makes FTS5 write what it holds into a segment
    of its own, which would be one for each memory."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._waiting: dict[int, Memory] = {}

    def add(self, key: int, memory: Memory) -> None:
        """A memory is live and says this from now on."""
        self._waiting[key] = memory
        if len(self._waiting) >= MOST_WAITING:
            self.apply()

    def remove(self, key: int) -> None:
        """A memory is live no more."""
        self._waiting.pop(key, None)

    def apply(self) -> None:
        rows = [(key, *_row(*_texts(self._waiting[key]))) for key in sorted(self._waiting)]
        self._connection.executemany(INSERT, [row for row in rows if any(row[1:])])
        self._waiting.clear()


def fill(connection: apsw.Connection) -> None:
    """Put every live memory into the empty index."""
    connection.executemany(INSERT, rows(connection))


def rows(connection: apsw.Connection) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
    """What the index should hold: a key and the columns; nothing of memories without subwords."""
    for key, *texts in connection.execute(f"SELECT key, {', '.join(FIELDS)} FROM indexed"):
        row = _row(*map(str, texts))
        if any(row):
            yield key, *row


def _texts(memory: Memory) -> Iterator[str]:
    return (" ".join(memory.tags) if f == "tags" else getattr(memory, f) for f in FIELDS)


def _row(title: str, text: str, tags: str, id: str, *others: str) -> tuple[str, ...]:
    """The columns. Every memory has an id, and prose is to have no row: of ids made of words and
    signs, which any tokenizer splits, nothing is wanted."""
    said = (id, *others) if CAMEL_CASE.search(id) or not id.isascii() else others
    columns = (title, text, tags, "\n".join(filter(None, said)))
    return tuple(" ".join(subwords(column)) if column else "" for column in columns)
