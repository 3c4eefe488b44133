"""`access.db` of a home: hashes of tokens, of browser sessions and of login links.

The file lies beside the vault and not in it, so that a caller can be checked while the vault is
locked.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from recollect.errors import StoreError, UserError
from recollect.retry import patiently
from recollect.times import from_micros, to_micros

NAME = "access.db"
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


class AccessDb:
    """The file of one home. Several processes may use it at once: what one changes, the next
    request of another sees."""

    def __init__(self, home: Path) -> None:
        self.file = home / NAME
        self._guard = threading.Lock()
        self._opened: apsw.Connection | None = None
        self._opened_file: tuple[int, int] | None = None

    def close(self) -> None:
        with self._guard:
            if self._opened is not None:
                self._opened.close()
            self._opened = self._opened_file = None

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """The connection in a transaction; the file is made where there is none."""
        with self._asking(create=True) as connection:
            assert connection is not None
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection | None]:
        """The connection, or None where there is no file: then there are no tokens either."""
        with self._asking(create=False) as connection:
            yield connection

    def rows(self, sql: str, *values: apsw.SQLiteValue) -> list[tuple[apsw.SQLiteValue, ...]]:
        """What the query finds; nothing where there is no file."""
        with self.reading() as connection:
            return [] if connection is None else connection.execute(sql, values).fetchall()

    def note_use(self, table: str, id: str, now: datetime) -> None:
        """Store when a token or a session was used. Where another process writes, or nobody may,
        nothing is stored: the request goes on."""
        with self.reading() as connection:
            if connection is None:
                return
            try:
                connection.set_busy_timeout(0)
                sql = f"UPDATE {table} SET used_at = ? WHERE id = ?"
                connection.execute(sql, (to_micros(now), id))
            except apsw.Error:
                pass
            finally:
                connection.set_busy_timeout(BUSY_MS)

    @contextmanager
    def _asking(self, *, create: bool) -> Iterator[apsw.Connection | None]:
        """The connection, for one thread at a time."""
        try:
            with self._guard:
                yield self._connection(create=create)
        except apsw.Error as error:
            reason = " ".join(str(error).split())[:200]
            raise StoreError(f"The tokens in {self.file} cannot be read: {reason}.") from error

    def _connection(self, *, create: bool) -> apsw.Connection | None:
        """The open connection, opened anew where another file took the old one's place: a deleted
        file lets nobody in."""
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
            # Two processes may switch a new file to WAL at once: one gets BusyError at once.
            patiently(lambda: self._prepare(connection), (apsw.BusyError,), BUSY_MS / 1000)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        if _version(connection) < VERSION:
            connection.execute("PRAGMA journal_mode = WAL")
            _make(connection)
        if _version(connection) > VERSION:
            raise StoreError(
                f"{self.file} was made by a newer Recollect; install a newer Recollect to use it."
            )
        connection.execute("PRAGMA synchronous = FULL")  # a revoked token stays revoked


def _make(connection: apsw.Connection) -> None:
    """Create the tables, unless another process has done so meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) < VERSION:
            connection.execute(f"{SCHEMA} PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: apsw.Connection) -> int:
    [(version,)] = connection.execute("PRAGMA user_version").fetchall()
    assert isinstance(version, int)
    return version


def moment(micros: apsw.SQLiteValue) -> datetime | None:
    return from_micros(micros) if isinstance(micros, int) else None
