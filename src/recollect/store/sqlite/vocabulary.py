"""How many live memories hold each TF-IDF token: kept in step inside every write."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

import apsw

from recollect.query.terms import semantic_text, tokens
from recollect.store.sqlite.connection import Database
from recollect.types import Memory


def memory_tokens(memory: Memory) -> set[str]:
    return set(tokens(semantic_text(memory)))


class SqliteVocabulary:
    def __init__(self, database: Database) -> None:
        self._database = database

    def documents(self) -> int:
        [(count,)] = self._database.rows("SELECT documents FROM corpus")
        assert isinstance(count, int)
        return count

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        wanted = json.dumps(list(tokens), ensure_ascii=False)
        rows = self._database.rows(
            "SELECT v.token, v.documents FROM json_each(?) j "
            "CROSS JOIN vocabulary v ON v.token = j.value",
            wanted,
        )
        return dict(rows)  # type: ignore[arg-type]


class VocabularyChange:
    """What one write adds to and takes from the vocabulary, applied once at its end."""

    def __init__(self) -> None:
        self._change: Counter[str] = Counter()

    def add(self, memory: Memory) -> None:
        self._change.update(memory_tokens(memory))

    def remove(self, memory: Memory) -> None:
        self._change.subtract(memory_tokens(memory))

    def apply(self, connection: apsw.Connection) -> None:
        changed = [(token, by) for token, by in self._change.items() if by]
        if not changed:
            return
        changed.sort()  # neighbours in the tree are written together
        connection.executemany(
            "INSERT INTO vocabulary VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET documents = documents + excluded.documents",
            changed,
        )
        if any(by < 0 for _, by in changed):
            connection.execute("DELETE FROM vocabulary WHERE documents <= 0")
