"""Browser sessions, and the links that begin one: random secrets, of which the hashes are stored.

A session stands for the token that it was begun with, and ends with it. A link begins one session,
within a few minutes, and is gone then.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from recollect.auth.access import Value
from recollect.auth.token_store import SESSION, TokenStore, digest, moment, new_secret, well_formed
from recollect.errors import NotFound
from recollect.times import to_micros

# After a month one logs in again.
LASTS = timedelta(days=30)
# Long enough to copy a link from one window to another.
LINK_LASTS = timedelta(minutes=10)
# Nobody has more browsers; the oldest session ends where one more begins.
MOST_SESSIONS = 100
LONGEST_BROWSER = 200
OF_TOKEN = "coalesce((SELECT {column} FROM tokens WHERE {{vault}} AND hash = token_hash), '')"
THE_LINK = "{vault} AND hash = ? AND expires_at > ?"
COLUMNS = (
    f"id, token_hash, {OF_TOKEN.format(column='id')}, {OF_TOKEN.format(column='name')}, "
    "browser, created_at, expires_at, used_at"
)


class BrowserSession(Struct, frozen=True, kw_only=True):
    """What is known of a session. `token_id` and `token_name` are empty where it was begun with the
    token that the server was started with."""

    id: str
    token_hash: bytes
    token_id: str
    token_name: str
    browser: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None


class SessionStore:
    """The sessions and links that are where the tokens are."""

    def __init__(self, tokens: TokenStore) -> None:
        self._tokens = tokens
        self.access = tokens.access
        self._clock = tokens.clock

    def create(self, token_hash: bytes, browser: str = "") -> tuple[str, BrowserSession]:
        """Begin a session for that token: its secret, and what is known of it."""
        now = self._clock()
        secret, id = new_secret(SESSION), os.urandom(4).hex()
        shown = "".join(filter(str.isprintable, browser[:LONGEST_BROWSER]))
        self.access.change(
            ("DELETE FROM sessions WHERE {vault} AND expires_at <= ?", (to_micros(now),)),
            (
                "DELETE FROM sessions WHERE {vault} AND id NOT IN (SELECT id FROM sessions "
                "WHERE {vault} ORDER BY created_at DESC, id LIMIT ?)",
                (MOST_SESSIONS - 1,),
            ),
            (
                "INSERT INTO sessions (id, hash, token_hash, browser, created_at, expires_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (id, digest(secret), token_hash, shown, to_micros(now), to_micros(now + LASTS)),
            ),
        )
        [session] = [each for each in self.every() if each.id == id]
        return secret, session

    def known(self, secret: str) -> BrowserSession | None:
        """The session of that secret; None where there is none, or it has ended."""
        if not well_formed(secret, SESSION):
            return None
        found = self._found("hash = ? AND", digest(secret))
        for session in found:
            self._tokens.note_use("sessions", session.id, session.used_at)
        return found[0] if found else None

    def every(self) -> list[BrowserSession]:
        """The sessions that have not ended, the newest first."""
        return self._found("")

    def end(self, ids: Collection[str]) -> None:
        """End these sessions at once; NotFound, and none ends, where one of them is not there."""
        there = {session.id for session in self.every()}
        for id in ids:
            if id not in there:
                raise NotFound(f"There is no session {id!r}; `recollect sessions` lists them.")
        if ids:
            sql = "DELETE FROM sessions WHERE {vault} AND id = ?"
            self.access.change(*((sql, (id,)) for id in ids))

    def create_link(self, token_hash: bytes) -> str:
        """The secret of a link that begins one session for that token."""
        now = self._clock()
        secret = new_secret(SESSION)
        expires = to_micros(now + LINK_LASTS)
        self.access.change(
            ("DELETE FROM links WHERE {vault} AND expires_at <= ?", (to_micros(now),)),
            (
                "INSERT INTO links (hash, token_hash, expires_at) VALUES (?, ?, ?)",
                (digest(secret), token_hash, expires),
            ),
        )
        return secret

    def use_link(self, secret: str) -> bytes | None:
        """The hash of the token that the link stands for; None where it is used up or too old. Of
        two who use it at once, one gets it."""
        if not well_formed(secret, SESSION) or not self.has_link(secret):
            return None
        sql = f"DELETE FROM links WHERE {THE_LINK} RETURNING token_hash"
        rows = self.access.change((sql, (digest(secret), to_micros(self._clock()))))
        return bytes(rows[0][0]) if rows else None

    def has_link(self, secret: str) -> bool:
        """Whether the link is still to be used."""
        sql = f"SELECT 1 FROM links WHERE {THE_LINK}"
        return bool(self.access.rows(sql, digest(secret), to_micros(self._clock())))

    def _found(self, where: str, *values: Value) -> list[BrowserSession]:
        sql = (
            f"SELECT {COLUMNS} FROM sessions WHERE {{vault}} AND {where} expires_at > ? "
            "ORDER BY created_at DESC, id"
        )
        rows = self.access.rows(sql, *values, to_micros(self._clock()))
        return [_session(row) for row in rows]


def _session(row: tuple[Any, ...]) -> BrowserSession:
    id, token_hash, token_id, token_name, browser, *times = row
    created, expires, used = map(moment, times)
    assert created is not None
    assert expires is not None
    return BrowserSession(
        id=str(id),
        token_hash=bytes(token_hash),
        token_id=str(token_id),
        token_name=str(token_name),
        browser=str(browser),
        created_at=created,
        expires_at=expires,
        used_at=used,
    )
