"""Topics: memories by their tags."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.hashing import topic_hash
from recollect.store.base import Match
from recollect.types import Filter
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.filters import where

CARRYING = """
SELECT m.id, count(DISTINCT t.topic) AS matches
  FROM topics t JOIN memories m ON m.vault = vault() AND m.key = t.memory
 WHERE t.vault = vault() AND t.topic = ANY(%s) AND {condition}
 GROUP BY m.id, m.updated_at ORDER BY matches DESC, m.updated_at DESC, m.id LIMIT %s"""


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
