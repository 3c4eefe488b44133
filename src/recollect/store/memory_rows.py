"""Memories as rows, lists of them, a Filter as SQL, and index rows prepared before a write."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.hashing import content_digest
from recollect.index import Row
from recollect.store.base import KeywordIndexName, MemoryStamp, MomentField, Stored, UsedColumn
from recollect.times import from_micros, to_micros
from recollect.types import TEXTS, TIMES, Filter, Memory

if TYPE_CHECKING:
    from recollect.store.vault import SqlDatabase

# The columns, without the tags: texts, then times.
COLUMNS = tuple(name for name in Memory.__struct_fields__ if name != "tags" and name not in TIMES)
FIELDS = (*COLUMNS, *TIMES)
SAME_CONTENT = (*TEXTS, "kind")
EQUAL = ("project", "source", "domain", "kind", "space", "severity", "tier")
TIERS = ("core", "capture", "file")  # in browsing order
UNEQUAL = {"without_kinds": "kind", "without_projects": "project", "without_sources": "source"}
MOMENTS = {
    "since": "m.updated_at >= {}",
    "until": "m.updated_at <= {}",
    "made_since": "m.created_at >= {}",
    "made_before": "m.created_at < {}",
}
STAMPS = """
SELECT id, content_hash, updated_at FROM memories
 WHERE {vault} AND forgotten_at IS NULL AND id {among}"""
# Reads one value after the other in the index: there are few, even with many memories.
USED = {
    column: f"""
