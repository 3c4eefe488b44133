"""What memories were, as both stores read it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from recollect.store.base import Stored
from recollect.store.history import MOST_REMOVED, Done, Keep, LoggedWrite, Version
from recollect.store.memory_rows import ListedMemories
from recollect.store.vault import SqlDatabase
from recollect.store.version_rows import author_of, logged_write, versions_of, wound_back
from recollect.times import EPOCH, from_micros, to_micros

OF = """
SELECT v.write, v.before, w.operation, w.at, w.action, w.interface, w.client, w.{author},
       w.automatic, w.reason, w.target, w.undoes
  FROM versions v JOIN writes w ON {w.vault} AND w.seq = v.write
 WHERE {v.vault} AND v.memory = ? ORDER BY v.write DESC"""
SINCE = """
SELECT memory, before FROM versions
 WHERE {vault} AND write > ? ORDER BY memory, write DESC"""
CHANGED_IDS = """
SELECT id FROM memories WHERE {vault} AND key IN
       (SELECT memory FROM versions WHERE {vault} AND write > ?)"""
LAST_WRITE = """
SELECT coalesce((SELECT min(seq) - 1 FROM writes {by time} WHERE {vault} AND at > ?),
                (SELECT max(seq) FROM writes WHERE {vault}), 0)"""
OPERATIONS = """
SELECT w.seq, w.at, w.undoes, w.action, w.interface, w.client, w.{author}, w.automatic
  FROM writes w
 WHERE {w.vault} AND w.seq = w.operation AND w.{author} = ? AND NOT w.automatic AND """
# An operation stands again when its undo was taken back.
DONE = """w.undoes IS NULL AND w.action <> 'migrate'
   AND NOT EXISTS (SELECT 1 FROM writes u WHERE {u.vault} AND u.undoes = w.seq
   AND NOT EXISTS (SELECT 1 FROM writes r WHERE {r.vault} AND r.undoes = u.seq))
 ORDER BY w.seq DESC LIMIT ?"""
UNDONE = """w.action = 'undo'
   AND NOT EXISTS (SELECT 1 FROM writes u WHERE {u.vault} AND u.undoes = w.seq)
 ORDER BY w.seq DESC LIMIT ?"""
IDS = """
SELECT DISTINCT m.id FROM writes w JOIN versions v ON {v.vault} AND v.write = w.seq
  JOIN memories m ON {m.vault} AND m.key = v.memory
 WHERE {w.vault} AND w.seq >= ? AND w.operation = ?"""
LOG = """
SELECT w.seq, w.operation, w.at, w.action, w.interface, w.client, w.{author}, w.automatic,
       (SELECT count(*) FROM versions v WHERE {v.vault} AND v.write = w.seq),
       (SELECT {array}(memory) FROM (SELECT memory FROM versions v
         WHERE {v.vault} AND v.write = w.seq ORDER BY memory LIMIT 3) AS few)
  FROM writes w
 WHERE {w.vault} AND w.seq > ? AND w.seq < ? AND w.action <> 'migrate'
   AND (? = '' OR ? IN (w.client, w.interface, w.{author}))
   AND (? = '' OR EXISTS (
           SELECT 1 FROM versions v JOIN memories m ON {m.vault} AND m.key = v.memory
            WHERE {v.vault} AND v.write = w.seq AND m.project = ?))
 ORDER BY w.seq DESC LIMIT ?"""


class StoredHistory:
    """A store says since when history is known, how many bytes it takes, and how versions are
    removed."""

    BEGINS: str
    SIZE: str

    def __init__(self, database: SqlDatabase, memories: ListedMemories) -> None:
        self._database, self._memories = database, memories
        self._rows, self._sql = database.rows, database.sql

    def of(self, id: str) -> list[Version]:
        with self._database.reading():
            if not (found := self._memories.find([id])):
                return []
            rows = self._rows(self._sql(OF), found[id].key)
            return [*versions_of(rows, found[id], self.begins() or EPOCH)]

    def last_write(self, at: datetime) -> int:
        return int(self._rows(self._sql(LAST_WRITE), to_micros(at))[0][0])

    def changed_since(self, at: datetime) -> dict[int, Stored | None]:
        with self._database.reading():
            rows: list[Any] = self._rows(self._sql(SINCE), self.last_write(at))
            return wound_back(rows, self._memories.keyed({key for key, _ in rows}))

    def changed_ids(self, write: int) -> frozenset[str]:
        """The ids of the memories that were changed since the write of that number."""
        return frozenset(id for (id,) in self._rows(self._sql(CHANGED_IDS), write))

    def log(
        self, *, after: int, before: int, limit: int, project: str, by: str
    ) -> Sequence[LoggedWrite]:
        """The writes between these numbers, newest first: all, or those of a memory of the project,
        or by the client, interface or user of that name."""
        asked = (after, before, by, by, project, project, limit)
        return [
            logged_write(row, msgspec.json.decode(keys) if isinstance(keys, str) else keys or ())
            for *row, keys in self._rows(self._sql(LOG), *asked)
        ]

    def begins(self) -> datetime | None:
        [(moment,)] = self._rows(self.BEGINS)
        return None if moment is None else from_micros(int(moment))

    def operations(self, user: str, limit: int, *, undone: bool = False) -> Sequence[Done]:
        sql = self._sql(OPERATIONS + (UNDONE if undone else DONE))
        with self._database.reading():
            return [
                Done(seq, from_micros(at), action, author_of(author), self._ids(seq), undoes)
                for seq, at, undoes, action, *author in self._rows(sql, user, limit)
            ]

    def _ids(self, operation: int) -> tuple[str, ...]:
        return tuple([id for (id,) in self._rows(self._sql(IDS), operation, operation)])

    def alone(self, operation: int) -> bool:
        return len(self._rows(self._sql(f"{IDS} LIMIT 2"), operation, operation)) == 1

    def size(self) -> int:
        return int(self._rows(self.SIZE)[0][0])

    def due(self, keep: Keep, now: datetime, *, whole: bool = False) -> bool:
        return bool(self._removable(keep, now, 1, whole=whole))

    def compact(
        self, keep: Keep, now: datetime, *, whole: bool = False, most: int = MOST_REMOVED
    ) -> int:
        if self._database.frozen or not self.due(keep, now, whole=whole):
            return 0
        with self._database.writing() as connection:
            rows = self._removable(keep, now, most, whole=whole)
            self._remove(connection, rows)
        return len(rows)

    @abstractmethod
    def _removable(self, keep: Keep, now: datetime, most: int, *, whole: bool) -> Sequence[Any]:
        """The oldest versions that need not be kept, at most so many: memory, write and size."""

    @abstractmethod
    def _remove(self, connection: Any, rows: Sequence[Any]) -> None: ...
