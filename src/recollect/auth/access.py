"""Protocols for storing tokens, sessions and logs: in files of the home (`home_access.py`) or in a
database that several servers share (`recollect_postgres/access.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

Value = str | bytes | int | float | None
# SQL that SQLite and PostgreSQL understand: `?` for values, `{vault}` for the condition on a vault.
Statement = tuple[str, tuple[Value, ...]]


class LineLog(Protocol):
    """A log of limited length, to which several processes add lines."""

    def append(self, line: bytes) -> None:
        """Add a line, now or as soon as possible; raise OSError if it cannot be written."""

    def size(self) -> int:
        """Return the end of the log, a number that changes with each line."""

    def since(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield the lines after that number, oldest first, each with the number it ends at."""


class AttemptCounts(Protocol):
    """Stores, for each key, the time at which all its attempts are available again."""

    def ahead_s(self, key: str) -> float:
        """Return the seconds until that time; 0 or less if it has passed."""

    def put_off(self, key: str, interval_s: float, most_s: float) -> None:
        """Postpone the time by an interval, to at most `most_s` from now."""


class Access(Protocol):
    """The tables of tokens, browser sessions, login links and wrong logins, and two logs."""

    remote: bool  # calls may take long, so an event loop must not wait for them
    audit: LineLog
    reads: LineLog
    attempts: AttemptCounts | None  # None: they are counted in the memory of one server

    @property
    def mark(self) -> str:
        """A name for this set of tokens, the same on all servers that share it."""

    def rows(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        """Return the rows of a query, including what other processes have written."""

    def change(self, *statements: Statement) -> list[tuple[Any, ...]]:
        """Run statements in one transaction; return the rows of the last one."""

    def close(self) -> None:
        """Flush and close; the next call opens it again."""
