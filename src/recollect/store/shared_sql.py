"""Statements that both stores share: written once, with `?` for a value and names in braces for
what differs. `{vault}`, or `{m.vault}` of a table named `m`, is the condition that a row belongs to
the vault: a file holds no others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Protocol

SQLITE = {
    "own": "",  # before the values of a new row
    "key": "",  # before the columns by which a row is known
    "among": "IN (SELECT value FROM json_each(?))",
    "author": "user",
    "chunks": "cuts",
    "greatest": "max",
    "changed since": "updated_at >= ?",
    "newest first": "updated_at DESC",
    "by time": "INDEXED BY writes_at",
    "array": "json_group_array",
}
POSTGRES = {
    "own": "vault(), ",
    "key": "vault, ",
    "among": "= ANY(?)",
    "author": "author",
    "chunks": "chunks",
    "greatest": "greatest",
    "changed since": "newness <= -(?::bigint)",
    "newest first": "newness",
    "by time": "",
    "array": "array_agg",
}
SET_NOTE = """
INSERT INTO meta VALUES ({own}?, ?)
    ON CONFLICT ({key}key) DO UPDATE SET value = excluded.value"""


class SqlDatabase(Protocol):
    """What holds a vault, as far as shared statements need it."""

    @property
    def frozen(self) -> bool:
        """Whether it can only be read."""

    def sql(self, text: str) -> str:
        """A shared statement as this database writes it."""

    def listed(self, values: Iterable[str | int]) -> Any:
        """The value of `{among}`."""

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a statement."""

    def reading(self) -> AbstractContextManager[Any]:
        """A connection; what is read in the block is of one moment."""

    def translated(self) -> AbstractContextManager[None]:
        """Raise the database's errors as StoreError."""

    def writing(self) -> AbstractContextManager[Any]:
        """A connection with a transaction that is durable at its end."""


@cache
def sqlite_sql(text: str) -> str:
    return re.sub(r"\{([^}]+)\}", lambda name: SQLITE.get(name[1], "true"), text)


@cache
def postgres_sql(text: str) -> str:
    written = re.sub(
        r"\{([^}]+)\}", lambda name: POSTGRES.get(name[1], f"{name[1]} = vault()"), text
    )
    return written.replace("?", "%s")
