"""Topics: tags as keyed hashes, so that a lookup reads no words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

from msgspec.structs import replace

from recollect.errors import Damaged
from recollect.hashing import topic_hash
from recollect.query.fts5 import all_of
from recollect.store.base import KeywordIndexName, Match
from recollect.store.memory_rows import stored_id
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.filters import where
from recollect.store.sqlite.packed.indexes import PackedIndexes
from recollect.types import Filter

ANY_ARCHIVED = """
SELECT 1 FROM memories WHERE archived_at IS NOT NULL AND forgotten_at IS NULL LIMIT 1"""


class SqliteTopics:
    """Also what else a filter looks up."""

    def __init__(self, database: Database, packed: PackedIndexes) -> None:
        self._database = database
        self._packed = packed

    @cached_property
    def _key(self) -> bytes:
        for (key,) in self._database.rows("SELECT value FROM meta WHERE key = 'topic_key'"):
            with suppress(ValueError):
                return bytes.fromhex(str(key))
        raise Damaged(
            f"The vault {self._database.path} is damaged (its key for topics is missing); "
            "`recollect doctor --fix` repairs it."
        )

    def forget(self) -> None:
        """Drop the vault's key for topics."""
        self.__dict__.pop("_key", None)

    def hashed(self, word: str) -> bytes:
        """HMAC-SHA-256 of the lower-cased word under the vault's own key."""
        return topic_hash(self._key, word)

    def settled(self, filter: Filter) -> Filter:
        if filter.archived is None and self._database.rows(ANY_ARCHIVED):
            return replace(filter, archived=False)
        return filter

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> list[int] | None:
        """The keys of the memories of which an index's segments hold all of these words; None
        without segments."""
        with self._database.reading():
            packed = self._packed.search(index, all_of(words))
            return None if packed is None else packed.keys()

    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        if not self._database.rows("SELECT 1 FROM tags LIMIT 1"):
            return []
        hashes = as_json_list(self.hashed(word).hex() for word in dict.fromkeys(words))
        condition, values = where(filter, self)
        sql = f"""
            SELECT m.id, count(DISTINCT t.topic) AS matches
              FROM json_each(?) wanted
              JOIN tags t ON t.topic = unhex(wanted.value)
              JOIN memory_tags mt ON mt.tag = t.key
              JOIN memories m ON m.key = mt.memory
             WHERE {condition}
             GROUP BY m.key
             ORDER BY matches DESC, m.updated_at DESC, m.id
             LIMIT ?
            """
        with self._database.translated():
            rows = self._database.rows(sql, hashes, *values, limit)
            return [Match(stored_id(id), float(matches)) for id, matches in rows]  # type: ignore[arg-type]
