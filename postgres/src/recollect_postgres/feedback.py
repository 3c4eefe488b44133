"""Feedback on results with the vectors of its queries, and counts of use: how often memories were
returned by a search, opened, accepted.

Counts of use stay in memory until another write takes them along, at most once a minute, or until
the vault is closed. A process that is killed loses those of its last minute.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.deadline import without_waiting
from recollect.errors import StoreError
from recollect.store.feedback import (
    EVENT,
    NARROWER,
    SECONDS,
    StoredFeedback,
    StoredUsage,
    sum_records,
)
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.memories import PostgresMemories
from recollect_postgres.pool import Connection

if TYPE_CHECKING:
    from recollect.store.base import Vector

STANDING = f"""
SELECT DISTINCT ON (words, memory_id) words, query, memory_id, accepted, given_at, key
  FROM feedback WHERE vault = vault() {NARROWER} ORDER BY words, memory_id, key DESC"""
QUESTIONS = f"""
SELECT {EVENT} FROM (
    SELECT DISTINCT ON (words) * FROM ({STANDING.replace(NARROWER, "")}) AS standing
     WHERE accepted AND key > coalesce((SELECT value::bigint FROM meta
            WHERE meta.vault = vault() AND meta.key = ?), 0) ORDER BY words, key DESC) AS last
 ORDER BY key"""
UNEMBEDDED = """
SELECT words, (array_agg(query ORDER BY key DESC))[1] FROM feedback f
 WHERE vault = vault() AND NOT EXISTS (SELECT 1 FROM feedback_vectors v
        WHERE v.vault = vault() AND v.model = ? AND v.words = f.words)
 GROUP BY words ORDER BY max(key) DESC LIMIT ?"""
EMBED = """
INSERT INTO feedback_vectors (vault, model, words, vector)
SELECT vault(), %s, * FROM unnest(%s::text[], %s::bytea[])
    ON CONFLICT (vault, model, words) DO UPDATE
   SET vector = excluded.vector, key = DEFAULT"""
KEYS = "SELECT key FROM memories WHERE vault = vault() AND id = ANY(%s)"
# In the order of their keys, so that two servers that update the same memories cannot deadlock.
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


class PostgresFeedback(StoredFeedback):
    STANDING, QUESTIONS = STANDING, QUESTIONS

    def list_unembedded(self, identity: str, limit: int) -> dict[str, str]:
        return dict(self._rows(UNEMBEDDED, identity, limit))

    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        with self._read.writing() as connection:
            halves = [vector.astype("<f2").tobytes() for vector in vectors.values()]
            connection.execute(EMBED, (identity, [*vectors], halves))


class PostgresUsage(StoredUsage):
    def __init__(self, database: PostgresDatabase, memories: PostgresMemories) -> None:
        super().__init__(database)
        self._database = database
        self._memories = memories

    def _keys(self, ids: Sequence[str]) -> list[int]:
        if self._database.primary_is_away:
            return []  # a response from a replica must not wait for the primary
        known = self._memories.keys  # a search has just read them
        keys = [known[id] for id in ids if id in known]
        if len(keys) < len(ids):
            with self._database.without_waiting():
                keys = [key for (key,) in self._database.rows(KEYS, [*ids])]
        return keys

    @property
    def due(self) -> bool:
        return bool(self._pending) and time.monotonic() - self._added >= SECONDS

    def fold(self) -> None:
        with without_waiting(), self._database.writing() as connection:
            self.add_to(connection)

    def settle(self) -> None:
        if self._pending:
            with suppress(StoreError):
                self.fold()

    def add_to(self, connection: Connection) -> None:
        """Write the counts as part of another write."""
        with self._guard:
            pending, self._pending = self._pending, []
        counts = sum_records(pending)
        if counts:
            columns = [[*column] for column in zip(*counts.values(), strict=True)]
            connection.execute(ADD, ([*counts], *columns))
            back = {key: one[2] for key, one in counts.items() if one[2] < 0}
            if back:
                connection.execute(TAKE_BACK, ([*back], [*back.values()]))
        self._added = time.monotonic()

    def close(self) -> None:
        """Write what is in memory."""
        if not self._database.frozen:
            self.settle()

    def _waiting(self) -> list[tuple[int, int]]:
        with self._guard:
            return list(self._pending)
