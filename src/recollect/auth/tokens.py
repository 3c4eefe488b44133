"""Access tokens: who may call a server, and to do what; kept as hashes in `access.db` of the home.

Beside the vault and not in it, so that a token can be checked while the vault is locked. A token is
32 random bytes, so that its plain SHA-256 cannot be reversed by guessing; it is shown once.
"""

from __future__ import annotations

import base64
import hmac
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import apsw
import msgspec
from msgspec import Struct

from recollect.auth.capabilities import CAPABILITIES, Caller
from recollect.errors import NotFound, StoreError, UserError
from recollect.retry import patiently
from recollect.times import AGES, from_micros, parse_time, to_micros

NAME = "access.db"
START = "rcl_"
RANDOM_BYTES = 32
LENGTH = len(START) + 43  # so many letters base64 makes of 32 bytes
VERSION = 1
BUSY_MS = 10_000
# When a token was used last is told to the hour: a write with every request would cost too much.
COARSE = timedelta(hours=1)
LONGEST_NAME = 100

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


class Token(Struct, frozen=True, kw_only=True):
    """What is known of a token; the token itself is not."""

    id: str
    name: str
    capabilities: tuple[str, ...]
    vaults: tuple[str, ...] | None = None
    collections: tuple[str, ...] | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None

    def state(self, now: datetime) -> str:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "live"

    def caller(self) -> Caller:
        return Caller(
            name=self.name,
            capabilities=frozenset(self.capabilities),
            vaults=None if self.vaults is None else frozenset(self.vaults),
            collections=None if self.collections is None else frozenset(self.collections),
            token=self.id,
        )


def real_time() -> datetime:
    """Not the time that RECOLLECT_NOW pretends: it must not bring an expired token back."""
    return datetime.now(UTC)


class TokenStore:
    """The tokens of one home. Any number of processes may ask and change; what one changes, the
    next question of another sees."""

    def __init__(self, home: Path, clock: Callable[[], datetime] = real_time) -> None:
        self.file = home / NAME
        self._clock = clock
        self._guard = threading.Lock()
        self._held: apsw.Connection | None = None
        self._stands: tuple[int, int] | None = None

    def create(
        self,
        capabilities: Collection[str],
        *,
        name: str = "",
        vaults: Collection[str] = (),
        collections: Collection[str] = (),
        expires_at: datetime | None = None,
    ) -> tuple[str, Token]:
        """A new token, which is nowhere kept, and what is known of it."""
        now = self._clock()
        _check(capabilities, name, expires_at, now)
        secret = START + base64.urlsafe_b64encode(os.urandom(RANDOM_BYTES)).decode().rstrip("=")
        id = os.urandom(4).hex()
        token = Token(
            id=id,
            name=name or f"token {id}",
            capabilities=tuple(one for one in CAPABILITIES if one in capabilities),
            vaults=tuple(sorted(set(vaults))) if vaults else None,
            collections=tuple(sorted(set(collections))) if collections else None,
            created_at=now,
            expires_at=expires_at,
        )
        with self._asking(create=True) as connection:
            assert connection is not None
            marks = ", ".join("?" * len(COLUMNS.split(", ")))
            connection.execute(
                f"INSERT INTO tokens ({COLUMNS}) VALUES ({marks})", _row(token, _digest(secret))
            )
        return secret, token

    def every(self) -> list[Token]:
        """All of them, oldest first; those revoked and expired too."""
        with self._asking() as connection:
            if connection is None:
                return []
            told = f"SELECT {COLUMNS} FROM tokens ORDER BY created_at, id"
            return [_token(row) for row in connection.execute(told)]

    def revoke(self, id: str) -> Token:
        """Refuse it from now on. One that is revoked already stays so."""
        now = to_micros(self._clock())
        with self._asking() as connection:
            if connection is not None:
                connection.execute(
                    "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (now, id)
                )
                told = f"SELECT {COLUMNS} FROM tokens WHERE id = ?"
                for row in connection.execute(told, (id,)):
                    return _token(row)
        raise NotFound(f"There is no token {id!r}; `recollect token list` shows those there are.")

    def any_live(self) -> bool:
        now = self._clock()
        return any(token.state(now) == "live" for token in self.every())

    def known(self, secret: str) -> tuple[Token, str] | None:
        """The token and its state, if it is one of ours; asked anew each time, so that a token is
        refused from the moment it is revoked."""
        if not well_formed(secret):
            return None
        digest, now = _digest(secret), self._clock()
        with self._asking() as connection:
            if connection is None:
                return None
            # The index finds a hash, not a token: how long that takes says nothing of tokens.
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM tokens WHERE hash = ?", (digest,)
            ).fetchall()
            for row in rows:
                if hmac.compare_digest(bytes(row[1]), digest):  # type: ignore[arg-type]
                    token = _token(row)
                    self._note(connection, token, now)
                    return token, token.state(now)
        return None

    def close(self) -> None:
        with self._guard:
            if self._held is not None:
                self._held.close()
            self._held = self._stands = None

    def _note(self, connection: apsw.Connection, token: Token, now: datetime) -> None:
        if token.state(now) != "live" or (token.used_at and now - token.used_at < COARSE):
            return
        with suppress(apsw.Error):  # another process writes, or nobody may: the request goes on
            connection.set_busy_timeout(0)
            told = "UPDATE tokens SET used_at = ? WHERE id = ?"
            connection.execute(told, (to_micros(now), token.id))
        connection.set_busy_timeout(BUSY_MS)

    @contextmanager
    def _asking(self, *, create: bool = False) -> Iterator[apsw.Connection | None]:
        """The connection, or None where no token was ever made; one thread at a time."""
        try:
            with self._guard:
                yield self._connection(create=create)
        except apsw.Error as error:
            told = " ".join(str(error).split())[:200]
            raise StoreError(f"The tokens in {self.file} cannot be read: {told}.") from error

    def _connection(self, *, create: bool) -> apsw.Connection | None:
        """Opened anew where another file has taken its place, so that a deleted one lets nobody
        in."""
        stands = self._place()
        if stands is None and create:
            self._make_private()
            stands = self._place()
        if stands != self._stands and self._held is not None:
            self._held.close()
            self._held = None
        self._stands = stands
        if stands is not None and self._held is None:
            self._held = self._open()
        return self._held

    def _place(self) -> tuple[int, int] | None:
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
            raise UserError(f"{self.file} cannot be made: {error.strerror}.") from error

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.file), apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(BUSY_MS)
            # A new file becomes WAL for two processes at once: one is told busy without waiting.
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
            raise StoreError(f"{self.file} was made by a newer Recollect; install that one.")
        connection.execute("PRAGMA synchronous = FULL")  # what is revoked stays revoked


