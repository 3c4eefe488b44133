"""Memories in SQLite: reading, browsing and counting them.

A list reads an index in its order, from where a page begins, so a page costs the same at any depth.
If a filter lets only a few memories pass, these are read and sorted instead: an index in order
would be read for long to find them. Counts read the index `memories_facets`, which has every column
that is counted, in the order of the groups: no memory is read, and none sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import apsw
import msgspec
from msgspec.structs import replace

from recollect.store.base import AGES, Dates, Facets, Stored
from recollect.store.memory_rows import FIELDS, MOMENTS, TIERS, BadRow, ListedMemories, as_stored
from recollect.store.sqlite.checksums import TAGS, checksum, display_id
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.filters import INDEXED, Condition, SqliteTopics, where
from recollect.times import shift, to_micros
from recollect.types import Filter, Memory, Place, any_of

UNTIL = MOMENTS["until"].format("?")
BROWSE_TIER = "CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END"
NEWEST_FIRST = "m.updated_at DESC, m.id"
BROWSING = f"{BROWSE_TIER}, {NEWEST_FIRST}"
BEHIND = f" AND ({BROWSE_TIER}, -m.updated_at, m.id) > (?, ?, ?)"
OLDER = " AND m.updated_at <= ? AND (m.updated_at < ? OR m.id > ?)"
ALONG = "updated_at"  # no column of a filter: the list uses the index of all memories
FEW = 2_000  # memories, which are read and sorted in some milliseconds
MANY = 20_000  # memories: the exact number of more makes no difference, and counting takes time
COUNTED = """
    SELECT count(*) FROM (SELECT 1 FROM memories WHERE {column} = ? AND forgotten_at IS NULL
                           LIMIT {most})"""
OF_TOPIC = """
    SELECT count(*) FROM (SELECT 1 FROM tags t JOIN memory_tags mt ON mt.tag = t.key
                           WHERE t.topic = ? LIMIT {most})"""
TAGGED = """
   AND m.key IN (SELECT mt.memory FROM tags t JOIN memory_tags mt ON mt.tag = t.key
                  WHERE t.topic = ?)"""
READ = f"""
SELECT m.key, m.forgotten_at, m.checksum,
       {TAGS},
       {", ".join("m." + column for column in FIELDS)}
  FROM memories m"""
# The list is one value: any number of ids, one prepared statement. CROSS JOIN keeps the
# planner from scanning the memories and probing the list.
READ_IDS = READ.replace(
    "FROM memories m", "FROM json_each(?) j CROSS JOIN memories m ON m.id = j.value"
)
UNSCRUBBED = "unscrubbed"  # key in `meta` from a purge until its remains are scrubbed
EPOCH = date(1970, 1, 1)
DAY = 86_400_000_000  # microseconds
# Division truncates towards zero; a day before 1970 has to be rounded down as well.
DAY_OF = f"(m.{{0}} - (m.{{0}} % {DAY} + {DAY}) % {DAY}) / {DAY}"
DAYS = f"""
    SELECT {DAY_OF}, count(*) FROM memories m WHERE {{1}} AND m.{{0}} IS NOT NULL
     GROUP BY 1 ORDER BY 1"""
GROUPED = """
    WITH grouped AS MATERIALIZED (
        SELECT m.project, m.kind, m.source, count(*) AS memories, {ages}
          FROM memories m WHERE {condition} GROUP BY 1, 2, 3
    )"""
AGE = "sum(m.updated_at >= ?) AS changed_{age}"
EACH = """
    SELECT * FROM (SELECT '{field}', {field}, sum(memories) FROM grouped WHERE {field} <> ''
     GROUP BY 2 ORDER BY 3 DESC, 2)"""
AGED = "SELECT 'age', '{age}', coalesce(sum(changed_{age}), 0) FROM grouped"
# Tags that differ only in case have one topic. The name is the first of those in use.
BY_TAG = """
    SELECT * FROM (SELECT 'tags', min(t.name), count(DISTINCT mt.memory) FROM {tagged}
     GROUP BY t.topic ORDER BY 3 DESC, 2)"""
# For all memories: few are hidden, and the index of tags is read in order.
EVERY_TAG = """
    tags t JOIN memory_tags mt ON mt.tag = t.key
     WHERE mt.memory NOT IN (SELECT key FROM memories WHERE forgotten_at IS NOT NULL)"""
NOT_ARCHIVED = " AND mt.memory NOT IN (SELECT key FROM memories WHERE archived_at IS NOT NULL)"
# SQLite does not know how few pass: CROSS JOIN reads only their tags.
SOME_TAGS = """
    memories m CROSS JOIN memory_tags mt ON mt.memory = m.key CROSS JOIN tags t ON t.key = mt.tag
     WHERE {condition}"""
GROUPS = ("project", "kind", "source")


class Range(NamedTuple):
    """A part of a list: memories next to each other in an index, or a few to be sorted."""

    sql: str
    values: list[apsw.SQLiteValue]
    order: str


class ListRanges:
    """The memories that pass a filter, as parts of a list."""

    def __init__(self, database: Database, filter: Filter, topics: SqliteTopics) -> None:
        self._tiers = [n for n, tier in enumerate(TIERS) if filter.tier in (None, tier)]
        self._few, tagged = filter.among is not None or bool(filter.holding), Condition("", [])
        for topic in map(topics.hash_word, filter.tags):
            if not self._few and _count(database, OF_TOPIC.format(most=FEW), topic) < FEW:
                self._few, tagged = True, Condition(TAGGED, [topic])
        self._by = narrowest(database, filter)
        found = where(filter, topics, by="key" if self._few else self._by or ALONG)
        self._few |= self._by is not None and isinstance(getattr(filter, self._by), tuple)
        self._sql, self._values = found.sql + tagged.sql, [*found.values, *tagged.values]

    def pages(self, after: Place | None) -> Iterator[Range]:
        """Yield parts after a place: core, then capture, then file; newest first in each."""
        tier, at = (TIERS.index(after.tier), to_micros(after.updated_at)) if after else (-1, 0)
        if self._few:
            behind = (BEHIND, tier, -at, after.id) if after else ("",)
            yield self._range(BROWSING, *behind)
            return
        if after and tier in self._tiers:
            yield self._tier(tier, " AND m.updated_at = ? AND m.id > ?", at, after.id)
            older = self._tier(tier, " AND m.updated_at < ?", at)
            # SQLite begins at the first of two upper bounds; this page begins at the second.
            yield older._replace(sql=older.sql.replace(UNTIL, f"+{UNTIL}"))
        for other in self._tiers:
            if other > tier:
                yield self._tier(other)

    def newest(self, after: Place | None) -> Iterator[Range]:
        """Yield parts to merge, each newest first, after a place: only the index of all memories
        has all tiers in order of time."""
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
    """Return the column whose index fits a filter best: the one that lets the fewest pass. Memories
    of several values are not in order there, so that pays only for a few."""
    wanted = {column: values for column in INDEXED if (values := any_of(getattr(filter, column)))}
    if sum(map(len, wanted.values())) <= 1:
        return next(iter(wanted), None)
    counts = {
        column: sum(
            _count(database, COUNTED.format(column=column, most=MANY), value) for value in values
        )
        for column, values in wanted.items()
    }
    worth = [column for column in wanted if len(wanted[column]) == 1 or counts[column] < FEW]
    return min(worth, key=counts.__getitem__, default=None)


def _count(database: Database, sql: str, value: apsw.SQLiteValue) -> int:
    return int(str(database.rows(sql, value)[0][0]))


def read_purge_note(database: Database) -> list[tuple[apsw.SQLiteValue, ...]]:
    """Return the note of a purge that was not scrubbed."""
    return database.rows("SELECT key, value FROM meta WHERE key = ?", UNSCRUBBED)


class SqliteMemories(ListedMemories):
    READ, BROWSING, NEWEST = READ, BROWSING, NEWEST_FIRST

    def __init__(self, database: Database, topics: SqliteTopics) -> None:
        super().__init__(database)
        self._database = database
        self._topics = topics

    def where(self, filter: Filter, *, forgotten: bool = False) -> Condition:
        return where(filter, self._topics, forgotten=forgotten)

    def from_row(self, row: Sequence[apsw.SQLiteValue]) -> Stored:
        return from_row(row)

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        with self._database.translate_errors():
            return find_stored(self._database.connection(), ids)

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        found: list[Memory] = []
        with self._database.reading():
            for part in ListRanges(self._database, filter, self._topics).pages(after):
                if len(found) < limit:
                    found += self._part(part, limit - len(found))
        return found

    def newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        with self._database.reading():
            parts = ListRanges(self._database, filter, self._topics).newest(after)
            found = [memory for part in parts for memory in self._part(part, limit)]
        found.sort(key=lambda memory: memory.id)
        found.sort(key=lambda memory: memory.updated_at, reverse=True)
        return found[:limit]

    def projects(self, names: Sequence[str]) -> list[str]:
        found = self._database.rows(
            "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM memories "
            "WHERE project = value AND forgotten_at IS NULL)",
            as_json_list(names),
        )
        return [str(name) for (name,) in found]

    def facets(self, filter: Filter, now: datetime) -> Facets:
        ages = ", ".join(AGE.format(age=age) for age in AGES)
        since = [to_micros(shift(now, -span)) for span in AGES.values()]
        found: dict[str, dict[Any, Any]] = {field: {} for field in Facets._fields}
        with self._database.reading():
            filter = self._topics.resolve_archived(filter)
            condition = self._counting(filter)
            if replace(filter, archived=None) == Filter():
                every = EVERY_TAG + (NOT_ARCHIVED if filter.archived is False else "")
                tagged = Condition(every, [])
            else:
                tagged = Condition(SOME_TAGS.format(condition=condition.sql), condition.values)
            parts = [EACH.format(field=field) for field in GROUPS]
            parts += [BY_TAG.format(tagged=tagged.sql), *(AGED.format(age=age) for age in AGES)]
            sql = GROUPED.format(ages=ages, condition=condition.sql) + " UNION ALL ".join(parts)
            values = (*since, *condition.values, *tagged.values)
            for field, value, count in self._database.rows(sql, *values):
                found[str(field)][value] = count
        return Facets(**found)

    def dates(self, filter: Filter) -> Dates:
        found: dict[str, dict[date, int]] = {}
        with self._database.reading():
            condition, values = self._counting(filter)
            for field, column in (("made", "created_at"), ("expiring", "valid_until")):
                rows: Any = self._database.rows(DAYS.format(column, condition), *values)
                found[field] = {_day(number): count for number, count in rows}
        return Dates(**found)

    def _counting(self, filter: Filter) -> Condition:
        """The filter as SQL along the index `memories_facets`; of a space, along the space's."""
        return where(filter, self._topics, "project" if filter.space is None else "space")

    def _part(self, part: Range, limit: int) -> list[Memory]:
        condition = f"{part.sql} ORDER BY {part.order} LIMIT ?"
        return [stored.memory for stored in self._read_rows(condition, *part.values, limit)]


def find_stored(connection: apsw.Connection, ids: Iterable[str]) -> dict[str, Stored]:
    found = map(from_row, connection.execute(READ_IDS, (as_json_list(ids),)))
    return {stored.memory.id: stored for stored in found}


def from_row(row: Sequence[apsw.SQLiteValue]) -> Stored:
    """Return the memory in a row of READ; raise BadRow if it is not what was saved."""
    key, forgotten_at, stored, tags, *rest = row
    names = msgspec.json.decode(str(tags)) if tags != "[]" else ()
    if checksum((key, *rest, forgotten_at), names) != stored:
        raise BadRow(f"{display_id(key, rest[0])} is not what was saved")
    return as_stored(key, forgotten_at, names, rest)


def _day(number: Any) -> date:
    """Return a day by its number since 1970; raise BadRow if damage has left none."""
    try:
        return EPOCH + timedelta(days=number)
    except (TypeError, OverflowError) as error:
        raise BadRow("a day is not valid") from error
