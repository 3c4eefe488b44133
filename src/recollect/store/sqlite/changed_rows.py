"""What an FTS5 table counts without the memories that have changed since a write."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.store.base import KeywordStatistics
from recollect.store.sqlite import bm25
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.schema import CHANGED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ChangedRows:
    """Each thread reads the sizes of the changed rows once, until somebody changes the vault."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._local = threading.local()

    def forget(self) -> None:
        """Drop what is in memory."""
        self._local = threading.local()

    def keys(self, since: int) -> NDArray[np.int64]:
        """The keys of the memories that have changed since that write."""
        import numpy as np  # noqa: PLC0415  start-up time

        rows = self._database.connection().execute(CHANGED, (since,)).fetchall()
        return np.array([key for (key,) in rows], np.int64)

    def left(self, table: str, phrases: Sequence[str], since: int) -> KeywordStatistics:
        """What the table counts of the memories that have not changed since that write."""
        connection = self._database.connection()
        state = (connection, connection.pragma("data_version"), connection.total_changes())
        if getattr(self._local, "state", None) != state:
            self._local.state, self._local.totals = state, {}
        totals: dict[tuple[str, int], tuple[int, int]] = self._local.totals
        if (table, since) not in totals:
            totals[table, since] = bm25.changed(connection, table, since)
        rows, tokens = totals[table, since]
        every = bm25.counted(connection, table, phrases, since)
        return every._replace(rows=every.rows - rows, tokens=every.tokens - tokens)
