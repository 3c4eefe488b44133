"""What memories were: who changed them, when and why, and what is asked of a store about that."""

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
from recollect.times import EPOCH, from_micros, moved, to_micros
from recollect.types import Memory

KEEP = r"\s*(\d{1,9})\s*(d|kB|MB|GB)?\s*"
UNITS = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
# The most versions that are removed at once, so that no other writer waits long.
MOST_REMOVED = 1_000
LATEST = (1 << 63) - 1
LATELY = 100  # writes
BEGIN = "begin"
VERSION_BYTES = 30  # of a version beside what it keeps, with its index
WRITE_BYTES = 80
ROOM = 0.05  # of the size to keep: so much more is removed, so that not every write has to
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
    """Who writes: through which interface, with which program, and the name of their token (empty:
    the owner). `automatic`: nobody asked for it, as when a folder is followed."""

    interface: str
    client: str = ""
    user: str = ""
    automatic: bool = False


class WriteOperation:
    """What one command does, in however many writes. `number` is that of the first one; None until
    there is one."""

    def __init__(self) -> None:
        self.number: int | None = None


class Change(NamedTuple):
    """Why a write is made. `clock` is asked when the write is complete, so that later writes have
    later times. `target`: the id merged into, or of the successor. `undoes`: the number of the
    operation that it takes back."""

    action: str
    author: Author
    clock: Callable[[], datetime]
    reason: str = ""
    target: str = ""
    operation: WriteOperation | None = None
    undoes: int | None = None

    def committed(self, write: int | None) -> None:
        """Tell the operation its number, now that the write cannot be undone any more."""
        if self.operation is not None and self.operation.number is None:
            self.operation.number = write


class Version(NamedTuple):
    """A memory as it was after a change, and what is known of the change. Versions are numbered
    from 1; version 1 is what was made, or what was there when history began (`action` is `begin`
    then, and `write` 0). `changed`: the fields that differ from the version before."""

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
        """The memory, and whether it is forgotten."""
        return self.memory, self.forgotten_at is not None


class Done(NamedTuple):
    """An operation: its number, when it began, what it was, the ids of the memories that it
    changed, and for an undo the number of the operation that it took back."""

    number: int
    at: datetime
    action: str
    author: Author
    ids: tuple[str, ...]
    undoes: int | None = None


class LoggedWrite(NamedTuple):
    """A write of history: what it was, whose, of how many memories, and the keys of a few."""

    seq: int
    operation: int
    at: datetime
    action: str
    author: Author
    size: int
    keys: tuple[int, ...]


class Keep(NamedTuple):
    """How much of history is kept: what is younger than `days`, the newest `versions` of each
    memory, or the newest up to `size` bytes in all. Exactly one is given."""

    days: float | None = None
    versions: int | None = None
    size: int | None = None


def merged_then(history: StoredHistory, ids: Iterable[str], then: datetime) -> dict[str, str]:
    """Those of these ids that were merged into another memory by that moment, with its id."""
    into: dict[str, str] = {}
    for id in ids:
        kept, seen = id, set[str]()
        while kept not in seen:
            seen.add(kept)
            past = (one for one in history.of(kept) if one.at <= then)
            last = next(past, None)
            if last is not None and last.action == "merge" and last.forgotten_at is not None:
                kept = last.target
        if kept != id:
            into[id] = kept
    return into


def parse_keep(text: str) -> Keep:
    """What the setting `history.keep` says: "90d", "20" versions, or "512 MB"."""
    found = re.fullmatch(KEEP, text)
    assert found is not None  # the settings check it
    number, unit = int(found[1]), found[2]
    if unit == "d":
        return Keep(days=number)
    return Keep(size=number * UNITS[unit]) if unit else Keep(versions=number)


def versions_of(
    rows: Iterable[Sequence[Any]], stored: Stored, begins: datetime
) -> Iterable[Version]:
    """A memory's versions, newest first, from its rows and from what it is now. A row: the write,
    what was before it, and the columns of the write."""
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
    if last is not None:  # it was there when history began
        yield Version(
            number - 1, 0, 0, begins, BEGIN, Author(""), "", "", None, last.memory,
            last.forgotten_at, (),
        )  # fmt: skip


def wound_back(
    rows: Iterable[tuple[int, bytes]], now: Mapping[int, Stored]
) -> dict[int, Stored | None]:
    """What memories were before these differences, which come newest first for each key."""
    then: dict[int, Stored | None] = {**now}
    for key, before in rows:
        after = then[key]
        assert after is not None
        then[key] = earlier(after, before)
    return then


