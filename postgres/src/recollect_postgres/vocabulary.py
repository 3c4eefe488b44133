"""The number of live memories that contain each TF-IDF token, updated inside every write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.store.sqlite.connection import LAST
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.pool import Connection

LOOK_UP = "SELECT token, documents FROM vocabulary WHERE vault = vault() AND token = ANY(%b)"
BEGINNING = """
SELECT token, documents FROM vocabulary
 WHERE vault = vault() AND token >= %s AND token < %s AND length(token) BETWEEN %s AND %s"""
ADD = """
INSERT INTO vocabulary SELECT vault(), * FROM unnest(%b::text[], %b::bigint[])
    ON CONFLICT (vault, token)
    DO UPDATE SET documents = vocabulary.documents + excluded.documents"""
REMOVE = """
DELETE FROM vocabulary WHERE vault = vault() AND token = ANY(%b::text[]) AND documents <= 0"""


class PostgresVocabulary:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def documents(self) -> int:
        with self._database.reading() as connection:
            return self._database.facts(connection).documents

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        wanted = sorted({token for token in tokens if "\0" not in token})
        return dict(self._database.rows(LOOK_UP, wanted)) if wanted else {}

    def beginning(self, start: str, shortest: int, longest: int) -> dict[str, int]:
        if "\0" in start:
            return {}
        asked = (start, start + LAST, shortest, longest)
        return dict(self._database.rows(BEGINNING, *asked))


def add_counts(connection: Connection, counts: Mapping[str, int]) -> None:
    """Let so many more memories hold each token, or fewer."""
    changed = sorted((token, by) for token, by in counts.items() if by)
    if not changed:
        return
    connection.execute(ADD, ([token for token, _ in changed], [by for _, by in changed]))
    fewer = [token for token, by in changed if by < 0]
    if fewer:
        connection.execute(REMOVE, (fewer,))
