"""The history of memories: who changed them, when and why, as every store keeps it."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from recollect.store.base import Stored
from recollect.store.differences import changed_by, earlier, number_of
from recollect.store.memory_rows import ListedMemories
from recollect.store.vault import SqlDatabase
from recollect.times import EPOCH, from_micros, shift, to_micros
from recollect.types import Memory

KEEP = r"\s*(\d{1,9})\s*(d|kB|MB|GB)?\s*"
UNITS = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
# The most versions that are removed at once, so that no other writer waits long.
MOST_REMOVED = 1_000
LATEST = (1 << 63) - 1
LATELY = 100  # the last writes
BEGIN = "begin"
VERSION_BYTES = 30  # of a version without its difference, with its index
WRITE_BYTES = 80
ROOM = 0.05  # share of the size to keep that is removed too, so that not every write has to
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
# An operation counts again if its undo was taken back.
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

# The oldest versions. A memory's newest one stays while the memory is forgotten: it says why.
OLDEST = """
SELECT v.memory, v.write, length(v.before)
  FROM writes w {in order} JOIN versions v ON {v.vault} AND v.write = w.seq
  {in order} JOIN memories m ON {m.vault} AND m.key = v.memory
 WHERE {w.vault} AND w.at < ? AND (m.forgotten_at IS NULL OR v.write <
           (SELECT max(write) FROM versions o WHERE {o.vault} AND o.memory = v.memory))
 ORDER BY w.seq LIMIT ?"""
MANY = """
SELECT memory, write, size FROM (
    SELECT memory, write, length(before) AS size,
           row_number() OVER (PARTITION BY memory ORDER BY write DESC) AS place
      FROM versions WHERE {vault} AND memory IN
           (SELECT memory FROM versions WHERE {vault} AND write > ?)) AS placed
 WHERE place > {greatest}(?, 1) LIMIT ?"""
# The key of a memory, the number of a write, and how many bytes the version keeps.
RemovableVersion = tuple[int, int, int]


class Author(NamedTuple):
    """The author of a write: the interface, the program, and the name of the token (empty: the
    owner). `automatic`: no user asked for it, as when a folder is followed."""

    interface: str
    client: str = ""
    user: str = ""
    automatic: bool = False


class WriteOperation:
    """One command's writes. `number` is that of the first write; None until there is one."""

    def __init__(self) -> None:
        self.number: int | None = None


class Change(NamedTuple):
    """Why a write is made. `clock` is read when the write is complete, so that later writes have
    later times. `target`: the id merged into, or of the successor. `undoes`: the number of the
    operation that it takes back."""

    action: str
    author: Author
    clock: Callable[[], datetime]
    reason: str = ""
    target: str = ""
    operation: WriteOperation | None = None
    undoes: int | None = None

    def set_number(self, write: int | None) -> None:
        """Set the operation's number after the write is durable."""
        if self.operation is not None and self.operation.number is None:
            self.operation.number = write


class Version(NamedTuple):
    """A memory after a change, and the change. Versions are numbered from 1. Version 1 is the new
    memory, or the memory when history began (then `action` is `begin` and `write` 0). `changed`:
    the fields that differ from the version before."""

    number: int
    write: int
    operation: int
    at: datetime
    action: str
    author: Author
    reason: str
    target: str
    undoes: int | None
    memory: Memory
    forgotten_at: datetime | None
    changed: tuple[str, ...]

    @property
    def state(self) -> tuple[Memory, bool]:
        return self.memory, self.forgotten_at is not None


class PastOperation(NamedTuple):
    """An operation: its number, time and action, its author, the ids of the memories that it
    changed, and for an undo the number of the operation that it took back."""

    number: int
    at: datetime
    action: str
    author: Author
    ids: tuple[str, ...]
    undoes: int | None = None


class LoggedWrite(NamedTuple):
    """A write of history: its action and author, the number of memories, and the keys of a few."""

    seq: int
    operation: int
    at: datetime
    action: str
    author: Author
    size: int
    keys: tuple[int, ...]