def _until_enough(
    rows: Iterable[RemovableVersion], size: int, keep: int | None
) -> list[RemovableVersion]:
    """Of the oldest versions as many as it takes from a size to that to keep; all without one."""
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
    """A store says since when history is known, how many bytes it takes, and how versions are
    removed."""

    BEGINS: str
    NOW: str  # the bytes of history, and the number of the last write

    def __init__(self, database: SqlDatabase, memories: ListedMemories) -> None:
        self._database, self._memories = database, memories
        self._rows, self._sql = database.rows, database.sql

    def of(self, id: str) -> list[Version]:
        """The versions of a memory, live or forgotten, newest first; none of an unknown one."""
        with self._database.reading():
            if not (found := self._memories.find([id])):
                return []
            rows = self._rows(self._sql(OF), found[id].key)
            return [*versions_of(rows, found[id], self.begins() or EPOCH)]

    def last_write(self, at: datetime) -> int:
        """The number of the last write that counts at that time: the one before the first write
        that is later. 0: none does."""
        return int(self._rows(self._sql(LAST_WRITE), to_micros(at))[0][0])

    def changed_since(self, at: datetime) -> dict[int, Stored | None]:
        """Each memory that was changed since then, by key, as it was; None where it was not there
        yet. What was purged is not among them."""
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
        writes = []
        for seq, operation, at, action, *author, size, keys in self._rows(self._sql(LOG), *asked):
            few = msgspec.json.decode(keys) if isinstance(keys, str) else keys or ()
            write = (seq, operation, from_micros(at), action, author_of(author), size, tuple(few))
            writes.append(LoggedWrite(*write))
        return writes

    def begins(self) -> datetime | None:
        """From when on it is known what memories were; None in a vault that was never written."""
        [(moment,)] = self._rows(self.BEGINS)
        return None if moment is None else from_micros(int(moment))

    def operations(self, user: str, limit: int, *, undone: bool = False) -> Sequence[Done]:
        """The last operations that this user asked for and that were not taken back, newest first,
        without those that take others back; with `undone` the last undos that were not."""
        sql = self._sql(OPERATIONS + (UNDONE if undone else DONE))
        with self._database.reading():
            return [
                Done(seq, from_micros(at), action, author_of(author), self._ids(seq), undoes)
                for seq, at, undoes, action, *author in self._rows(sql, user, limit)
            ]

    def _ids(self, operation: int) -> tuple[str, ...]:
        return tuple([id for (id,) in self._rows(self._sql(IDS), operation, operation)])

    def alone(self, operation: int) -> bool:
        """Whether an operation changed one memory alone."""
        return len(self._rows(self._sql(f"{IDS} LIMIT 2"), operation, operation)) == 1

    def size(self) -> int:
        """How many bytes versions take, about."""
        return int(self._rows(self.NOW)[0][0])

    def due(self, keep: Keep, now: datetime, *, whole: bool = False) -> bool:
        """Whether there are versions that need not be kept. By their number, only memories that
        were changed lately are looked at, unless it is the `whole` vault."""
        return bool(self._removable(keep, now, 1, whole=whole))

    def compact(
        self, keep: Keep, now: datetime, *, whole: bool = False, most: int = MOST_REMOVED
    ) -> int:
        """Remove versions that need not be kept, oldest first, at most so many; returns how many
        were removed. `whole` as for `due`."""
        if self._database.frozen or not self.due(keep, now, whole=whole):
            return 0
        with self._database.writing() as connection:
            rows = self._removable(keep, now, most, whole=whole)
            self._remove(connection, rows)
        return len(rows)

    def _removable(
        self, keep: Keep, now: datetime, most: int, *, whole: bool
    ) -> list[RemovableVersion]:
        """The oldest versions that need not be kept, at most so many."""
        size, last = self._now()
        if keep.versions is not None:
            since = 0 if whole else last - LATELY
            return self._versions(MANY, since, keep.versions, most)
        if keep.size is not None and size <= keep.size:
            return []
        start = LATEST if keep.days is None else to_micros(moved(now, -timedelta(days=keep.days)))
        return _until_enough(self._versions(OLDEST, start, most), size, keep.size)

    def _now(self) -> tuple[int, int]:
        size, last = self._rows(self.NOW)[0]
        return size, last

    def _versions(self, sql: str, *values: int) -> list[RemovableVersion]:
        found: list[Any] = self._rows(self._sql(sql), *values)
        return found

    @abstractmethod
    def _remove(self, connection: Any, rows: Sequence[RemovableVersion]) -> None: ...
