"""How often memories were of use: returned by a search, opened, accepted.

Counts stay in memory until a write that happens anyway takes them along, at most once a minute, or
until the vault is closed. A process that is killed loses the counts of its last minute.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from recollect.errors import StoreError
from recollect.store.base import UseKind
from recollect.store.postgres.database import PostgresDatabase
from recollect.store.postgres.memories import PostgresMemories
from recollect.store.postgres.pool import Connection
from recollect.store.use_counts import KINDS, SECONDS, numbered, summed, used
from recollect.types import Use

KEYS = "SELECT key FROM memories WHERE vault = vault() AND id = ANY(%s)"
READ = """
SELECT m.id, m.key, u.returned, u.opened, u.accepted, u.last_at
  FROM memories m LEFT JOIN usage u ON u.vault = m.vault AND u.memory = m.key
 WHERE m.vault = vault() AND m.id = ANY(%s) AND m.forgotten_at IS NULL"""
# In the order of their keys, so that two servers that add to the same memories wait in turn.
ADD = """
INSERT INTO usage AS u
SELECT vault(), m.key, t.returned, t.opened, greatest(t.accepted, 0), t.last_at
  FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
       AS t (key, returned, opened, accepted, last_at)
  JOIN memories m ON m.vault = vault() AND m.key = t.key ORDER BY m.key
    ON CONFLICT (vault, memory) DO UPDATE
   SET returned = u.returned + excluded.returned, opened = u.opened + excluded.opened,
       accepted = u.accepted + excluded.accepted, last_at = greatest(u.last_at, excluded.last_at)"""
TAKE_BACK = """
UPDATE usage u SET accepted = greatest(u.accepted + t.accepted, 0)
  FROM unnest(%s::bigint[], %s::bigint[]) AS t (key, accepted)
 WHERE u.vault = vault() AND u.memory = t.key"""
TOTALS = """
SELECT count(*), coalesce(sum(returned), 0)::bigint, coalesce(sum(opened), 0)::bigint,
       coalesce(sum(accepted), 0)::bigint
  FROM usage u JOIN memories m ON m.vault = u.vault AND m.key = u.memory
 WHERE u.vault = vault() AND m.forgotten_at IS NULL"""
NEW = """
SELECT count(*) FROM memories m WHERE m.vault = vault() AND m.key = ANY(%s)
   AND m.forgotten_at IS NULL AND NOT EXISTS
       (SELECT 1 FROM usage u WHERE u.vault = vault() AND u.memory = m.key)"""


class PostgresUsage:
    def __init__(self, database: PostgresDatabase, memories: PostgresMemories) -> None:
        self._database = database
        self._memories = memories
        self._guard = threading.Lock()
        self._pending: list[tuple[int, int]] = []
        self._added = -SECONDS

    def count(self, kind: UseKind, ids: Sequence[str], at: datetime) -> list[int]:
        if self._database.primary_is_away:
            return []  # no answer of a replica waits for that
        known = self._memories.keys  # a search has just read them
        keys = [known[id] for id in ids if id in known]
        if len(keys) < len(ids):
            with self._database.without_waiting():
                keys = [key for (key,) in self._database.rows(KEYS, [*ids])]
        with self._guard:
            self._pending += numbered(kind, keys, at)
        return keys

    def of(self, ids: Sequence[str]) -> dict[str, Use]:
        waiting = summed(self._waiting())
        found = {}
        for id, key, *counts in self._database.rows(READ, [*ids]):
            if use := used([count or 0 for count in counts], waiting.get(key)):
                found[id] = use
        return found

    def totals(self) -> dict[str, int]:
        [row] = self._database.rows(TOTALS)
        counts = Counter(dict(zip(("memories", *KINDS), row, strict=False)))
        waiting = self._waiting()
        for number, _ in waiting:
            counts[KINDS[number % 4]] += 1
        [(new,)] = self._database.rows(NEW, [*{number // 4 for number, _ in waiting}])
        counts["memories"] += new
        accepted = counts["accepted"] - counts.pop("taken back", 0)
        return dict(counts) | {"accepted": max(accepted, 0)}

    @property
    def due(self) -> bool:
        """Whether there is anything to take into the vault, and this process did so a minute ago or
        never."""
        return bool(self._pending) and time.monotonic() - self._added >= SECONDS

    def fold(self) -> None:
        """Take what was counted into the vault."""
        with self._database.writing(patient=False) as connection:
            self.add_to(connection)

    def settle(self) -> None:
        """Take everything into the vault now, for whoever reads the table, as far as that is
        possible."""
        if self._pending:
            with suppress(StoreError):
                self.fold()

    def add_to(self, connection: Connection) -> None:
        """The same as a part of a write."""
        with self._guard:
            pending, self._pending = self._pending, []
        counts = summed(pending)
        if counts:
            columns = [[*column] for column in zip(*counts.values(), strict=True)]
            connection.execute(ADD, ([*counts], *columns))
            back = {key: one[2] for key, one in counts.items() if one[2] < 0}
            if back:
                connection.execute(TAKE_BACK, ([*back], [*back.values()]))
        self._added = time.monotonic()

    def close(self) -> None:
        """Leave nothing in memory."""
        if not self._database.frozen:
            self.settle()

    def _waiting(self) -> list[tuple[int, int]]:
        """What is not in the vault yet."""
        with self._guard:
            return list(self._pending)
