"""How many memories that pass a filter have each value, and when they were made and expire.

`GROUP BY` goes along the index `memories_facets`, which has every column that is counted, in the
order of the groups: no memory is read, and none sorted.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from recollect.store.base import AGES, Dates, Facets
from recollect.store.memory_rows import BadRow
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.filters import Condition
from recollect.times import moved, to_micros
from recollect.types import Filter

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
TAGGED = """
    SELECT * FROM (SELECT 'tags', min(t.name), count(DISTINCT mt.memory) FROM {tagged}
     GROUP BY t.topic ORDER BY 3 DESC, 2)"""
# Of all memories: few are hidden, and the index of tags is read in order.
ALL = """
    tags t JOIN memory_tags mt ON mt.tag = t.key
     WHERE mt.memory NOT IN (SELECT key FROM memories WHERE forgotten_at IS NOT NULL)"""
NOT_ARCHIVED = " AND mt.memory NOT IN (SELECT key FROM memories WHERE archived_at IS NOT NULL)"
# SQLite does not know how few pass: CROSS JOIN reads their tags, and not those of all others.
SOME = """
    memories m CROSS JOIN memory_tags mt ON mt.memory = m.key CROSS JOIN tags t ON t.key = mt.tag
     WHERE {condition}"""
FIELDS = ("project", "kind", "source")


def facets(database: Database, filter: Filter, condition: Condition, now: datetime) -> Facets:
    """Count what passes the filter, whose SQL is `condition`."""
    ages = ", ".join(AGE.format(age=age) for age in AGES)
    since = [to_micros(moved(now, -span)) for span in AGES.values()]
    if replace(filter, archived=None) == Filter():
        tagged = Condition(ALL + (NOT_ARCHIVED if filter.archived is False else ""), [])
    else:
        tagged = Condition(SOME.format(condition=condition.sql), condition.values)
    parts = [EACH.format(field=field) for field in FIELDS]
    parts += [TAGGED.format(tagged=tagged.sql), *(AGED.format(age=age) for age in AGES)]
    sql = GROUPED.format(ages=ages, condition=condition.sql) + " UNION ALL ".join(parts)
    found: dict[str, dict[Any, Any]] = {field: {} for field in Facets._fields}
    for field, value, count in database.rows(sql, *since, *condition.values, *tagged.values):
        found[str(field)][value] = count
    return Facets(**found)


def dates(database: Database, condition: Condition) -> Dates:
    """Count what passes the condition by the day it was made and the day it expires."""
    found: dict[str, dict[date, int]] = {}
    for field, column in (("made", "created_at"), ("expiring", "valid_until")):
        with database.translated():
            rows: Any = database.rows(DAYS.format(column, condition.sql), *condition.values)
            found[field] = {_day(number): count for number, count in rows}
    return Dates(**found)


def _day(number: Any) -> date:
    """Return a day by its number since 1970; raise BadRow if damage has left none."""
    try:
        return EPOCH + timedelta(days=number)
    except (TypeError, OverflowError) as error:
        raise BadRow("a day is not valid") from error
