"""The number of live memories that contain each TF-IDF token, updated inside every write."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping

import apsw

from recollect.query.terms import keywords, semantic_text
from recollect.store.memory_rows import LAST
from recollect.store.sqlite.checksums import MASK, table_checksum
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.types import Memory

ADD = """
    INSERT INTO vocabulary VALUES (?, ?)
        ON CONFLICT DO UPDATE SET documents = documents + excluded.documents"""
SEMANTIC = (
    "SELECT title || char(10) || text || char(10) || context || char(10) || tags FROM indexed"
)
SAMPLE = 200  # memories of a large vault whose tokens the doctor looks up
MOST_KNOWN = 200_000  # tokens kept in memory: about 20 MB
LOOK_UP = (
    "SELECT v.token, v.documents FROM json_each(?) j CROSS JOIN vocabulary v ON v.token = j.value"
)

BEGINNING = """
SELECT token, documents FROM vocabulary
 WHERE token >= ? AND token < ? AND length(token) BETWEEN ? AND ?"""


def memory_tokens(memory: Memory) -> set[str]:
    return set(keywords(semantic_text(memory)))


class SqliteVocabulary:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._local = threading.local()

    def documents(self) -> int:
        [(count,)] = self._database.rows("SELECT documents FROM corpus")
        assert isinstance(count, int)
        return count

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        wanted = set(tokens)
        known = self._lookups()
        unseen = [token for token in wanted if token not in known]
        if unseen:
            known.update(dict.fromkeys(unseen, 0))
            known.update(dict(self._database.rows(LOOK_UP, as_json_list(unseen))))  # type: ignore[arg-type]
        return {token: known[token] for token in wanted if known[token]}

    def beginning(self, start: str, shortest: int, longest: int) -> dict[str, int]:
        rows = self._database.rows(BEGINNING, start, start + LAST, shortest, longest)
        return dict(rows)  # type: ignore[arg-type]

    def forget(self) -> None:
        self._local = threading.local()

    def _lookups(self) -> dict[str, int]:
        """Return the tokens that this thread has looked up since the vault last changed."""
        with self._database.translate_errors():
            connection = self._database.connection()
            state = (connection.pragma("data_version"), connection.total_changes())
        known: dict[str, int] = getattr(self._local, "known", {})
        if getattr(self._local, "state", None) != state or len(known) > MOST_KNOWN:
            known = {}
        self._local.state, self._local.known = state, known
        return known


class VocabularyChange:
    """The changes of one write to the vocabulary, applied once at its end."""

    def __init__(self) -> None:
        self._change: Counter[str] = Counter()

    def add(self, memory: Memory) -> None:
        self._change.update(memory_tokens(memory))

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Add the number of new memories that hold each token."""
        self._change.update(counts)

    def remove(self, memory: Memory) -> None:
        self._change.subtract(memory_tokens(memory))

    def apply(self, connection: apsw.Connection) -> None:
        changed = [(token, by) for token, by in self._change.items() if by]
        if not changed:
            return
        changed.sort()  # neighbours in the tree are written together
        connection.executemany(ADD, changed)
        sql = "UPDATE corpus SET vocabulary = (vocabulary + ?) & ?"
        connection.execute(sql, (table_checksum(changed), MASK))
        connection.executemany(
            "DELETE FROM vocabulary WHERE token = ? AND documents <= 0",
            [(token,) for token, by in changed if by < 0],
        )


def fill(connection: apsw.Connection) -> None:
    """Within a transaction, count all tokens again."""
    counted = sorted(_count_tokens(connection).items())
    connection.execute("DELETE FROM vocabulary")
    connection.executemany(ADD, counted)
    connection.execute("UPDATE corpus SET vocabulary = ?", (table_checksum(counted),))


def vocabulary_problem(connection: apsw.Connection, *, whole: bool) -> str | None:
    """Return how many counts are wrong. `whole`: read every memory again; otherwise compare the
    table with its checksum and with a sample of the memories, and read all only if they differ."""
    if not whole:
        kept = connection.execute("SELECT vocabulary FROM corpus").get
        stored = table_checksum(connection.execute("SELECT token, documents FROM vocabulary"))
        if kept == stored and not sample_problem(connection):
            return None
    recorded = set(connection.execute("SELECT token, documents FROM vocabulary"))
    counted = _count_tokens(connection)
    wrong = len({token for token, _ in recorded ^ set(counted.items())})
    if wrong or connection.execute("SELECT vocabulary FROM corpus").get != table_checksum(
        counted.items()
    ):
        return f"{wrong} tokens have a wrong count"
    return None


def sample_problem(connection: apsw.Connection) -> str | None:
    """Return how many tokens of the newest memories have a count lower than these hold."""
    counted = _count_tokens(connection, f"{SEMANTIC} ORDER BY key DESC LIMIT {SAMPLE}")
    known = dict(connection.execute(LOOK_UP, (as_json_list(counted),)))
    wrong = sum(known.get(token, 0) < count for token, count in counted.items())
    return f"{wrong} tokens have a wrong count" if wrong else None


def _count_tokens(connection: apsw.Connection, sql: str = SEMANTIC) -> Counter[str]:
    counted: Counter[str] = Counter()
    for (text,) in connection.execute(sql):
        counted.update(set(keywords(str(text))))
    return counted
