"""The packed index of a vault: none, as long as the vault is small. numpy is imported where there
are segments: that takes longer than a search of a small vault."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.fts5_index import TABLES, understood
from recollect.store.sqlite.segments.buffer import is_alone

if TYPE_CHECKING:
    import apsw

    from recollect.store.sqlite.packed.base import Searchable
    from recollect.store.sqlite.packed.buffer import Buffer
    from recollect.store.sqlite.packed.search import PackedSearch
    from recollect.store.sqlite.packed.segmented import SegmentedSearch
    from recollect.store.sqlite.segments.reader import Segments


class PackedIndexes:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._segments: Segments | None = None
        self._local = threading.local()

    def forget(self) -> None:
        """Drop what is in memory."""
        self._segments = None
        self._local = threading.local()

    def segments(self, index: KeywordIndexName) -> SegmentedSearch | None:
        """The segments of an index; None where it has none. Call it within a transaction, and
        search within the same."""
        connection = self._database.connection()
        if is_alone(connection):
            return None
        from recollect.store.sqlite.packed.segmented import (  # noqa: PLC0415  start-up time
            SegmentedSearch,
        )
        from recollect.store.sqlite.segments.reader import Segments  # noqa: PLC0415  as above

        if self._segments is None:
            self._segments = Segments(self._database)
        found = self._segments.current(index)
        return SegmentedSearch(connection, found) if found and found.rows else None

    def search(self, index: KeywordIndexName, expression: str) -> PackedSearch | None:
        """A search in segments and buffer; None where there are no segments. Call it within a
        transaction, and search within the same."""
        segments = self.segments(index)
        if segments is None:
            return None
        from recollect.store.sqlite.packed.search import (  # noqa: PLC0415  start-up time
            PackedSearch,
        )

        connection = self._database.connection()
        buffer = self._buffer(connection, index)
        parts: list[Searchable] = [segments, buffer] if buffer.rows else [segments]
        return PackedSearch(parts, index, understood(connection, index, expression))

    def _buffer(self, connection: apsw.Connection, index: KeywordIndexName) -> Buffer:
        """The buffer as this thread has read it, unless anybody has written since. What a write has
        not committed may be undone, so it is not kept."""
        import apsw  # noqa: PLC0415  start-up time

        from recollect.store.sqlite.packed.buffer import Buffer  # noqa: PLC0415  start-up time

        state = (connection, connection.pragma("data_version"), connection.total_changes())
        known: dict[str, Buffer] = getattr(self._local, "buffers", {})
        if getattr(self._local, "state", None) != state:
            known = {}
        if index not in known:
            known[index] = Buffer(connection, TABLES[index], COLUMNS[index])
        if connection.txn_state() != apsw.SQLITE_TXN_WRITE:
            self._local.state, self._local.buffers = state, known
        return known[index]
