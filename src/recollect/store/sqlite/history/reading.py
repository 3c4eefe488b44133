"""Reading what memories were."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from recollect.store.history import Keep
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.history import compaction
from recollect.store.sqlite.history.compaction import FROM, SIZE
from recollect.store.sqlite.memories import SqliteMemories
from recollect.store.stored_history import StoredHistory


class SqliteHistory(StoredHistory):
    BEGINS = f"""
SELECT coalesce((SELECT value FROM meta WHERE key = '{FROM}'),
                (SELECT at FROM writes ORDER BY seq LIMIT 1))"""
    SIZE = SIZE

    def __init__(self, database: Database, memories: SqliteMemories) -> None:
        super().__init__(database, memories)
        self._file = database

    def _removable(self, keep: Keep, now: datetime, most: int, *, whole: bool) -> Sequence[Any]:
        with self._file.reading() as connection:
            return compaction.removable(connection, keep, now, most, whole=whole)

    def _remove(self, connection: Any, rows: Sequence[Any]) -> None:
        compaction.remove(connection, rows)