class HistoryLimit(NamedTuple):
    """The part of history to keep: `days`, the newest `versions` of each memory, or the newest up
    to `size` bytes in all. Exactly one is given."""

    days: float | None = None
    versions: int | None = None
    size: int | None = None


def find_merges_until(history: StoredHistory, ids: Iterable[str], then: datetime) -> dict[str, str]:
    """Return the ids that had been merged into another memory by that moment, with its id."""
    into: dict[str, str] = {}
    for id in ids:
        kept, seen = id, set[str]()
        while kept not in seen:
            seen.add(kept)
            past = (one for one in history.versions(kept) if one.at <= then)
            last = next(past, None)
            if last is not None and last.action == "merge" and last.forgotten_at is not None:
                kept = last.target
        if kept != id:
            into[id] = kept
    return into


def parse_keep(text: str) -> HistoryLimit:
    """Parse the setting `history.keep`: "90d", "20" versions, or "512 MB"."""
    found = re.fullmatch(KEEP, text)
    assert found is not None  # the settings check it
    number, unit = int(found[1]), found[2]
    if unit == "d":
        return HistoryLimit(days=number)
    return HistoryLimit(size=number * UNITS[unit]) if unit else HistoryLimit(versions=number)


def versions_of(
    rows: Iterable[Sequence[Any]], stored: Stored, begins: datetime
) -> Iterable[Version]:
    """Yield a memory's versions, newest first, from its rows and its current state. A row is the
    write, the difference, and the columns of the write."""
    last: Stored | None = stored
    number = 2
    for write, before, operation, at, action, *author, reason, target, undoes in rows:
        assert last is not None
        number = number_of(before)
        yield Version(
            number, write, operation, from_micros(at), action, author_of(author), reason, target,
            undoes, last.memory, last.forgotten_at, changed_by(before),
        )  # fmt: skip
        last = earlier(last, before)
    if last is not None:  # it existed when history began
        yield Version(
            number - 1, 0, 0, begins, BEGIN, Author(""), "", "", None, last.memory,
            last.forgotten_at, (),
        )  # fmt: skip


def wind_back(
    rows: Iterable[tuple[int, bytes]], now: Mapping[int, Stored]
) -> dict[int, Stored | None]:
    """Return memories as they were before these differences, newest first for each key."""
    then: dict[int, Stored | None] = {**now}
    for key, before in rows:
        after = then[key]
        assert after is not None
        then[key] = earlier(after, before)
    return then


def _take_until_enough(
    rows: Iterable[RemovableVersion], size: int, keep: int | None
) -> list[RemovableVersion]:
    """Return as many of the oldest versions as bring `size` down to `keep`; all without `keep`."""
    over = 0.0 if keep is None else size - keep * (1 - ROOM)
    chosen = []
    for row in rows:
        chosen.append(row)
        over -= VERSION_BYTES + row[2]
        if keep is not None and over <= 0:
            break
    return chosen


def author_of(row: Sequence[Any]) -> Author:
    interface, client, user, automatic = row
    return Author(interface, client, user, bool(automatic))