def well_formed(secret: str) -> bool:
    return secret.startswith(START) and len(secret) == LENGTH and secret.isascii()


def expiry(told: str, now: datetime) -> datetime:
    """`90d`, `12h` or `2w` from now, or a date."""
    number, unit = told[:-1], told[-1:]
    if unit in AGES and number.isascii() and number.isdigit():
        try:
            return now + timedelta(**{AGES[unit]: int(number)})
        except (OverflowError, ValueError) as error:
            raise UserError(f"--expires {told!r} lies behind the end of time.") from error
    return parse_time(told, "--expires", ", or 90d, 12h or 2w for that long from now")


def _check(
    capabilities: Collection[str], name: str, expires_at: datetime | None, now: datetime
) -> None:
    known = ", ".join(CAPABILITIES)
    for one in capabilities:
        if one not in CAPABILITIES:
            raise UserError(f"{one!r} is not a capability; there are: {known}.")
    if not capabilities:
        raise UserError(f"A token needs a capability; there are: {known}.")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise UserError(f"A token's name is one line of up to {LONGEST_NAME} characters.")
    if expires_at is not None and expires_at <= now:
        raise UserError("The token would have expired already; give a time that is still to come.")


def _make(connection: apsw.Connection) -> None:
    """The table, unless somebody else has made it meanwhile."""
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


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _row(token: Token, digest: bytes) -> tuple[apsw.SQLiteValue, ...]:
    return (
        token.id,
        digest,
        token.name,
        _json(token.capabilities),
        _json(token.vaults),
        _json(token.collections),
        *(_micros(one) for one in (token.created_at, token.expires_at, None, None)),
    )


def _token(row: tuple[apsw.SQLiteValue, ...]) -> Token:
    id, _, name, capabilities, vaults, collections, *times = row
    created, expires, revoked, used = (_moment(one) for one in times)
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


def _names(told: apsw.SQLiteValue) -> tuple[str, ...] | None:
    return None if told is None else msgspec.json.decode(str(told), type=tuple[str, ...])


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(micros: apsw.SQLiteValue) -> datetime | None:
    return from_micros(micros) if isinstance(micros, int) else None
