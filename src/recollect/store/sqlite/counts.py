"""How many live memories have each value: kept in the vault, so that nobody reads them to know.

Counted over the whole vault, over each project and over each kind. Every write adds up what it
changes, and applies the sums at its end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.store.sqlite.checksums import TAGS
from recollect.times import to_micros
from recollect.types import Filter, Memory

DAY = 86_400_000_000  # microseconds
# Division truncates towards zero; a day before 1970 has to be rounded down as well.
DAY_OF = f"(m.{{0}} - (m.{{0}} % {DAY} + {DAY}) % {DAY}) / {DAY}"
# A table scan: an index may be what is damaged.
LIVE = f"""
    SELECT m.project, m.kind, m.source, m.tier, {DAY_OF.format("created_at")},
           {DAY_OF.format("updated_at")}, {DAY_OF.format("valid_until")}, {TAGS}
      FROM memories m NOT INDEXED WHERE m.forgotten_at IS NULL"""
COUNT_FORGOTTEN = "SELECT count(*) FROM memories NOT INDEXED WHERE forgotten_at IS NOT NULL"
ADD = """
    INSERT INTO counts VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET memories = memories + excluded.memories"""
GONE = """
    DELETE FROM counts WHERE scope = ? AND within = ? AND field = ? AND value = ?
       AND memories <= 0"""
AT_ONCE = 10_000  # memories whose values are in memory at a time: some megabytes

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
    if filter.project is not None and filter == Filter(project=filter.project):
        return Scope("project", filter.project)
    if filter.kind is not None and filter == Filter(kind=filter.kind):
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
        added, removed = Tally(self._hashed), Tally(self._hashed)
        added.add(self._added)
        removed.add(self._removed)
        change = added.totals()
        for key, count in removed.totals().items():
            change[key] = change.get(key, 0) - count
        change[FORGOTTEN] = self.forgotten
        connection.executemany(ADD, [(*key, by) for key, by in change.items() if by])
        connection.executemany(GONE, [key for key, by in change.items() if by < 0])


def fill(connection: apsw.Connection, hashed: TopicHash) -> None:
    """Within a transaction, count everything anew."""
    connection.execute("DELETE FROM counts")
    rows = sorted((*key, count) for key, count in _counted(connection, hashed).items())
    connection.executemany(ADD, rows)


def counts_problem(connection: apsw.Connection, hashed: TopicHash) -> str | None:
    """How many counts are not what the memories say."""
    real = {(*key, count) for key, count in _counted(connection, hashed).items()}
    differing = real.symmetric_difference(connection.execute("SELECT * FROM counts"))
    wrong = len({row[:-1] for row in differing})
    return f"{wrong} counts are wrong" if wrong else None


class Tally:
    """How many memories have each value."""

    def __init__(self, hashed: TopicHash) -> None:
        known = cache(hashed)
        # The tags of other memories come again and again.
        self._topics = cache(lambda tags: frozenset(map(known, tags)))
        self._pairs: defaultdict[tuple[str, str], Counter[tuple[str, Any]]] = defaultdict(Counter)

    def add(self, rows: Sequence[CountedValues]) -> None:
        if not rows:
            return
        *columns, tags = zip(*rows, strict=True)
        tagged = [*map(self._topics, tags)]
        for scope, within in (
            ("", [""] * len(rows)),
            ("project", columns[0]),
            ("kind", columns[1]),
        ):
            topics = ((w, t) for w, some in zip(within, tagged, strict=True) for t in some)
            self._pairs[scope, "tags"].update(topics)
            for field, values in zip(CountedValues._fields, columns, strict=False):
                if not scope or field != "changed":  # many days; the scope's index has them
                    self._pairs[scope, field].update(zip(within, values, strict=True))

    def totals(self) -> dict[CountKey, int]:
        return {
            (scope, within, field, value): count
            for (scope, field), counted in self._pairs.items()
            for (within, value), count in counted.items()
            if value is not None
        }


def _counted(connection: apsw.Connection, hashed: TopicHash) -> dict[CountKey, int]:
    """The counts as they should be."""
    tally, live = Tally(hashed), _live(connection)
    while rows := [*islice(live, AT_ONCE)]:
        tally.add(rows)
    forgotten = int(connection.execute(COUNT_FORGOTTEN).get)
    return tally.totals() | ({FORGOTTEN: forgotten} if forgotten else {})


def _live(connection: apsw.Connection) -> Iterator[CountedValues]:
    decode = msgspec.json.Decoder(tuple[str, ...]).decode
    for row in connection.execute(LIVE):
        yield (*row[:-1], decode(str(row[-1])))  # type: ignore[misc]


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
