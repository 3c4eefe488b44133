"""Where tokens, sessions and logs are stored: protocols, and the files of a home. The tables of a
database that several servers share are in `recollect_postgres/access.py`.

`access.db` of a home has hashes of tokens, browser sessions and login links. It is a file apart
from the vault, so that callers can be checked while the vault is locked.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from recollect.deadline import may_wait, retry_while_busy
from recollect.errors import StoreError, UserError
from recollect.files import replace_file

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


try:
    import fcntl
except ImportError:  # on Windows two processes may shorten the log at the same time
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from recollect.auth.access import AttemptCounts, LineLog, Statement, Value

NAME = "access.db"
AUDIT, READS = "audit.jsonl", "reads.jsonl"
# About 50,000 lines. The previous file is kept, too, so the log takes at most twice as much.
LARGEST = 10_000_000
# About 4,000 lines, since paging reads them all. Above that, the older half is dropped.
LARGEST_READS = 500_000
VERSION = 2
BUSY_MS = 10_000

SCHEMA = """
CREATE TABLE IF NOT EXISTS tokens (
    id           TEXT PRIMARY KEY,
    hash         BLOB NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    vaults       TEXT,
    collections  TEXT,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    used_at      INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS sessions (
    id           TEXT PRIMARY KEY,
    hash         BLOB NOT NULL UNIQUE,
    token_hash   BLOB NOT NULL,
    browser      TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    used_at      INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS links (
    hash         BLOB PRIMARY KEY,
    token_hash   BLOB NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;
"""


class HomeAccess:
    """The files of one home. Several processes can use them at once; each sees the others'
    changes."""

    remote = False
    attempts: AttemptCounts | None = None

    def __init__(self, home: Path) -> None:
        self.file = home / NAME
        self.audit: LineLog = FileLog(home / AUDIT, durable=True)
        self.reads: LineLog = FileLog(home / READS, durable=False)
        self._guard = threading.Lock()
        self._opened: apsw.Connection | None = None
        self._opened_file: tuple[int, int] | None = None

    @property
    def mark(self) -> str:
        return str(self.file.resolve())

    def close(self) -> None:
        with self._guard:
            if self._opened is not None:
                self._opened.close()
            self._opened = self._opened_file = None

    def rows(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none if there is no file."""
        with self._asking(create=False) as connection:
            return [] if connection is None else _run(connection, (sql, values))

    def change(self, *statements: Statement) -> list[tuple[Any, ...]]:
        """Run statements in one transaction; create the file if it does not exist."""
        with self._asking(create=True) as connection:
            assert connection is not None
            connection.set_busy_timeout(BUSY_MS if may_wait() else 0)
            try:
                with _transaction(connection):
                    return [_run(connection, statement) for statement in statements][-1]
            finally:
                connection.set_busy_timeout(BUSY_MS)

    @contextmanager
    def _asking(self, *, create: bool) -> Iterator[apsw.Connection | None]:
        """Yield the connection, to one thread at a time."""
        try:
            with self._guard:
                yield self._connection(create=create)
        except apsw.Error as error:
            reason = " ".join(str(error).split())[:200]
            raise StoreError(f"The tokens in {self.file} cannot be read: {reason}.") from error

    def _connection(self, *, create: bool) -> apsw.Connection | None:
        """Return the connection. Reopen it if the file was replaced: a deleted file must not let
        callers in."""
        file = self._identity()
        if file is None and create:
            self._make_private()
            file = self._identity()
        if file != self._opened_file and self._opened is not None:
            self._opened.close()
            self._opened = None
        self._opened_file = file
        if file is not None and self._opened is None:
            self._opened = self._open()
        return self._opened

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self.file.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"{self.file} cannot be read: {error.strerror}.") from error
        return found.st_dev, found.st_ino

    def _make_private(self) -> None:
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise UserError(f"{self.file} cannot be created: {error.strerror}.") from error

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.file), apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(BUSY_MS)
            # If two processes switch a new file to WAL, one of them gets BusyError at once.
            retry_while_busy(lambda: self._prepare(connection), (apsw.BusyError,), BUSY_MS / 1000)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        if _version(connection) < VERSION:
            connection.execute("PRAGMA journal_mode = WAL")
            with _transaction(connection):
                if _version(connection) < VERSION:  # else another process has created the tables
                    connection.execute(f"{SCHEMA} PRAGMA user_version = {VERSION}")
        if _version(connection) > VERSION:
            raise StoreError(
                f"{self.file} was made by a newer Recollect; install a newer Recollect to use it."
            )
        connection.execute("PRAGMA synchronous = FULL")  # a revoked token stays revoked


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _run(connection: apsw.Connection, statement: Statement) -> list[tuple[Any, ...]]:
    sql, values = statement
    return connection.execute(sql.replace("{vault}", "true"), values).fetchall()


def _version(connection: apsw.Connection) -> int:
    [(version,)] = connection.execute("PRAGMA user_version").fetchall()
    assert isinstance(version, int)
    return version


class FileLog:
    """A log file that only its owner can read. If too large, a `durable` one is set aside; of
    another one the newer half is kept."""

    def __init__(self, file: Path, *, durable: bool) -> None:
        self.file = file
        self._durable = durable

    def append(self, line: bytes) -> None:
        largest, shorten = (LARGEST, _set_aside) if self._durable else (LARGEST_READS, _halve)
        handle = _open_locked(self.file, largest, shorten)
        try:
            os.write(handle, line + b"\n")
            if self._durable:
                os.fsync(handle)
        finally:
            os.close(handle)

    def size(self) -> int:
        try:
            return self.file.stat().st_size
        except OSError:
            return 0

    def since(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield the lines after `start`, with those of the log that was set aside first if `start`
        is 0. One may be broken off by a power cut."""
        for file in (self.file,) if start else (older_log(self.file), self.file):
            end = start
            with suppress(FileNotFoundError), file.open("rb") as stream:
                stream.seek(start)
                for line in stream:
                    end += len(line)
                    yield end, line


def _open_locked(file: Path, largest: int, shorten: Callable[[Path], None]) -> int:
    """Open the file and lock it until it is closed. Open it again if another process replaced it
    while this one waited for the lock."""
    while True:
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            opened = os.fstat(handle)
            if opened.st_size < largest and _is_same_file(file, opened):
                return handle
            if _is_same_file(file, opened):
                shorten(file)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _halve(file: Path) -> None:
    """Keep the newer half."""
    kept = file.read_bytes()[-LARGEST_READS // 2 :]
    with replace_file(file) as (_, stream):
        stream.write(kept[kept.find(b"\n") + 1 :])


def _set_aside(file: Path) -> None:
    file.replace(older_log(file))


def _is_same_file(file: Path, opened: os.stat_result) -> bool:
    try:
        return os.path.samestat(file.stat(), opened)
    except FileNotFoundError:
        return False


def older_log(file: Path) -> Path:
    """Return the path of the log that was set aside."""
    return file.with_name(f"{file.name}.1")
