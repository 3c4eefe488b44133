"""How many live memories have each value: kept in the vault, so that nobody reads them to know.

Counted over the whole vault, over each project and over each kind. Every write adds up what it
changes, and applies the sums at its end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any

import apsw
import msgspec

from recollect.named_tuples import NamedTuple
from recollect.store.sqlite.checksums import FIELDS, RAW_TAGS, STEP, TAGS, RawMemory
from recollect.times import to_micros
from recollect.types import Filter, Memory

DAY = 86_400_000_000  # microseconds
# Division truncates towards zero; a day before 1970 has to be rounded down as well.
DAY_OF = f"(m.{{0}} - (m.{{0}} % {DAY} + {DAY}) % {DAY}) / {DAY}"
# Where a row of all memories has what is counted.
_COUNTED = ("project", "kind", "source", "tier", "created_at", "updated_at", "valid_until")
COUNTED = itemgetter(*map(FIELDS.index, _COUNTED), RAW_TAGS)
FORGOTTEN_AT = FIELDS.index("forgotten_at")
_READ = (*_COUNTED, "forgotten_at")
# The same row without what is not counted, which a vault that is being migrated may not have yet.
BY_ROW = f"""
    SELECT {", ".join(f"m.{name}" if name in _READ else "NULL" for name in FIELDS)}, {TAGS}
      FROM memories m"""
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
    tally = Tally(hashed)
    found = iter(connection.execute(BY_ROW))
    while rows := [*islice(found, STEP)]:
        tally.read(rows)
    connection.execute("DELETE FROM counts")
    connection.executemany(ADD, sorted((*key, by) for key, by in tally.totals().items()))


def counts_problem(connection: apsw.Connection, real: Mapping[CountKey, int]) -> str | None:
    """How many counts are not what the memories say."""
    rows = {(*key, count) for key, count in real.items()}
    differing = rows.symmetric_difference(connection.execute("SELECT * FROM counts"))
    wrong = len({row[:-1] for row in differing})
    return f"{wrong} counts are wrong" if wrong else None


class Tally:
    """How many memories have each value. The four that have few values are counted together and
    taken apart at the end, and what the whole vault has is what its kinds have."""

    def __init__(self, hashed: TopicHash) -> None:
        known = cache(hashed)
        # The tags of other memories come again and again, as JSON or as words.
        self._topics = cache(lambda tags: frozenset(map(known, _tags(tags))))
        self._fixed: Counter[tuple[str, ...]] = Counter()
        self._pairs: defaultdict[tuple[str, str], Counter[tuple[str, Any]]] = defaultdict(Counter)
        self._changed: Counter[int] = Counter()
        self._forgotten = 0

    def add(self, rows: Sequence[CountedValues]) -> None:
        if rows:
            self._add(*zip(*rows, strict=True))

    def read(self, rows: Sequence[RawMemory]) -> None:
        """Add memories as `checksums.RAW` has them, forgotten ones too. Nothing that is damaged
        raises: it counts as something else."""
        live = [row for row in rows if row[FORGOTTEN_AT] is None]
        self._forgotten += len(rows) - len(live)
        if live:
            columns = [*zip(*map(COUNTED, live), strict=True)]
            texts = [[*map(_text, column)] for column in columns[:4]]
            self._add(*texts, *map(_days, columns[4:-1]), columns[-1])

    def _add(self, *columns: Sequence[Any]) -> None:
        projects, kinds, sources, tiers, made, changed, expiring, tags = columns
        self._fixed.update(zip(projects, kinds, sources, tiers, strict=True))
        self._changed.update(changed)
        tagged = [*map(self._topics, tags)]
        topics, sizes = [*chain.from_iterable(tagged)], [*map(len, tagged)]
        for scope, within in (("project", projects), ("kind", kinds)):
            of_each = chain.from_iterable(map(repeat, within, sizes))
            self._pairs[scope, "tags"].update(zip(of_each, topics, strict=True))
            self._pairs[scope, "made"].update(zip(within, made, strict=True))
            self._pairs[scope, "expiring"].update(zip(within, expiring, strict=True))

    def totals(self) -> dict[CountKey, int]:
        found: Counter[CountKey] = Counter()
        for values, count in self._fixed.items():
            for field, value in zip(CountedValues._fields, values, strict=False):
                found["", "", field, value] += count
                found["project", values[0], field, value] += count
                found["kind", values[1], field, value] += count
        for (scope, field), counted in self._pairs.items():
            for (within, value), count in counted.items():
                found[scope, within, field, value] = count
                if scope == "kind":
                    found["", "", field, value] += count
        # Of the whole vault alone: they are many days, and the index of a scope has them.
        for day, count in self._changed.items():
            found["", "", "changed", day] = count
        found[FORGOTTEN] = self._forgotten
        return {key: count for key, count in found.items() if count and key[-1] is not None}


@lru_cache(4096)  # few are different
def _text(raw: object) -> str:
    return raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)


def _days(moments: Sequence[object]) -> list[int | None]:
    return [at // DAY if isinstance(at, int) else None for at in moments]


def _tags(raw: bytes | str | tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(raw, tuple):
        return raw
    try:
        return msgspec.json.decode(raw, type=tuple[str, ...])
    except ValueError:  # damaged
        return ()


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
