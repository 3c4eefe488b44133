"""A Filter as SQL: one translation for every channel, so that a filter holds before any limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from recollect.named_tuples import NamedTuple
from recollect.store.base import KeywordIndexName
from recollect.times import to_micros
from recollect.types import Filter

if TYPE_CHECKING:
    from recollect.store.postgres.database import PostgresDatabase

EQUAL = ("project", "source", "domain", "kind", "space", "severity", "tier")
TIMES = {
    "since": "m.updated_at >= %s",
    "until": "m.updated_at <= %s",
    "made_since": "m.created_at >= %s",
    "made_before": "m.created_at < %s",
}
TAGGED = (
    "EXISTS (SELECT 1 FROM topics t WHERE t.vault = vault() AND t.memory = m.key AND t.topic = %s)"
)
# That the memory with this key has not changed since a write.
UNCHANGED = (
    "NOT EXISTS (SELECT 1 FROM versions v "
    "WHERE v.vault = vault() AND v.memory = {key} AND v.write > %s)"
)

# The keys of those that have.
CHANGED = "SELECT DISTINCT memory FROM versions WHERE vault = vault() AND write > %s"
ANYWHERE: tuple[KeywordIndexName, ...] = ("stemmed", "details")  # together they hold every field
ANY_ARCHIVED = """
SELECT 1 FROM memories
 WHERE vault = vault() AND archived_at IS NOT NULL AND forgotten_at IS NULL LIMIT 1"""


class SqlCondition(NamedTuple):
    sql: str
    values: list[Any]


def settled(filter: Filter, database: PostgresDatabase) -> Filter:
    """The filter, with `archived` False where the vault has archived memories that it leaves out:
    where there are none, no search pays for them."""
    if filter.archived is None and database.once("any archived", lambda: _any_archived(database)):
        return replace(filter, archived=False)
    return filter


def _any_archived(database: PostgresDatabase) -> bool:
    return bool(database.rows(ANY_ARCHIVED))


def where(filter: Filter, database: PostgresDatabase, *, forgotten: bool = False) -> SqlCondition:
    """A condition on the memories table, named `m`, and its values. `forgotten`: only what is in
    the trash passes."""
    parts = ["m.vault = vault()", f"m.forgotten_at IS {'NOT ' if forgotten else ''}NULL"]
    if not forgotten and not filter.archived:
        parts.append("m.archived_at IS NULL")
    values: list[Any] = []
    for column in EQUAL:
        wanted = getattr(filter, column)
        if wanted is not None:
            parts.append(f"m.{column} = %s")
            values.append(wanted)
    for name, condition in TIMES.items():
        moment = getattr(filter, name)
        if moment is not None:
            parts.append(condition)
            values.append(to_micros(moment))
    for no, tags in (("", filter.tags), ("NOT ", filter.without_tags)):
        parts += [no + TAGGED] * len(tags)
        values += [tag.lower() for tag in tags]
    if filter.valid_at is not None:
        parts.append("(m.valid_from IS NULL OR m.valid_from <= %s)")
        parts.append("(m.valid_until IS NULL OR m.valid_until > %s)")
        values += (to_micros(filter.valid_at),) * 2
    if filter.holding:
        parts.append("m.key = ANY(%s)")
        values.append(database.words.holding(("stemmed",), filter.holding))
    for words in filter.without:
        each = [set(database.words.holding(ANYWHERE, [word])) for word in words]
        parts.append("m.key <> ALL(%s)")
        values.append(sorted(set.intersection(*each)))
    for column, unwanted in (("kind", filter.without_kinds), ("project", filter.without_projects)):
        if unwanted:
            parts.append(f"m.{column} <> ALL(%s)")
            values.append([*unwanted])
    if filter.among is not None:
        parts.append("m.id = ANY(%s)")
        values.append([*filter.among])
    if filter.unchanged_since is not None:
        parts.append(UNCHANGED.format(key="m.key"))
        values.append(filter.unchanged_since)
    return SqlCondition(" AND ".join(parts), values)
