"""The write buffer, an FTS5 index, read as if it were a segment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.bm25 import counted
from recollect.store.sqlite.connection import LAST
from recollect.store.sqlite.fts5_index import terms, vocabulary
from recollect.store.sqlite.packed.base import Documents, Places


class BufferPostings(NamedTuple):
    documents: Documents
    columns: tuple[int, ...]
    frequencies: NDArray[np.integer]


class Buffer:
    """One FTS5 table at one moment; its documents are its rows in the order of their keys."""

    live = None

    def __init__(self, connection: apsw.Connection, table: str, columns: Sequence[str]) -> None:
        self._connection = connection
        self._table = table
        self._columns = {name: number for number, name in enumerate(columns)}
        self._places: dict[str, Places | None] = {}
        self.rows, self.tokens, _ = counted(connection, table, ())

    @cached_property
    def _sizes(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """The key and the length of each row. FTS5 keeps the tokens of each column, as integers of
        variable length: seven bits a byte, the last of each below 128."""
        rows = self._connection.execute(f"SELECT id, sz FROM {self._table}_docsize").fetchall()
        keys = np.array([key for key, _ in rows], np.int64)
        if not rows:
            return keys, np.zeros(0, np.uint32)
        sizes = [bytes(size) for _, size in rows]  # type: ignore[arg-type]
        every = np.frombuffer(b"".join(sizes), np.uint8)
        ends = np.flatnonzero(every < 128)
        left = ends[np.searchsorted(ends, np.arange(len(every)))] - np.arange(len(every))
        values = (every & 127).astype(np.int64) << (7 * left)
        starts = np.cumsum([0, *map(len, sizes[:-1])])
        return keys, np.add.reduceat(values, starts).astype(np.uint32)

    @property
    def keys(self) -> NDArray[np.int64]:
        return self._sizes[0]

    @property
    def lengths(self) -> NDArray[np.uint32]:
        return self._sizes[1]

    def places(self, token: str) -> Places | None:
        if token not in self._places:
            table = vocabulary(self._connection, self._table, "instance")
            sql = f"SELECT doc, col, offset FROM {table} WHERE term = ?"
            rows = self._connection.execute(sql, (token,)).fetchall()
            self._places[token] = self._numbered(rows) if rows else None
        return self._places[token]

    def _numbered(self, rows: Sequence[Sequence[apsw.SQLiteValue]]) -> Places:
        keys, columns, numbers = zip(*rows, strict=True)
        return (
            np.searchsorted(self.keys, np.array(keys, np.int64)),
            np.array([self._columns[str(column)] for column in columns], np.int64),
            np.array(numbers, np.int64),
        )

    def postings(self, token: str) -> BufferPostings | None:
        found = self.places(token)
        if found is None:
            return None
        documents, columns, _ = found
        held, rows = np.unique(documents, return_inverse=True)
        inside, which = np.unique(columns, return_inverse=True)
        cells = np.bincount(which * len(held) + rows, minlength=len(inside) * len(held))
        frequencies = cells.reshape(len(inside), len(held))
        return BufferPostings(held.astype(np.uint32), tuple(inside.tolist()), frequencies)

    def beginning(self, start: str) -> list[str]:
        return terms(self._connection, self._table, start)

    def cells(self, start: str) -> Places | None:
        table = vocabulary(self._connection, self._table, "instance")
        sql = f"""SELECT doc, col, count(*) FROM {table} WHERE term >= ? AND term < ?
            GROUP BY doc, col"""
        rows = self._connection.execute(sql, (start, start + LAST)).fetchall()
        return self._numbered(rows) if rows else None
