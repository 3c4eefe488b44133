"""Counts of uses: how often memories were returned, opened and accepted.

Some are in the vault, others pending: a memory's key with the kind of use, and a time.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.store.base import UseKind
from recollect.times import from_micros, to_micros
from recollect.types import Use

if TYPE_CHECKING:
    from recollect.store.vault import SqlDatabase

KINDS: tuple[UseKind, ...] = ("returned", "opened", "accepted", "taken back")
SECONDS = 60.0  # between two writes of counts
READ = """
SELECT m.id, m.key, u.returned, u.opened, u.accepted, u.last_at
  FROM memories m LEFT JOIN usage u ON {u.vault} AND u.memory = m.key
 WHERE {m.vault} AND m.id {among} AND m.forgotten_at IS NULL"""
TOTALS = """
SELECT count(*), coalesce(sum(returned), 0), coalesce(sum(opened), 0), coalesce(sum(accepted), 0)
  FROM usage u JOIN memories m ON {m.vault} AND m.key = u.memory AND m.forgotten_at IS NULL
 WHERE {u.vault}"""
NEW = """
SELECT count(*) FROM memories m
 WHERE {m.vault} AND m.key {among} AND m.forgotten_at IS NULL
   AND NOT EXISTS (SELECT 1 FROM usage u WHERE {u.vault} AND u.memory = m.key)"""

Counts = dict[int, list[int]]  # of a memory's key: returned, opened, accepted, when last


def summed(records: Iterable[tuple[int, int]]) -> Counts:
    """Return the counts of records, each 4 × the memory's key + the kind, and microseconds."""
    found: Counts = {}
    for number, at in records:
        key, kind = divmod(number, 4)
        counted = found.setdefault(key, [0, 0, 0, 0])
        if kind == KINDS.index("taken back"):
            counted[2] -= 1
        else:
            counted[kind] += 1
        counted[3] = max(counted[3], at)
    return found


class StoredUsage:
    """Counts of uses. Counting never writes by itself: the next write includes the counts, or a
    long-lived process writes them."""

    def __init__(self, database: SqlDatabase) -> None:
        self._read = database
        self._guard = threading.Lock()
        self._pending: list[tuple[int, int]] = []
        self._added = -SECONDS

    @property
    @abstractmethod
    def due(self) -> bool:
        """True if counts are pending and this process last wrote some over a minute ago, or
        never."""

    @abstractmethod
    def fold(self) -> None:
        """Write the pending counts. Raise StoreError if another process holds the write lock; the
        next call tries again."""

    @abstractmethod
    def settle(self) -> None:
        """Write all pending counts now if possible, before the table is read."""

    @abstractmethod
    def _keys(self, ids: Sequence[str]) -> list[int]: ...

    @abstractmethod
    def _waiting(self) -> Iterable[tuple[int, int]]:
        """Return the pending counts."""

    def count(self, kind: UseKind, ids: Sequence[str], at: datetime) -> list[int]:
        """Note a use of these memories; return their keys."""
        keys = self._keys(ids)
        number, moment = KINDS.index(kind), to_micros(at)
        with self._guard:
            self._pending += [(4 * key + number, moment) for key in keys]
        return keys

    def of(self, ids: Sequence[str]) -> dict[str, Use]:
        """Return the use of each of these live memories that was ever used."""
        found, waiting = {}, summed(self._waiting())
        for id, key, *stored in self._read.rows(self._read.sql(READ), self._read.listed(ids)):
            *counts, last_at = (count or 0 for count in stored)
            *more, last_waiting = waiting.get(key, (0, 0, 0, 0))
            if last := max(last_at, last_waiting):
                returned, opened, accepted = map(sum, zip(counts, more, strict=True))
                found[id] = Use(returned, opened, max(accepted, 0), from_micros(last))
        return found

    def totals(self) -> dict[str, int]:
        """Return how many memories were used, and how often in all."""
        [row] = self._read.rows(self._read.sql(TOTALS))
        counts = Counter(dict(zip(("memories", *KINDS), map(int, row), strict=False)))
        waiting = list(self._waiting())
        for number, _ in waiting:
            counts[KINDS[number % 4]] += 1
        keys = self._read.listed({number // 4 for number, _ in waiting})
        [(new,)] = self._read.rows(self._read.sql(NEW), keys)
        counts["memories"] += new
        accepted = counts["accepted"] - counts.pop("taken back", 0)
        return dict(counts) | {"accepted": max(accepted, 0)}
