"""The tokens of a home or a database: create, list, revoke, and find them by their hashes.

A token is 32 random bytes, so its plain SHA-256 cannot be reversed by guessing. It is shown once;
only its hash is stored.

A server keeps a token for the user it runs as in the file `token` of the home, mode 0600. Other
users of the machine can reach the server's port, but not that file.
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
from recollect.deadline import without_waiting
from recollect.errors import NotFound, StoreError, UserError
from recollect.files import locked_folder, open_regular, write_whole
from recollect.times import from_micros, to_micros

TOKEN = "rcl_"  # how a token begins
SESSION = "rcs_"  # how the secret of a session or a link begins, so that neither passes for a token
RANDOM_BYTES = 32
LENGTH = 43  # characters of 32 bytes in base64
LONGEST_NAME = 100
# The last use is stored to the hour: a write with every request would cost too much.
COARSE = timedelta(hours=1)
COLUMNS = (
    "id, hash, name, capabilities, vaults, collections, created_at, expires_at, revoked_at, used_at"
)
NOTE_USE = "UPDATE {table} SET used_at = ? WHERE {{vault}} AND id = ?"
NAME = "token"  # the file of the token that a server keeps for its user
LONGEST = 200


class Token(Struct, frozen=True, kw_only=True):
    """The record of a token, without the token itself."""

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
    """Return the system clock's time: RECOLLECT_NOW must not revive an expired token."""
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
    """Raise UserError if no such token can be created."""
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
    """Stores tokens."""

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
        """Create a token; return its secret, which is stored nowhere, and its record."""
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
        """Return all tokens, oldest first, including revoked and expired ones."""
        sql = f"SELECT {COLUMNS} FROM tokens WHERE {{vault}} ORDER BY created_at, id"
        return [_token(row) for row in self.access.rows(sql)]

    def revoke(self, id: str) -> Token:
        """Revoke a token; does nothing if it is revoked already."""
        if any(token.id == id for token in self.list_all()):
            sql = (
                "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE {vault} AND id = ? "
                f"RETURNING {COLUMNS}"
            )
            for row in self.access.change((sql, (to_micros(self.clock()), id))):
                return _token(row)
        raise NotFound(f"There is no token {id!r}; `recollect access token list` shows them.")

    def has_live(self, besides: str = "") -> bool:
        """Return whether a token is live, other than the one with id `besides`."""
        now = self.clock()
        return any(token.state(now) == "live" for token in self.list_all() if token.id != besides)

    def find(self, secret: str) -> tuple[Token, str] | None:
        """Return the token and its state, or None if it is unknown."""
        return self.find_by_hash(digest(secret)) if is_well_formed(secret) else None

    def find_by_hash(self, hashed: bytes) -> tuple[Token, str] | None:
        """Return the token with that hash and its state, or None. Never cached, so that a token is
        refused from the moment it is revoked."""
        now = self.clock()
        # The index looks up a hash, so the time this takes reveals nothing about tokens.
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
        """Store the time of use of a token or session, unless the database is busy or read-only:
        the request must not wait for it."""
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
    """Return the user's own token, as secret and record. Create a new one if there is none, if it
    was revoked, or if others could have read the file, in which case the old one is revoked."""
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
    """Return the file's content, and whether only this user could read it; ("", False) if there is
    no file, or it is a link."""
    try:
        stream = open_regular(file)
    except OSError:
        return "", False
    if stream is None:
        return "", False
    with stream:
        found = os.fstat(stream.fileno())
        # On Windows the home is private by other means than the file's mode.
        others = stat.S_IMODE(found.st_mode) & 0o077 if os.name == "posix" else 0
        mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        return stream.read(LONGEST).decode(errors="replace").strip(), mine and not others
