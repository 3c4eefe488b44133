"""How many memories that pass a filter have each value, and when they were made and expire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

import apsw

from recollect.store.base import AGES, Dates, Facets
from recollect.store.sqlite.connection import Database
from recollect.times import moved, to_micros

DAY = 86_400_000_000  # microseconds
EPOCH = date(1970, 1, 1)


def facets(
    database: Database,
    condition: str,
    values: Sequence[apsw.SQLiteValue],
    most: int,
    now: datetime,
) -> Facets:
    """Count in SQL, without reading whole memories."""
    return Facets(
        project=_counted(database, "project", condition, values, most),
        kind=_counted(database, "kind", condition, values, most),
        source=_counted(database, "source", condition, values, most),
        tags=_tags(database, condition, values, most),
        age=_ages(database, condition, values, now),
    )


def _counted(
    database: Database, column: str, condition: str, values: Sequence[apsw.SQLiteValue], most: int
) -> dict[str, int]:
    sql = (
        f"SELECT m.{column}, count(*) FROM memories m WHERE {condition} AND m.{column} <> '' "
        "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"
    )
    return dict(database.rows(sql, *values, most))  # type: ignore[arg-type]


def _tags(
    database: Database, condition: str, values: Sequence[apsw.SQLiteValue], most: int
) -> dict[str, int]:
    """Tags that differ only in case count as one, under the spelling first in the alphabet."""
    sql = (
        "SELECT min(t.name), count(DISTINCT m.key) FROM memories m "
        "JOIN memory_tags mt ON mt.memory = m.key JOIN tags t ON t.key = mt.tag "
        f"WHERE {condition} GROUP BY t.topic ORDER BY 2 DESC, 1 LIMIT ?"
    )
    return dict(database.rows(sql, *values, most))  # type: ignore[arg-type]


def _ages(
    database: Database, condition: str, values: Sequence[apsw.SQLiteValue], now: datetime
) -> dict[str, int]:
    """One lookup in an index for each age."""
    sql = f"SELECT count(*) FROM memories m WHERE {condition} AND m.updated_at >= ?"
    found = {}
    for name, span in AGES.items():
        [(count,)] = database.rows(sql, *values, to_micros(moved(now, -span)))
        found[name] = int(str(count))
    return found


def dates(database: Database, condition: str, values: Sequence[apsw.SQLiteValue]) -> Dates:
    return Dates(
        _by_day(database, "created_at", condition, values),
        _by_day(database, "valid_until", condition, values),
    )


def _by_day(
    database: Database, column: str, condition: str, values: Sequence[apsw.SQLiteValue]
) -> dict[date, int]:
    # Division truncates towards zero; a day before 1970 has to be rounded down as well.
    sql = (
        f"SELECT (m.{column} - (m.{column} % {DAY} + {DAY}) % {DAY}) / {DAY}, count(*) "
        f"FROM memories m WHERE {condition} AND m.{column} IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    rows = database.rows(sql, *values)
    return {EPOCH + timedelta(days=int(day)): int(count) for day, count in rows}  # type: ignore[arg-type]
