"""The packed index of a vault: none, as long as the vault is small. numpy is imported where there
are segments: that takes longer than a search of a small vault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.store.base import KeywordIndexName, KeywordQuery, KeywordStatistics, Match
from recollect.store.sqlite.bm25 import counted
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.fts5_index import TABLES, phrases, understood
from recollect.store.sqlite.segments.buffer import is_alone

if TYPE_CHECKING:
    from recollect.store.sqlite.filters import Condition
    from recollect.store.sqlite.packed.search import PackedSearch
    from recollect.store.sqlite.packed.segmented import SegmentedSearch
    from recollect.store.sqlite.segments.reader import Segments


class PackedIndexes:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._segments: Segments | None = None

    def forget(self) -> None:
        """Drop what is in memory."""
        self._segments = None

    def segments(self, index: KeywordIndexName) -> SegmentedSearch | None:
        """The segments of an index; None where it has none. Call it within a transaction, and
        search within the same."""
        connection = self._database.connection()
        if is_alone(connection):
            return None
        from recollect.store.sqlite.packed.segmented import (  # noqa: PLC0415  start-up time
            SegmentedSearch,
            StoredTokenRows,
        )
        from recollect.store.sqlite.segments.reader import Segments  # noqa: PLC0415  as above

        if self._segments is None:
            self._segments = Segments(self._database)
        found = self._segments.current(index)
        if not found or not found.rows:
            return None
        return SegmentedSearch(StoredTokenRows(connection, found), found)

    def search(self, index: KeywordIndexName, expression: str) -> PackedSearch | None:
        """Return a search in the segments, or None. Call it inside a transaction, too."""
        segments = self.segments(index)
        if segments is None:
            return None
        from recollect.store.sqlite.packed.phrases import leaves  # noqa: PLC0415  as above
        from recollect.store.sqlite.packed.search import PackedSearch  # noqa: PLC0415  as above

        connection = self._database.connection()
        node = understood(connection, index, expression)
        segments.prefetch(node)
        buffered = counted(connection, TABLES[index], ())
        if buffered.rows:
            buffered = counted(connection, TABLES[index], phrases(index, node))
        else:
            none = (0,) * sum(len(leaf.phrases) for leaf in leaves(node))
            buffered = buffered._replace(holding=none)
        return PackedSearch(segments, buffered, index, node)

    def best(
        self, query: KeywordQuery, packed: PackedSearch, condition: Condition | None
    ) -> tuple[list[Match], KeywordStatistics]:
        """The best of the segments that meet a condition, and what they were scored by."""
        from recollect.store.sqlite.packed.search import (  # noqa: PLC0415  start-up time
            MemoriesThat,
        )

        return packed.best(query, MemoriesThat(self._database.connection(), condition))
