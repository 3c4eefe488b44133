"""The index `subwords`: written from Python in every write, since SQL cannot split identifiers.

The triggers remove a changed, forgotten or purged memory; this module adds the live ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import apsw

from recollect.query.subwords import subwords
from recollect.types import Memory

CAMEL_CASE = re.compile("[a-z][A-Z]")
FIELDS = ("title", "text", "tags", "id", "context", "why", "impact", "source", "details")
TABLE = "parts"  # its name since version 3 of the vault
MOST_WAITING = 1000  # memories that a write collects before it indexes them: about a megabyte
INSERT = f"INSERT INTO {TABLE} (rowid, title, text, tags, other) VALUES (?, ?, ?, ?, ?)"


class SubwordsChange:
    """The memories that one write adds to the index, in batches. That halves the time, and each
    statement that fires triggers makes FTS5 write a segment: without batches, one for each
    memory."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._waiting: dict[int, Memory] = {}

    def add(self, key: int, memory: Memory) -> None:
        """Index the memory, which is live from now on."""
        self._waiting[key] = memory
        if len(self._waiting) >= MOST_WAITING:
            self.apply()

    def remove(self, key: int) -> None:
        """Do not index the memory: it is no longer live."""
        self._waiting.pop(key, None)

    def apply(self) -> None:
        rows = [(key, *row(*_texts(self._waiting[key]))) for key in sorted(self._waiting)]
        self._connection.executemany(INSERT, [found for found in rows if any(found[1:])])
        self._waiting.clear()


def fill(connection: apsw.Connection, condition: str = "true", *values: str) -> None:
    """Add every live memory, or those that meet the condition, to the index that holds none."""
    connection.executemany(INSERT, rows(connection, condition, *values))


def rows(
    connection: apsw.Connection, condition: str = "true", *values: str
) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
    """Yield the rows that the index should have: a key and the columns. Memories without subwords
    have none."""
    sql = f"SELECT key, {', '.join(FIELDS)} FROM indexed WHERE {condition}"
    for key, *texts in connection.execute(sql, values):
        columns = row(*map(str, texts))
        if any(columns):
            yield key, *columns


def _texts(memory: Memory) -> Iterator[str]:
    return (" ".join(memory.tags) if f == "tags" else getattr(memory, f) for f in FIELDS)


def row(title: str, text: str, tags: str, id: str, *others: str) -> tuple[str, ...]:
    """Return the columns of a row. An id made of words and signs adds nothing, since any tokenizer
    splits it; otherwise every memory of plain prose would have a row."""
    rest = (id, *others) if is_split(id) else others
    columns = (title, text, tags, "\n".join(filter(None, rest)))
    return tuple(" ".join(subwords(column)) if column else "" for column in columns)


def is_split(id: str) -> bool:
    """Return True if an id has subwords that count."""
    return bool(CAMEL_CASE.search(id)) or not id.isascii()
