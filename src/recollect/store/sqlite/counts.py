"""How many live memories have each value: kept in the vault, so that nobody reads them to know.

Counted over the whole vault, over each project and over each kind. Every write adds up what it
changes, and applies the sums at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Any

import apsw
import msgspec

from recollect.named_tuples import NamedTuple
from recollect.times import to_micros
from recollect.types import Filter, Memory

DAY = 86_400_000_000  # microseconds
# Division truncates towards zero; a day before 1970 has to be rounded down as well.
DAY_OF = f"(m.{{0}} - (m.{{0}} % {DAY} + {DAY}) % {DAY}) / {DAY}"
ADD = """
    INSERT INTO counts VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET memories = memories + excluded.memories"""
GONE = """
    DELETE FROM counts WHERE scope = ? AND within = ? AND field = ? AND value = ?
       AND memories <= 0"""

TopicHash = Callable[[str], bytes]
# Scope, within, field and value. Fields are those of CountedValues, and `forgotten`. The value of a
# tag is its topic, that of a time the number of its day since 1970.
CountKey = tuple[str, str, str, str | int | bytes]
FORGOTTEN: CountKey = ("", "", "forgotten", "")


class Scope(NamedTuple):
    """What is counted together: everything, or what is within one project or kind."""

    scope: str = ""
    within: str = ""


class CountedValues(NamedTuple):
    """What is counted of a memory."""

    project: str
    kind: str
    source: str
    tier: str
    made: int
    changed: int
    expiring: int | None
    tags: tuple[str, ...]


def scope_of(filter: Filter) -> Scope | None:
    """Where the counts of what passes the filter are kept; None where they are not."""
    if filter.archived:  # the counts are of all
        filter = msgspec.structs.replace(filter, archived=None)
    if filter == Filter():
        return Scope()
    if isinstance(filter.project, str) and filter == Filter(project=filter.project):
        return Scope("project", filter.project)
    if isinstance(filter.kind, str) and filter == Filter(kind=filter.kind):
        return Scope("kind", filter.kind)
    return None


class CountsChange:
    """The changes of one write, applied once at its end."""

    def __init__(self, hashed: TopicHash) -> None:
        self._hashed = hashed
        self._added: list[CountedValues] = []
        self._removed: list[CountedValues] = []
        self.forgotten = 0

    def add(self, memory: Memory) -> None:
        self._added.append(_values(memory))

    def remove(self, memory: Memory) -> None:
        self._removed.append(_values(memory))

    def apply(self, connection: apsw.Connection) -> None:
        change = _totals(self._added, self._hashed)
        for key, count in _totals(self._removed, self._hashed).items():
            change[key] = change.get(key, 0) - count
        change[FORGOTTEN] = self.forgotten
        connection.executemany(ADD, [(*key, by) for key, by in change.items() if by])
        connection.executemany(GONE, [key for key, by in change.items() if by < 0])


def _totals(rows: Sequence[CountedValues], hashed: TopicHash) -> dict[CountKey, int]:
    """How many of these memories have each value. The four that have few values are counted
    together and taken apart at the end, and what the whole vault has is what its kinds have."""
    if not rows:
        return {}
    projects, kinds, sources, tiers, made, changed, expiring, tags = zip(*rows, strict=True)
    topic = cache(hashed)
    of_tags = cache(lambda tags: frozenset(map(topic, tags)))  # those of others come again
    tagged = [*map(of_tags, tags)]
    topics, sizes = [*chain.from_iterable(tagged)], [*map(len, tagged)]
    found: Counter[CountKey] = Counter()
    for values, count in Counter(zip(projects, kinds, sources, tiers, strict=True)).items():
        for field, value in zip(CountedValues._fields, values, strict=False):
            found["", "", field, value] += count
            found["project", values[0], field, value] += count
            found["kind", values[1], field, value] += count
    for scope, within in (("project", projects), ("kind", kinds)):
        pairs: dict[str, Iterable[tuple[str, Any]]] = {
            "tags": zip(chain.from_iterable(map(repeat, within, sizes)), topics, strict=True),
            "made": zip(within, made, strict=True),
            "expiring": zip(within, expiring, strict=True),
        }
        for field, counted in pairs.items():
            for (owner, value), count in Counter(counted).items():
                found[scope, owner, field, value] = count
                if scope == "kind":
                    found["", "", field, value] += count
    # Of the whole vault alone: they are many days, and the index of a scope has them.
    for day, count in Counter(changed).items():
        found["", "", "changed", day] = count
    return {key: count for key, count in found.items() if key[-1] is not None}


def _values(memory: Memory) -> CountedValues:
    made, changed, expires = memory.created_at, memory.updated_at, memory.valid_until
    return CountedValues(
        memory.project,
        memory.kind,
        memory.source,
        memory.tier,
        to_micros(made) // DAY,
        to_micros(changed) // DAY,
        None if expires is None else to_micros(expires) // DAY,
        memory.tags,
    )
