"""The tokens of a home: made, listed, revoked, and recognised by their hashes."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from pathlib import Path

import apsw
import msgspec

from recollect.auth.access_db import AccessDb, moment
from recollect.auth.capabilities import CAPABILITIES
from recollect.auth.tokens import Token, check_request, digest, new_secret, real_time, well_formed
from recollect.errors import NotFound
from recollect.times import to_micros

# When a token was used last is stored to the hour: a write with every request would cost too much.
COARSE = timedelta(hours=1)
COLUMNS = (
    "id, hash, name, capabilities, vaults, collections, created_at, expires_at, revoked_at, used_at"
)


class TokenStore:
    """The tokens of one home."""

    def __init__(self, home: Path, clock: Callable[[], datetime] = real_time) -> None:
        self.database = AccessDb(home)
        self.file = self.database.file
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
        with self.database.writing() as connection:
            connection.execute(
                f"INSERT INTO tokens ({COLUMNS}) VALUES ({marks})", _row(token, digest(secret))
            )
        return secret, token

    def every(self) -> list[Token]:
        """All tokens, oldest first, including revoked and expired ones."""
        sql = f"SELECT {COLUMNS} FROM tokens ORDER BY created_at, id"
        return [_token(row) for row in self.database.rows(sql)]

    def revoke(self, id: str) -> Token:
        """Refuse the token from now on. One that is revoked already stays so."""
        now = to_micros(self.clock())
        with self.database.reading() as connection:
            if connection is not None:
                connection.execute(
                    "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (now, id)
                )
        for row in self.database.rows(f"SELECT {COLUMNS} FROM tokens WHERE id = ?", id):
            return _token(row)
        raise NotFound(f"There is no token {id!r}; `recollect token list` shows all of them.")

    def any_live(self, besides: str = "") -> bool:
        """Whether any token but this one is live."""
        now = self.clock()
        return any(token.state(now) == "live" for token in self.every() if token.id != besides)

    def known(self, secret: str) -> tuple[Token, str] | None:
        """The token and its state; None where it is not one of this home."""
        return self.by_hash(digest(secret)) if well_formed(secret) else None

    def by_hash(self, hashed: bytes) -> tuple[Token, str] | None:
        """The token of that hash and its state. Read anew each time, so that a token is refused
        from the moment it is revoked."""
        now = self.clock()
        # The index finds a hash, not a token: how long that takes says nothing of tokens.
        for row in self.database.rows(f"SELECT {COLUMNS} FROM tokens WHERE hash = ?", hashed):
            if hmac.compare_digest(bytes(row[1]), hashed):  # type: ignore[arg-type]
                token = _token(row)
                state = token.state(now)
                if state == "live" and not (token.used_at and now - token.used_at < COARSE):
                    self.database.note_use("tokens", token.id, now)
                return token, state
        return None

    def close(self) -> None:
        self.database.close()


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
    created, expires, revoked, used = map(moment, times)
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
