"""A Filter as SQL: one translation for every channel, so that a filter holds before any limit; and
memories by their tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from recollect.hashing import topic_hash
from recollect.store.base import ANYWHERE, Match
from recollect.store.memory_rows import Conditions
from recollect.types import Filter
from recollect_postgres.database import PostgresDatabase

if TYPE_CHECKING:
    from recollect_postgres.pool import Connection

TAGGED = (
    "EXISTS (SELECT 1 FROM topics t WHERE t.vault = vault() AND t.memory = m.key AND t.topic = %s)"
)
# That a memory has not changed since a write.
UNCHANGED = (
    "NOT EXISTS (SELECT 1 FROM versions v "
    "WHERE v.vault = vault() AND v.memory = m.key AND v.write > %s)"
)
CARRYING = """
SELECT m.id, count(DISTINCT t.topic) AS matches
  FROM topics t JOIN memories m ON m.vault = vault() AND m.key = t.memory
 WHERE t.vault = vault() AND t.topic = ANY(%s) AND {condition}
 GROUP BY m.id, m.updated_at ORDER BY matches DESC, m.updated_at DESC, m.id LIMIT %s"""


class SqlCondition(NamedTuple):
    sql: str
    values: list[Any]


def settled(filter: Filter, database: PostgresDatabase, connection: Connection) -> Filter:
    """The filter, with `archived` False where the vault has archived memories that it leaves out:
    where there are none, no search pays for them."""
    if filter == Filter() and database.facts(connection).any_archived:
        return replace(filter, archived=False)
    return filter


def where(filter: Filter, database: PostgresDatabase, *, forgotten: bool = False) -> SqlCondition:
    """A condition on the memories table, named `m`, and its values. `forgotten`: only what is in
    the trash passes."""
    made = Conditions("%s")
    made.add("m.vault = vault()")
    made.add(f"m.forgotten_at IS {'NOT ' if forgotten else ''}NULL")
    if not forgotten and not filter.archived:
        made.add("m.archived_at IS NULL")
    made.columns(filter)
    made.times(filter)
    made.tags(filter, TAGGED, str.lower)
    if filter.holding:
        made.add("m.key = ANY(%s)", database.words.holding(("stemmed",), filter.holding))
    for words in filter.without:
        each = [set(database.words.holding(ANYWHERE, [word])) for word in words]
        made.add("m.key <> ALL(%s)", sorted(set.intersection(*each)))
    if filter.among is not None:
        made.add("m.id = ANY(%s)", [*filter.among])
    if filter.unchanged_since is not None:
        made.add(UNCHANGED, filter.unchanged_since)
    return SqlCondition(" AND ".join(made.parts), made.values)


class PostgresTopics:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def hashed(self, word: str) -> bytes:
        return topic_hash(self._database.secret, word)

    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        topics = sorted({word.lower() for word in words if "\0" not in word})
        condition, values = where(filter, self._database)
        sql = CARRYING.format(condition=condition)
        rows = self._database.rows(sql, topics, *values, limit)
        return [Match(id, float(matches)) for id, matches in rows]
