"""The packed index of a vault: none, as long as the vault is small. numpy is imported where there
are segments: that takes longer than a search of a small vault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.store.base import KeywordIndexName, KeywordQuery, KeywordStatistics, Match
from recollect.store.sqlite.bm25 import counted
from recollect.store.sqlite.changed_rows import ChangedRows
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
        self.changed = ChangedRows(database)

    def forget(self) -> None:
        """Drop what is in memory."""
        self._segments = None
        self.changed.forget()

    def segments(
        self, index: KeywordIndexName, unchanged_since: int | None = None
    ) -> SegmentedSearch | None:
        """The segments of an index; None where it has none. With the number of a write, without
        the memories that have changed since. Call it within a transaction, and search within the
        same."""
        connection = self._database.connection()
        if is_alone(connection):
            return None
        from recollect.store.sqlite.packed.segmented import (  # noqa: PLC0415  start-up time
            SegmentedSearch,
            StoredTokenRows,
        )
        from recollect.store.sqlite.segments.reader import (  # noqa: PLC0415  as above
            Segments,
            without,
        )

        if self._segments is None:
            self._segments = Segments(self._database)
        found = self._segments.current(index)
        if not found or not found.rows:
            return None
        if unchanged_since is not None:
            found = without(found, self.changed.keys(unchanged_since))
        return SegmentedSearch(StoredTokenRows(connection, found), found)

    def search(
        self, index: KeywordIndexName, expression: str, unchanged_since: int | None = None
    ) -> PackedSearch | None:
        """A search in the segments; None where there are no segments. The rest as above."""
        segments = self.segments(index, unchanged_since)
        if segments is None:
            return None
        from recollect.store.sqlite.packed.phrases import leaves  # noqa: PLC0415  as above
        from recollect.store.sqlite.packed.search import PackedSearch  # noqa: PLC0415  as above

        connection = self._database.connection()
        node = understood(connection, index, expression)
        segments.prefetch(node)
        counting = buffered = counted(connection, TABLES[index], ())
        if buffered.rows:
            asked = phrases(index, node)
            counting = buffered = counted(connection, TABLES[index], asked)
            if unchanged_since is not None:
                counting = self.changed.left(TABLES[index], asked, unchanged_since)
        else:
            none = (0,) * sum(len(leaf.phrases) for leaf in leaves(node))
            counting = buffered = buffered._replace(holding=none)
        return PackedSearch(segments, buffered, counting, index, node)

    def best(
        self, query: KeywordQuery, packed: PackedSearch, condition: Condition | None
    ) -> tuple[list[Match], KeywordStatistics]:
        """The best of the segments that meet a condition, and what they were scored by."""
        from recollect.store.sqlite.packed.search import (  # noqa: PLC0415  start-up time
            MemoriesThat,
        )

        return packed.best(query, MemoriesThat(self._database.connection(), condition))