WITH RECURSIVE used (value) AS (
    SELECT min({column}) FROM memories WHERE {{vault}} AND forgotten_at IS NULL
     UNION ALL
    SELECT (SELECT min({column}) FROM memories
             WHERE {{vault}} AND forgotten_at IS NULL AND {column} > used.value)
      FROM used WHERE value IS NOT NULL
)
SELECT value FROM used WHERE value IS NOT NULL LIMIT 1000"""
    for column in ("kind", "project")
}
GROUPED = """
SELECT {field}, count(*) FROM memories WHERE {{vault}} AND forgotten_at IS NULL
 GROUP BY 1 ORDER BY 2 DESC, 1"""
LAST = "\U0010ffff"  # texts that begin with `start` sort before `start + LAST`
LIMITLESS = 1 << 60
_texts = attrgetter(*COLUMNS)
_times = attrgetter(*TIMES)
_same_content = attrgetter(*SAME_CONTENT)


class BadRow(ValueError):
    """A stored memory is not what was written."""


def stored_id(id: object) -> str:
    """Return an id as a row has it; raise BadRow if damage has left none."""
    if not isinstance(id, str):
        raise BadRow("an id is not a text")
    return id


def values_of(memory: Memory) -> tuple[str | int | None, ...]:
    times = (None if moment is None else to_micros(moment) for moment in _times(memory))
    return *_texts(memory), *times


def content_hash(texts: Sequence[str]) -> bytes:
    """Return a hash of the fields SAME_CONTENT: equal for equal memories in any vault."""
    return content_digest("\0".join(texts), 16)


def content_hash_of(memory: Memory) -> bytes:
    return content_hash(_same_content(memory))


def as_stored(key: Any, forgotten_at: Any, tags: Sequence[str], fields: Sequence[Any]) -> Stored:
    """Return a row as a memory (`fields`: the columns FIELDS); raise BadRow for an invalid time."""
    values: dict[str, Any] = dict(zip(FIELDS, fields, strict=True))
    for name in TIMES:
        if (micros := values[name]) is not None:
            values[name] = _moment(micros)
    memory = Memory(tags=tuple(tags), **values)
    return Stored(key, memory, None if forgotten_at is None else _moment(forgotten_at))


def _moment(micros: Any) -> datetime:
    """Return the time in a column; raise BadRow if damage has left none."""
    try:
        return from_micros(micros)
    except (TypeError, OverflowError) as error:
        raise BadRow("a time is not valid") from error


class Conditions:
    """Conditions on the table memories, named `m`, with their values. `sign` is the placeholder for
    a value; columns in `unindexed` choose no index."""

    def __init__(self, sign: str, unindexed: Collection[str] = ()) -> None:
        self._sign = sign
        self._unindexed = unindexed
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:
        self.parts.append(condition)
        self.values += values

    def columns(self, filter: Filter) -> None:
        """Add which values columns must have, and must not have; any of several values passes."""
        for column in EQUAL:
            wanted = getattr(filter, column)
            plus = "+" if column in self._unindexed else ""
            if isinstance(wanted, tuple):
                self.add(f"{plus}m.{column} IN ({self._signs(wanted)})", *wanted)
            elif wanted is not None:
                self.add(f"{plus}m.{column} = {self._sign}", wanted)
        for name, column in UNEQUAL.items():
            if unwanted := getattr(filter, name):
                self.add(f"m.{column} NOT IN ({self._signs(unwanted)})", *unwanted)

    def times(self, filter: Filter) -> None:
        for name, condition in MOMENTS.items():
            moment = getattr(filter, name)
            if moment is not None:
                self.add(condition.format(self._sign), to_micros(moment))
        if filter.valid_at is not None:
            at = to_micros(filter.valid_at)
            self.add(f"(m.valid_from IS NULL OR m.valid_from <= {self._sign})", at)
            self.add(f"(m.valid_until IS NULL OR m.valid_until > {self._sign})", at)

    def tags(self, filter: Filter, tagged: str, stored: Callable[[str], Any]) -> None:
        """Add conditions on tags: `tagged` for each tag, with the value from `stored`."""
        for no, tags in (("", filter.tags), ("NOT ", filter.without_tags)):
            for tag in tags:
                self.add(no + tagged, stored(tag))

    def _signs(self, values: Collection[object]) -> str:
        return ", ".join([self._sign] * len(values))


class ListedMemories:
    """Memories by ids and keys, and lists of them, along an index or sorted by it. A store defines
    its rows (`READ`, `from_row`), its orders, and its form of a filter (`where`)."""

    READ: str
    BROWSING: str
    NEWEST: str

    def __init__(self, database: SqlDatabase) -> None:
        self._read = database

    @abstractmethod
    def where(self, filter: Filter, *, forgotten: bool = False) -> tuple[str, list[Any]]:
        """Return a condition on the table memories, named `m`, and its values."""

    @abstractmethod
    def find(self, ids: Sequence[str]) -> dict[str, Stored]: ...

    @abstractmethod
    def from_row(self, row: Sequence[Any]) -> Stored: ...

    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        found = self.find(ids).values()
        return {memory.id: memory for _, memory, forgotten_at in found if forgotten_at is None}

    def find_by_keys(self, keys: Collection[int]) -> dict[int, Stored]:
        found = self._read_rows(
            self._read.sql("{m.vault} AND m.key {among}"), self._read.among(keys)
        )
        return {stored.key: stored for stored in found}

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        rows = self._read.rows(self._read.sql(STAMPS), self._read.among(ids))
        return {id: MemoryStamp(hash, at) for id, hash, at in rows}

    def ids(self, *, forgotten: bool = False) -> list[str]:
        live = "" if forgotten else "AND m.forgotten_at IS NULL"
        return self._ids(f"{live} ORDER BY m.forgotten_at IS NOT NULL, {self.BROWSING}")

    def beginning(self, start: str, limit: int, *, forgotten: bool = False) -> list[str]:
        which = f"AND m.forgotten_at IS {'NOT ' if forgotten else ''}NULL"
        between = f"{which} AND m.id >= ? AND m.id < ? ORDER BY m.id LIMIT ?"
        return self._ids(between, start, start + LAST, limit)

    def ending(self, end: str, limit: int, *, forgotten: bool = False) -> list[str]:
        which = f"AND m.forgotten_at IS {'NOT ' if forgotten else ''}NULL"
        same = f"substr(m.id, length(m.id) - {len(end) - 1}) = ?"
        return self._ids(f"{which} AND {same} ORDER BY m.id LIMIT ?", end, limit)

    def _ids(self, condition: str, *values: object) -> list[str]:
        sql = self._read.sql(f"SELECT m.id FROM memories m WHERE {{m.vault}} {condition}")
        with self._read.translate_errors():
            return [stored_id(id) for (id,) in self._read.rows(sql, *values)]

    def made(self, filter: Filter, limit: int, *, oldest: bool = False) -> list[Memory]:
        order = "m.created_at" if oldest else "m.created_at DESC"
        return self._memories(filter, f"{order}, m.id", limit)

    def list_around(
        self, filter: Filter, at: datetime, limit: int, *, field: MomentField, later: bool
    ) -> list[Memory]:
        beside = f" AND m.{field} {'>' if later else '<='} ?"
        beside += " AND m.updated_at > m.created_at" if field == "updated_at" else ""
        order = f"m.{field} {'' if later else 'DESC'}, m.id"
        return self._memories(filter, order, limit, beside, to_micros(at))

    def list_replaced(self, ids: Sequence[str]) -> list[Memory]:
        if not ids:
            return []
        linked = " AND m.superseded_by <> '' AND m.superseded_by {among}"
        everything = Filter(archived=True)
        return self._memories(everything, self.NEWEST, LIMITLESS, linked, self._read.among([*ids]))

    def values(self, column: UsedColumn) -> list[str]:
        return [value for (value,) in self._read.rows(self._read.sql(USED[column]))]

    def count_by_field(self) -> dict[str, dict[str, int]]:
        """Return how many live memories have each kind, tier and project, most frequent first."""
        return {
            f"{field}s": dict(self._read.rows(self._read.sql(GROUPED.format(field=field))))
            for field in ("kind", "tier", "project")
        }

    def expiring(
        self, filter: Filter, limit: int, *, until: datetime, since: datetime | None = None
    ) -> list[Memory]:
        ending, last = " AND m.valid_until <= ?", to_micros(until)
        if since is None:
            return self._memories(filter, "m.valid_until DESC, m.id", limit, ending, last)
        ending += " AND m.valid_until > ?"
        return self._memories(filter, "m.valid_until, m.id", limit, ending, last, to_micros(since))

    def _memories(self, filter: Filter, order: str, limit: int, *narrower: Any) -> list[Memory]:
        return [stored.memory for stored in self.select(filter, order, limit, *narrower)]

    def select(
        self,
        filter: Filter,
        order: str,
        limit: int,
        more: str = "",
        *values: object,
        forgotten: bool = False,
    ) -> list[Stored]:
        """Return the memories that pass the filter and the condition `more`, in this order."""
        condition, own = self.where(filter, forgotten=forgotten)
        more = self._read.sql(f"{more} ORDER BY {order} LIMIT ?")
        return self._read_rows(condition + more, *own, *values, limit)

    def count(self, filter: Filter, *, forgotten: bool = False) -> int:
        condition, values = self.where(filter, forgotten=forgotten)
        [(number,)] = self._read.rows(f"SELECT count(*) FROM memories m WHERE {condition}", *values)
        return int(number)

    def _read_rows(self, condition: str, *values: object) -> list[Stored]:
        rows = self._read.rows(f"{self.READ} WHERE {condition}", *values)
        with self._read.translate_errors():
            return [self.from_row(row) for row in rows]


class PackedIndex(NamedTuple):
    """One index of a segment. `documents`: the positions of its memories in the input; `lengths`:
    the number of tokens of each; both as uint32."""

    documents: bytes
    lengths: bytes
    rows: list[Row]


Packed = Mapping[KeywordIndexName, PackedIndex]


class PreparedMemories(NamedTuple):
    """The ids of memories, their keyword indexes, and how many of them hold each TF-IDF token."""

    ids: list[str]
    indexes: Packed
    vocabulary: Mapping[str, int]

    def __reduce__(self) -> tuple[Callable[[bytes], PreparedMemories], tuple[bytes]]:
        """Pickle as MessagePack: for many small values, pickle takes twice as long."""
        return _unpack_prepared, (msgspec.msgpack.encode(self),)


def _unpack_prepared(sent: bytes) -> PreparedMemories:
    return msgspec.msgpack.decode(sent, type=PreparedMemories)