class StoredHistory:
    """A store's history. A subclass defines its begin, its size, and how to remove versions."""

    BEGINS: str
    NOW: str  # the bytes of history, and the number of the last write

    def __init__(self, database: SqlDatabase, memories: ListedMemories) -> None:
        self._database, self._memories = database, memories
        self._rows, self._sql = database.rows, database.sql

    def versions(self, id: str) -> list[Version]:
        """Return a memory's versions, live or forgotten, newest first; none if unknown."""
        with self._database.reading():
            if not (found := self._memories.find([id])):
                return []
            rows = self._rows(self._sql(OF), found[id].key)
            return [*versions_of(rows, found[id], self.begins() or EPOCH)]

    def last_write(self, at: datetime) -> int:
        """Return the last write at that time: the one before the first later write, or 0."""
        return int(self._rows(self._sql(LAST_WRITE), to_micros(at))[0][0])

    def changed_since(self, at: datetime) -> dict[int, Stored | None]:
        """Return each memory changed since then, by key, as it was; None if it did not exist yet.
        Purged memories are left out."""
        with self._database.reading():
            rows: list[Any] = self._rows(self._sql(SINCE), self.last_write(at))
            return wind_back(rows, self._memories.find_by_keys({key for key, _ in rows}))

    def changed_ids(self, write: int) -> frozenset[str]:
        return frozenset(id for (id,) in self._rows(self._sql(CHANGED_IDS), write))

    def log(
        self, *, after: int, before: int, limit: int, project: str, by: str
    ) -> Sequence[LoggedWrite]:
        """Return the writes between these numbers, newest first: all, or those of a memory of the
        project, or by the client, interface or user of that name."""
        values = (after, before, by, by, project, project, limit)
        writes = []
        for seq, operation, at, action, *author, size, keys in self._rows(self._sql(LOG), *values):
            few = msgspec.json.decode(keys) if isinstance(keys, str) else keys or ()
            write = (seq, operation, from_micros(at), action, author_of(author), size, tuple(few))
            writes.append(LoggedWrite(*write))
        return writes

    def begins(self) -> datetime | None:
        """Return the time from which versions are known; None in a vault that was never written."""
        [(moment,)] = self._rows(self.BEGINS)
        return None if moment is None else from_micros(int(moment))

    def operations(self, user: str, limit: int, *, undone: bool = False) -> Sequence[PastOperation]:
        """Return the last operations of this user that were not taken back, newest first, without
        undos; with `undone`, the last undos that were not taken back."""
        sql = self._sql(OPERATIONS + (UNDONE if undone else DONE))
        with self._database.reading():
            return [
                PastOperation(
                    seq, from_micros(at), action, author_of(author), self._ids(seq), undoes
                )
                for seq, at, undoes, action, *author in self._rows(sql, user, limit)
            ]

    def _ids(self, operation: int) -> tuple[str, ...]:
        return tuple([id for (id,) in self._rows(self._sql(IDS), operation, operation)])

    def changed_one(self, operation: int) -> bool:
        """Return True if an operation changed exactly one memory."""
        return len(self._rows(self._sql(f"{IDS} LIMIT 2"), operation, operation)) == 1

    def size(self) -> int:
        """Return the approximate number of bytes that versions take."""
        return int(self._rows(self.NOW)[0][0])

    def is_due(self, keep: HistoryLimit, now: datetime, *, whole: bool = False) -> bool:
        """Return True if there are versions to remove. A limit by number looks only at memories
        changed lately, or at the `whole` vault."""
        return bool(self._removable(keep, now, 1, whole=whole))

    def compact(
        self, keep: HistoryLimit, now: datetime, *, whole: bool = False, most: int = MOST_REMOVED
    ) -> int:
        """Remove up to `most` versions, oldest first; return how many. `whole`: see `is_due`."""
        if self._database.frozen or not self.is_due(keep, now, whole=whole):
            return 0
        with self._database.writing() as connection:
            rows = self._removable(keep, now, most, whole=whole)
            self._remove(connection, rows)
        return len(rows)

    def _removable(
        self, keep: HistoryLimit, now: datetime, most: int, *, whole: bool
    ) -> list[RemovableVersion]:
        """Return up to `most` of the oldest versions that need not be kept."""
        [(size, last)] = self._rows(self.NOW)
        if keep.versions is not None:
            since = 0 if whole else last - LATELY
            return self._versions(MANY, since, keep.versions, most)
        if keep.size is not None and size <= keep.size:
            return []
        start = LATEST if keep.days is None else to_micros(shift(now, -timedelta(days=keep.days)))
        return _take_until_enough(self._versions(OLDEST, start, most), size, keep.size)

    def _versions(self, sql: str, *values: int) -> list[RemovableVersion]:
        found: list[Any] = self._rows(self._sql(sql), *values)
        return found

    @abstractmethod
    def _remove(self, connection: Any, rows: Sequence[RemovableVersion]) -> None: ...
