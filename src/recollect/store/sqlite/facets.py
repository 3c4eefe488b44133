"""How many memories that pass a filter have each value, and when they were made and expire.

What the vault keeps counts of is read there; everything else is counted in SQL, without reading
whole memories.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from recollect.store.base import AGES, Dates, Facets
from recollect.store.sqlite.browsing import BROWSE_TIER
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.counts import DAY, DAY_OF, Scope
from recollect.store.sqlite.filters import Condition
from recollect.times import moved, to_micros

EPOCH = date(1970, 1, 1)
KEPT = "SELECT value, memories FROM counts WHERE scope = ? AND within = ? AND field = ?"
MOST_FIRST = "AND value <> '' ORDER BY memories DESC, value"
# Tags that differ only in case have one topic. The name is the first of those in use.
TAGS = f"""
    SELECT (SELECT min(t.name) FROM tags t WHERE t.topic = c.value AND EXISTS
               (SELECT 1 FROM memory_tags mt JOIN memories m ON m.key = mt.memory
                 WHERE mt.tag = t.key AND {{condition}})), c.memories
      FROM ({KEPT}) c ORDER BY 2 DESC, 1"""
LATER = f"SELECT coalesce(sum(memories), 0) FROM ({KEPT} AND value > ?)"
LAST_TIME = (1 << 63) - 1
BETWEEN = f"""
    SELECT count(*) FROM memories m WHERE {{condition}} AND {BROWSE_TIER} IN (0, 1, 2)
       AND m.updated_at BETWEEN ? AND ?"""
CHOSEN = """
    WITH chosen AS MATERIALIZED (
        SELECT m.key, m.project, m.kind, m.source, m.updated_at FROM memories m WHERE {condition}
    )"""
EACH = """
    SELECT * FROM (SELECT '{field}', {field}, count(*) FROM chosen WHERE {field} <> ''
     GROUP BY 2 ORDER BY 3 DESC, 2)"""
# SQLite does not know how few are chosen: CROSS JOIN reads their tags, and not those of all others.
TAGGED = """
    SELECT * FROM (SELECT 'tags', min(t.name), count(DISTINCT c.key) FROM chosen c
      {join} memory_tags mt ON mt.memory = c.key {join} tags t ON t.key = mt.tag
     GROUP BY t.topic ORDER BY 3 DESC, 2)"""
AGED = "SELECT 'age', ?, count(*) FROM chosen WHERE updated_at >= ?"
FIELDS = ("project", "kind", "source")


def facets(
    database: Database,
    scope: Scope | None,
    condition: Condition,
    now: datetime,
    *,
    by: str | None = None,
) -> Facets:
    """`by`: the column whose index the condition goes along; None where it reads all memories."""
    since = {age: to_micros(moved(now, -span)) for age, span in AGES.items()}
    with database.reading():
        if scope is None:
            return _counted(database, condition, since, "CROSS JOIN" if by else "JOIN")
        return _kept(database, scope, condition, since)


def _kept(database: Database, scope: Scope, condition: Condition, since: dict[str, int]) -> Facets:
    found: dict[str, Any] = {
        field: dict(database.rows(f"{KEPT} {MOST_FIRST}", *scope, field))  # type: ignore[arg-type]
        for field in FIELDS
    }
    tags = TAGS.format(condition=condition.sql)
    found["tags"] = dict(database.rows(tags, *condition.values, *scope, "tags"))  # type: ignore[arg-type]
    found["age"] = {
        age: _changed(database, scope, condition, start) for age, start in since.items()
    }
    return Facets(**found)


def _changed(database: Database, scope: Scope, condition: Condition, start: int) -> int:
    """How many memories were changed since: whole days are kept, for the whole vault; the rest is a
    range of an index for each tier."""
    [(later,)] = database.rows(LATER, *scope, "changed", start // DAY)
    end = LAST_TIME if scope.scope else (start // DAY + 1) * DAY - 1
    rest = BETWEEN.format(condition=condition.sql)
    [(same,)] = database.rows(rest, *condition.values, start, end)
    return int(str(later)) + int(str(same))


def _counted(database: Database, condition: Condition, since: dict[str, int], join: str) -> Facets:
    """Read what passes the filter once."""
    parts = [EACH.format(field=field) for field in FIELDS]
    parts += [TAGGED.format(join=join), *(AGED for _ in since)]
    sql = CHOSEN.format(condition=condition.sql) + " UNION ALL ".join(parts)
    ages = [value for age in since.items() for value in age]
    found: dict[str, dict[Any, Any]] = {field: {} for field in Facets._fields}
    for field, value, count in database.rows(sql, *condition.values, *ages):
        found[str(field)][value] = count
    return Facets(**found)


def dates(database: Database, scope: Scope | None, condition: Condition) -> Dates:
    columns = {"made": "created_at", "expiring": "valid_until"}
    found: dict[str, dict[date, int]] = {}
    for field, column in columns.items():
        if scope is not None:
            rows = database.rows(f"{KEPT} ORDER BY value", *scope, field)
        else:
            sql = (
                f"SELECT {DAY_OF.format(column)}, count(*) FROM memories m "
                f"WHERE {condition.sql} AND m.{column} IS NOT NULL GROUP BY 1 ORDER BY 1"
            )
            rows = database.rows(sql, *condition.values)
        found[field] = {EPOCH + timedelta(days=int(day)): int(count) for day, count in rows}  # type: ignore[arg-type]
    return Dates(**found)
