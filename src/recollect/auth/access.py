"""Where a server keeps what it knows of its callers: in files of its home (`home_access.py`), or in
the vault's database, which all its servers share (`recollect_postgres/access.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

Value = str | bytes | int | float | None
# SQL that both understand, with `?` for values, and `{vault}` where a row's vault is meant.
Statement = tuple[str, tuple[Value, ...]]


class LineLog(Protocol):
    """A log of limited length, to which several processes add lines."""

    def append(self, line: bytes) -> None:
        """Add a line, or as soon as that is possible; OSError where it never will be."""

    def size(self) -> int:
        """A number that changes with each line, and behind which the next one is."""

    def since(self, start: int) -> Iterator[tuple[int, bytes]]:
        """The lines behind that number, oldest first, each with the number that it ends at."""


class AttemptCounts(Protocol):
    """For each key the moment at which all its attempts have come back."""

    def ahead_s(self, key: str) -> float:
        """How far away that moment is; not above 0 where it is over."""

    def put_off(self, key: str, interval_s: float, most_s: float) -> None:
        """Put it off by an interval, so that it is at most that far away."""


class Access(Protocol):
    """The tables of tokens, browser sessions and login links, wrong logins, and two logs."""

    remote: bool  # whether an answer may take long, so that no event loop waits for it
    audit: LineLog
    reads: LineLog
    attempts: AttemptCounts | None  # None: they are counted in the memory of one server

    @property
    def mark(self) -> str:
        """Which tokens these are: the same for all servers that share them."""

    def rows(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        """What a query finds, as every process has left it."""

    def change(self, *statements: Statement) -> list[tuple[Any, ...]]:
        """Run statements as a whole; the rows of the last one."""

    def close(self) -> None:
        """Write what waits, and close what is open; the next call opens it again."""
