"""Lists in order, page by page: along an index that has their order, from where a page begins.

So a page costs the same at any depth. Where a filter lets only a few pass, these are read and
sorted instead: an index in order would be read for long to find them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import apsw

from recollect.store.memory_rows import MOMENTS
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.filters import INDEXED, Condition, FilterLookup, where
from recollect.times import to_micros
from recollect.types import Filter, Place, any_of

UNTIL = MOMENTS["until"].format("?")
BROWSE_TIER = "CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END"
TIERS = ("core", "capture", "file")
NEWEST_FIRST = "m.updated_at DESC, m.id"
BROWSING = f"{BROWSE_TIER}, {NEWEST_FIRST}"
BEHIND = f" AND ({BROWSE_TIER}, -m.updated_at, m.id) > (?, ?, ?)"
OLDER = " AND m.updated_at <= ? AND (m.updated_at < ? OR m.id > ?)"
ALONG = "updated_at"  # no column of a filter: the list goes along the index of all memories
FEW = 2_000  # memories, which are read and sorted in some milliseconds
MANY = 20_000  # memories: whether there are more makes no difference, and counting them takes time
COUNTED = """
    SELECT count(*) FROM (SELECT 1 FROM memories WHERE {column} = ? AND forgotten_at IS NULL
                           LIMIT {most})"""
OF_TOPIC = """
    SELECT count(*) FROM (SELECT 1 FROM tags t JOIN memory_tags mt ON mt.tag = t.key
                           WHERE t.topic = ? LIMIT {most})"""
TAGGED = """
   AND m.key IN (SELECT mt.memory FROM tags t JOIN memory_tags mt ON mt.tag = t.key
                  WHERE t.topic = ?)"""


class Range(NamedTuple):
    """A part of a list: memories that stand together in an index, or a few to be sorted."""

    sql: str
    values: list[apsw.SQLiteValue]
    order: str


class ListRanges:
    """What passes a filter, as parts of a list."""

    def __init__(self, database: Database, filter: Filter, lookup: FilterLookup) -> None:
        self._tiers = [n for n, tier in enumerate(TIERS) if filter.tier in (None, tier)]
        self._few, tagged = filter.among is not None or bool(filter.holding), Condition("", [])
        for topic in map(lookup.hashed, filter.tags):
            if not self._few and _counted(database, OF_TOPIC.format(most=FEW), topic) < FEW:
                self._few, tagged = True, Condition(TAGGED, [topic])
        self._by = narrowest(database, filter)
        found = where(filter, lookup, by="key" if self._few else self._by or ALONG)
        self._few |= self._by is not None and isinstance(getattr(filter, self._by), tuple)
        self._sql, self._values = found.sql + tagged.sql, [*found.values, *tagged.values]

    def pages(self, after: Place | None) -> Iterator[Range]:
        """In browsing order, from behind a place on: core, then capture, then file; the newest
        first in each."""
        tier, at = (TIERS.index(after.tier), to_micros(after.updated_at)) if after else (-1, 0)
        if self._few:
            behind = (BEHIND, tier, -at, after.id) if after else ("",)
            yield self._range(BROWSING, *behind)
            return
        if after and tier in self._tiers:
            yield self._tier(tier, " AND m.updated_at = ? AND m.id > ?", at, after.id)
            older = self._tier(tier, " AND m.updated_at < ?", at)
            # Of two upper bounds SQLite begins at the first; this page begins at the other.
            yield older._replace(sql=older.sql.replace(UNTIL, f"+{UNTIL}"))
        for other in self._tiers:
            if other > tier:
                yield self._tier(other)

    def newest(self, after: Place | None) -> Iterator[Range]:
        """Parts that are to be merged, each newest first, from behind a place on: only the index of
        all memories has the newest of all tiers in order."""
        at = to_micros(after.updated_at) if after else 0
        behind = (OLDER, at, at, after.id) if after else ("",)
        if self._few or self._by is None:
            yield self._range(NEWEST_FIRST, *behind)
        else:
            yield from (self._tier(tier, *behind) for tier in self._tiers)

    def _tier(self, tier: int, sql: str = "", *values: apsw.SQLiteValue) -> Range:
        return self._range(NEWEST_FIRST, f" AND {BROWSE_TIER} = ?{sql}", tier, *values)

    def _range(self, order: str, sql: str = "", *values: apsw.SQLiteValue) -> Range:
        return Range(self._sql + sql, [*self._values, *values], order)


def narrowest(database: Database, filter: Filter) -> str | None:
    """The column whose index a filter goes along: the one that lets the fewest pass. Memories of
    several values stand in no order there, so that only few of them are worth it."""
    wanted = {column: values for column in INDEXED if (values := any_of(getattr(filter, column)))}
    if sum(map(len, wanted.values())) <= 1:
        return next(iter(wanted), None)
    counts = {
        column: sum(
            _counted(database, COUNTED.format(column=column, most=MANY), value) for value in values
        )
        for column, values in wanted.items()
    }
    worth = [column for column in wanted if len(wanted[column]) == 1 or counts[column] < FEW]
    return min(worth, key=counts.__getitem__, default=None)


def _counted(database: Database, sql: str, value: apsw.SQLiteValue) -> int:
    return int(str(database.rows(sql, value)[0][0]))
