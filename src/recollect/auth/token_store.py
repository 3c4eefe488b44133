"""The tokens of a home: hashes in `access.db`.

The file lies beside the vault and not in it, so that a token can be checked while the vault is
locked.
"""

from __future__ import annotations

import hmac
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

import apsw
import msgspec

from recollect.auth.capabilities import CAPABILITIES
from recollect.auth.tokens import Token, check_request, digest, new_secret, real_time, well_formed
from recollect.errors import NotFound, StoreError, UserError
from recollect.retry import patiently
from recollect.times import from_micros, to_micros

NAME = "access.db"
VERSION = 1
BUSY_MS = 10_000
# When a token was used last is stored to the hour: a write with every request would cost too much.
COARSE = timedelta(hours=1)

SCHEMA = """
CREATE TABLE tokens (
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
"""
COLUMNS = (
    "id, hash, name, capabilities, vaults, collections, created_at, expires_at, revoked_at, used_at"
)


class TokenStore:
    """The tokens of one home. Several processes may use it at once: what one changes, the next
    request of another sees."""

    def __init__(self, home: Path, clock: Callable[[], datetime] = real_time) -> None:
        self.file = home / NAME
        self._clock = clock
        self._guard = threading.Lock()
        self._opened: apsw.Connection | None = None
        self._opened_file: tuple[int, int] | None = None

    def create(
        self,
        capabilities: Collection[str],
        *,
        name: str = "",
        vaults: Collection[str] = (),
        collections: Collection[str] = (),
        expires_at: datetime | None = None,
    ) -> tuple[str, Token]:
        """Make a token: its secret, which is stored nowhere, and what is known of it."""
        now = self._clock()
        check_request(capabilities, name, expires_at, now)
        secret = new_secret()
        id = os.urandom(4).hex()
        token = Token(
            id=id,
            name=name or f"token {id}",
            capabilities=tuple(name for name in CAPABILITIES if name in capabilities),
            vaults=tuple(sorted(set(vaults))) if vaults else None,
            collections=tuple(sorted(set(collections))) if collections else None,
            created_at=now,
            expires_at=expires_at,
        )
        with self._asking(create=True) as connection:
            assert connection is not None
            marks = ", ".join("?" * len(COLUMNS.split(", ")))
            connection.execute(
                f"INSERT INTO tokens ({COLUMNS}) VALUES ({marks})", _row(token, digest(secret))
            )
        return secret, token

    def every(self) -> list[Token]:
        """All tokens, oldest first, including revoked and expired ones."""
        with self._asking() as connection:
            if connection is None:
                return []
            sql = f"SELECT {COLUMNS} FROM tokens ORDER BY created_at, id"
            return [_token(row) for row in connection.execute(sql)]

    def revoke(self, id: str) -> Token:
        """Refuse the token from now on. One that is revoked already stays so."""
        now = to_micros(self._clock())
        with self._asking() as connection:
            if connection is not None:
                connection.execute(
                    "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (now, id)
                )
                sql = f"SELECT {COLUMNS} FROM tokens WHERE id = ?"
                for row in connection.execute(sql, (id,)):
                    return _token(row)
        raise NotFound(f"There is no token {id!r}; `recollect token list` shows all of them.")

    def any_live(self) -> bool:
        now = self._clock()
        return any(token.state(now) == "live" for token in self.every())

    def known(self, secret: str) -> tuple[Token, str] | None:
        """The token and its state; None where it is not one of this home. Read anew each time, so
        that a token is refused from the moment it is revoked."""
        if not well_formed(secret):
            return None
        hashed, now = digest(secret), self._clock()
        with self._asking() as connection:
            if connection is None:
                return None
            # The index finds a hash, not a token: how long that takes says nothing of tokens.
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM tokens WHERE hash = ?", (hashed,)
            ).fetchall()
            for row in rows:
                if hmac.compare_digest(bytes(row[1]), hashed):  # type: ignore[arg-type]
                    token = _token(row)
                    self._note(connection, token, now)
                    return token, token.state(now)
        return None

    def close(self) -> None:
        with self._guard:
            if self._opened is not None:
                self._opened.close()
            self._opened = self._opened_file = None

    def _note(self, connection: apsw.Connection, token: Token, now: datetime) -> None:
        if token.state(now) != "live" or (token.used_at and now - token.used_at < COARSE):
            return
        with suppress(apsw.Error):  # another process writes, or nobody may: the request goes on
            connection.set_busy_timeout(0)
            sql = "UPDATE tokens SET used_at = ? WHERE id = ?"
            connection.execute(sql, (to_micros(now), token.id))
        connection.set_busy_timeout(BUSY_MS)

    @contextmanager
    def _asking(self, *, create: bool = False) -> Iterator[apsw.Connection | None]:
        """The connection, or None where no token was ever made; one thread at a time."""
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
        if _version(connection) == 0:
            connection.execute("PRAGMA journal_mode = WAL")
            _make(connection)
        if _version(connection) > VERSION:
            raise StoreError(
                f"{self.file} was made by a newer Recollect; install a newer Recollect to use it."
            )
        connection.execute("PRAGMA synchronous = FULL")  # a revoked token stays revoked


def _make(connection: apsw.Connection) -> None:
    """Create the table, unless another process has done so meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) == 0:
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


def _row(token: Token, hashed: bytes) -> tuple[apsw.SQLiteValue, ...]:
    return (
        token.id,
        hashed,
        token.name,
        _json(token.capabilities),
        _json(token.vaults),
        _json(token.collections),
        *(_micros(time) for time in (token.created_at, token.expires_at, None, None)),
    )


def _token(row: tuple[apsw.SQLiteValue, ...]) -> Token:
    id, _, name, capabilities, vaults, collections, *times = row
    created, expires, revoked, used = map(_moment, times)
    assert created is not None
    return Token(
        id=str(id),
        name=str(name),
        capabilities=_names(capabilities) or (),
        vaults=_names(vaults),
        collections=_names(collections),
        created_at=created,
        expires_at=expires,
        revoked_at=revoked,
        used_at=used,
    )


def _json(names: tuple[str, ...] | None) -> str | None:
    return None if names is None else msgspec.json.encode(names).decode()


def _names(names: apsw.SQLiteValue) -> tuple[str, ...] | None:
    return None if names is None else msgspec.json.decode(str(names), type=tuple[str, ...])


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(micros: apsw.SQLiteValue) -> datetime | None:
    return from_micros(micros) if isinstance(micros, int) else None
