"""The tokens of a home or a database: made, listed, revoked, and recognised by their hashes.

A token is 32 random bytes, so that its plain SHA-256 cannot be reversed by guessing. It is shown
once; only its hash is stored.

A server keeps one for the user it runs as: in `token` of the home, mode 0600. Whoever can read the
file can read the vault beside it, too. Other users of the machine can reach the server's port, but
not the file.
"""

from __future__ import annotations

import base64
import hmac
import os
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.auth.access import Access, Value
from recollect.auth.capabilities import CAPABILITIES, EVERYTHING, OWNER, Caller
from recollect.errors import NotFound, StoreError, UserError
from recollect.files import locked_folder, opened_regular, write_whole
from recollect.retry import without_waiting
from recollect.times import from_micros, to_micros

TOKEN = "rcl_"  # how a token begins
SESSION = "rcs_"  # how the secret of a session or a link begins, so that neither passes for a token
RANDOM_BYTES = 32
LENGTH = 43  # base64 makes so many characters of 32 bytes
LONGEST_NAME = 100
# When a token was used last is stored to the hour: a write with every request would cost too much.
COARSE = timedelta(hours=1)
COLUMNS = (
    "id, hash, name, capabilities, vaults, collections, created_at, expires_at, revoked_at, used_at"
)
NOTE_USE = "UPDATE {table} SET used_at = ? WHERE {{vault}} AND id = ?"
NAME = "token"  # the file of the token that a server keeps for its user
LONGEST = 200


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
    """The clock's time, not that of RECOLLECT_NOW, which must not bring an expired token back."""
    return datetime.now(UTC)


def new_secret(start: str = TOKEN) -> str:
    return start + base64.urlsafe_b64encode(os.urandom(RANDOM_BYTES)).decode().rstrip("=")


def is_well_formed(secret: str, start: str = TOKEN) -> bool:
    return secret.startswith(start) and len(secret) == len(start) + LENGTH and secret.isascii()


def digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogateescape")).digest()


def check_request(
    capabilities: Collection[str], name: str, expires_at: datetime | None, now: datetime
) -> None:
    """Raise UserError where no such token can be made."""
    known = ", ".join(CAPABILITIES)
    for capability in capabilities:
        if capability not in CAPABILITIES:
            raise UserError(f"{capability!r} is not a capability; there are: {known}.")
    if not capabilities:
        raise UserError(f"A token needs a capability; there are: {known}.")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise UserError(f"A token's name is one line of up to {LONGEST_NAME} characters.")
    if expires_at is not None and expires_at <= now:
        raise UserError("The expiry date is in the past; give a later one.")


class TokenStore:
    """The tokens that are there."""

    def __init__(self, access: Access, clock: Callable[[], datetime] = real_time) -> None:
        self.access = access
        self.clock = clock

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
        now = self.clock()
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
        marks = ", ".join("?" * len(COLUMNS.split(", ")))
        sql = f"INSERT INTO tokens ({COLUMNS}) VALUES ({marks})"
        self.access.change((sql, _row(token, digest(secret))))
        return secret, token

    def list_all(self) -> list[Token]:
        """All tokens, oldest first, including revoked and expired ones."""
        sql = f"SELECT {COLUMNS} FROM tokens WHERE {{vault}} ORDER BY created_at, id"
        return [_token(row) for row in self.access.rows(sql)]

    def revoke(self, id: str) -> Token:
        """Refuse the token from now on. One that is revoked already stays so."""
        if any(token.id == id for token in self.list_all()):
            sql = (
                "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE {vault} AND id = ? "
                f"RETURNING {COLUMNS}"
            )
            for row in self.access.change((sql, (to_micros(self.clock()), id))):
                return _token(row)
        raise NotFound(f"There is no token {id!r}; `recollect access token list` shows them.")

    def has_live(self, besides: str = "") -> bool:
        """Whether any token but this one is live."""
        now = self.clock()
        return any(token.state(now) == "live" for token in self.list_all() if token.id != besides)

    def find(self, secret: str) -> tuple[Token, str] | None:
        """The token and its state; None where it is not one of these."""
        return self.find_by_hash(digest(secret)) if is_well_formed(secret) else None

    def find_by_hash(self, hashed: bytes) -> tuple[Token, str] | None:
        """The token of that hash and its state. Read anew each time, so that a token is refused
        from the moment it is revoked."""
        now = self.clock()
        # The index finds a hash, not a token: how long that takes says nothing of tokens.
        sql = f"SELECT {COLUMNS} FROM tokens WHERE {{vault}} AND hash = ?"
        for row in self.access.rows(sql, hashed):
            if hmac.compare_digest(bytes(row[1]), hashed):
                token = _token(row)
                state = token.state(now)
                if state == "live":
                    self.note_use("tokens", token.id, token.used_at)
                return token, state
        return None

    def note_use(self, table: str, id: str, before: datetime | None) -> None:
        """Store when a token or a session was used. Where another process writes, or nobody may,
        nothing is stored: the request goes on."""
        now = self.clock()
        if before is None or now - before >= COARSE:
            with suppress(StoreError), without_waiting():
                noted = (NOTE_USE.format(table=table), (to_micros(now), id))
                self.access.change(noted)

    def close(self) -> None:
        self.access.close()


def _row(token: Token, hashed: bytes) -> tuple[Value, ...]:
    return (
        token.id,
        hashed,
        token.name,
        _json(token.capabilities),
        _json(token.vaults),
        _json(token.collections),
        to_micros(token.created_at),
        None if token.expires_at is None else to_micros(token.expires_at),
        None,
        None,
    )


def _token(row: tuple[Any, ...]) -> Token:
    id, _, name, capabilities, vaults, collections, *times = row
    created, expires, revoked, used = map(read_moment, times)
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


def _names(names: str | None) -> tuple[str, ...] | None:
    return None if names is None else msgspec.json.decode(names, type=tuple[str, ...])


def read_moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def load_own_token(home: Path, stored: TokenStore) -> tuple[str, Token]:
    """The token's secret and what is known of it. A new one is made where there is none, where it
    was revoked, and where others could have read it: that one is revoked then."""
    file = home / NAME
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_folder(home):
            secret, private = _read(file)
            found = stored.find(secret)
            if found is not None and found[1] == "live":
                if private:
                    return secret, found[0]
                stored.revoke(found[0].id)
            secret, token = stored.create(EVERYTHING, name=OWNER.name)
            write_whole(file, f"{secret}\n")
    except OSError as error:
        raise UserError(
            f"The token for this user cannot be kept in {file}: {error.strerror}. Make the folder "
            "writable, or serve with --no-auth."
        ) from error
    return secret, token


def _read(file: Path) -> tuple[str, bool]:
    """What the file holds, and whether only this user could read it; nothing where there is none,
    or where it is a link."""
    try:
        stream = opened_regular(file)
    except OSError:
        return "", False
    if stream is None:
        return "", False
    with stream:
        found = os.fstat(stream.fileno())
        # Windows keeps the rights of files elsewhere; a home there is private by itself.
        others = stat.S_IMODE(found.st_mode) & 0o077 if os.name == "posix" else 0
        mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        return stream.read(LONGEST).decode(errors="replace").strip(), mine and not others
