"""The tables of a vault as rows, alike for both stores: what a copy takes over as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.maths import parts
from recollect.store.feedback_log import SET_NOTE
from recollect.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from recollect.store.vault import VaultStore

AT_ONCE = 1_000  # rows


class Table(NamedTuple):
    """A table: its columns, the order of its rows, and which columns are true or false."""

    name: str
    columns: tuple[str, ...]
    order: str
    flags: tuple[str, ...] = ()


# In an order in which what others refer to comes first.
WRITES = Table(
    "writes",
    (
        "seq", "operation", "at", "action", "interface", "client", "author", "automatic", "reason",
        "target", "undoes",
    ),
    "seq",
    ("automatic",),
)  # fmt: skip
VERSIONS = Table("versions", ("memory", "write", "before"), "memory, write")
FEEDBACK = Table(
    "feedback", ("query", "memory_id", "accepted", "given_at", "words"), "key", ("accepted",)
)
FOLDERS = Table(
    "folders", ("path", "project", "redact", "followed", "added_at"), "key", ("redact", "followed")
)
FILES = Table(
    "files",
    ("folder", "path", "size", "changed", "inode", "read_at", "digest", "reason", "gone_at"),
    "key",
)
CHUNKS = Table(
    "chunks", ("memory", "file", "number", "heading", "first_line", "last_line"), "memory"
)
USAGE = Table("usage", ("memory", "returned", "opened", "accepted", "last_at"), "memory")
OTHERS = (
    Table("reviews", ("item", "decision", "at", "until"), "item"),
    Table(
        "candidates",
        ("mark", "at", "client", "session", "author", "form", "place", "fields"),
        "mark",
    ),
    Table("feedback_vectors", ("model", "words", "vector"), "key"),
)
EVERY = (WRITES, VERSIONS, FEEDBACK, FOLDERS, FILES, CHUNKS, USAGE, *OTHERS)
KEYS = ("memory", "folder", "file")  # columns whose numbers a copy has of its own
DIFFERENT = ("chunks", "author")  # names that shared statements have in braces
# Of `meta`: what was learned, and how far a look through the vault came. The rest is the store's.
OWN_NOTES = (
    "topic_key", "bulk", "unscrubbed", "embedding_dim", "embedding_identity", "vault_id",
    "history_bytes", "history_from", "last_key", "learned_until", "copy",
)  # fmt: skip


def _name(name: str) -> str:
    return f"{{{name}}}" if name in DIFFERENT else name


class VaultTables:
    """The tables of one vault."""

    def __init__(self, store: VaultStore) -> None:
        self.database: Any = store.database
        self._file = isinstance(store, SqliteStore)

    def ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.database.rows(self.database.sql(sql), *values)
        return found

    def count(self, table: Table) -> int:
        return int(self.ask(f"SELECT count(*) FROM {_name(table.name)} WHERE {{vault}}")[0][0])

    def rows(self, table: Table, within: str = "true", *values: object) -> list[dict[str, Any]]:
        """The rows of a table by the names of its columns."""
        columns = ", ".join(map(_name, table.columns))
        sql = f"SELECT {columns} FROM {_name(table.name)} WHERE {{vault}} AND {within}"
        found = self.ask(f"{sql} ORDER BY {table.order}", *values)
        return [dict(zip(table.columns, row, strict=True)) for row in found]

    def digest(self, table: Table) -> str:
        """A hash of all rows, but for the numbers by which they refer to each other."""
        hashed = sha256()
        for row in self.rows(table):
            alike = {name: bool(row[name]) for name in table.flags}
            values = {name: value for name, value in row.items() if name not in KEYS}
            hashed.update(msgspec.json.encode(values | alike))
        return hashed.hexdigest()

    def keys(self) -> dict[str, int]:
        """The key of each memory, live or forgotten, in their order."""
        rows = self.ask("SELECT id, key FROM memories WHERE {vault} ORDER BY key")
        return dict(rows)

    def insert(self, connection: Any, table: Table, rows: Iterable[dict[str, Any]]) -> None:
        """Write rows within a write of the vault."""
        columns, flag = ", ".join(map(_name, table.columns)), int if self._file else bool
        signs = ", ".join("?" for _ in table.columns)
        sql = self.database.sql(
            f"INSERT INTO {_name(table.name)} ({{key}}{columns}) VALUES ({{own}}{signs})"
        )
        for some in parts(rows, AT_ONCE):
            values = [
                tuple(
                    flag(row[name]) if name in table.flags else row[name] for name in table.columns
                )
                for row in some
            ]
            connection.cursor().executemany(sql, values)

    def clear(self, connection: Any) -> None:
        """Remove the rows of all these tables."""
        for table in reversed(EVERY):
            sql = f"DELETE FROM {_name(table.name)} WHERE {{vault}}"
            connection.execute(self.database.sql(sql))

    def secret(self) -> bytes:
        """The key of the hashes that only this vault can make."""
        if self._file:
            return bytes.fromhex(self.ask("SELECT value FROM meta WHERE key = 'topic_key'")[0][0])
        return bytes(self.database.secret)

    def set_secret(self, secret: bytes) -> None:
        """Give a vault without memories this key; who has it open opens it again."""
        with self.database.writing() as connection:
            if self._file:
                sql = "UPDATE meta SET value = ? WHERE key = 'topic_key'"
                connection.execute(sql, (secret.hex(),))
            else:
                connection.execute("UPDATE vaults SET secret = %s WHERE key = vault()", (secret,))

    def history(self) -> tuple[int, int | None]:
        """How many bytes history takes, and since when it is known; None: from the beginning."""
        if not self._file:
            sql = "SELECT history_bytes, history_from FROM vaults WHERE key = vault()"
            found: tuple[int, int | None] = self.database.rows(sql)[0]
            return found
        sql = "SELECT key, value FROM meta WHERE key IN ('history_bytes', 'history_from')"
        noted = {key: int(value) for key, value in self.ask(sql)}
        return noted.get("history_bytes", 0), noted.get("history_from")

    def set_history(self, connection: Any, size: int, start: int | None) -> None:
        if self._file:
            noted = {"history_bytes": size, "history_from": start}
            self.set_notes(connection, {key: str(n) for key, n in noted.items() if n is not None})
            return
        connection.execute(
            "UPDATE vaults SET history_bytes = %s, history_from = %s, last_write = (SELECT "
            "coalesce(max(seq), 0) FROM writes WHERE vault = vault()) WHERE key = vault()",
            (size, start),
        )

    def notes(self) -> dict[str, str]:
        """What was noted of the vault, but for what belongs to the store itself."""
        noted = self.ask("SELECT key, value FROM meta WHERE {vault}")
        return {key: value for key, value in noted if key not in OWN_NOTES}

    def set_notes(self, connection: Any, notes: Mapping[str, str]) -> None:
        for note in notes.items():
            connection.execute(self.database.sql(SET_NOTE), note)

    def about(self, table: Table, memories: Sequence[int]) -> Iterator[dict[str, Any]]:
        """The rows about these memories, which are in the order of their keys."""
        for some in parts(memories, AT_ONCE):
            yield from self.rows(table, "memory BETWEEN ? AND ?", some[0], some[-1])
