"""Credentials of a server's callers: tokens, browser sessions and login links; and a rate limit for
wrong ones.

Only wrong tokens count towards the limit. Attempts become available again at a steady rate, so
after an attack users are locked out for a few seconds at most.

Sessions and login links are random secrets, stored as hashes. A session has the rights of the token
it was started with, and ends with it. A link starts one session, within a few minutes.
"""

from __future__ import annotations

import hmac
import math
import mmap
import os
import time
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from typing import Any, NamedTuple

from msgspec import Struct

from recollect.auth.access import AttemptCounts, Value
from recollect.auth.capabilities import EVERYTHING, Caller
from recollect.auth.token_store import (
    SESSION,
    TokenStore,
    digest,
    is_well_formed,
    new_secret,
    read_moment,
)
from recollect.errors import NotFound
from recollect.times import to_micros

# After a month people log in again.
LASTS = timedelta(days=30)
# Long enough to copy a link from one window to another.
LINK_LASTS = timedelta(minutes=10)
# More than anyone's browsers; one more ends the oldest session.
MOST_SESSIONS = 100
LONGEST_BROWSER = 200
OF_TOKEN = "coalesce((SELECT {column} FROM tokens WHERE {{vault}} AND hash = token_hash), '')"
THE_LINK = "{vault} AND hash = ? AND expires_at > ?"
COLUMNS = (
    f"id, token_hash, {OF_TOKEN.format(column='id')}, {OF_TOKEN.format(column='name')}, "
    "browser, created_at, expires_at, used_at"
)
# People mistype a few times. One attempt in five seconds is six million guesses a year; a token of
# sixteen random characters takes longer than the age of the universe.
PER_ADDRESS, PER_ADDRESS_S = 10, 5.0
# For all addresses together.
IN_ALL, IN_ALL_S = 60, 1.0
# Number of counters. Addresses with the same hash share one.
PLACES = 1 << 16
EVERYBODY = ""
UNKNOWN = Caller(name="unknown", capabilities=frozenset())
SERVER = Caller(name="server token", capabilities=EVERYTHING)


class BrowserSession(Struct, frozen=True, kw_only=True):
    """A browser session. `token_id` and `token_name` are empty if it belongs to the token that the
    server was started with."""

    id: str
    token_hash: bytes
    token_id: str
    token_name: str
    browser: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None


class SessionStore:
    """Stores sessions and login links, next to the tokens."""

    def __init__(self, tokens: TokenStore) -> None:
        self._tokens = tokens
        self.access = tokens.access
        self._clock = tokens.clock

    def create(self, token_hash: bytes, browser: str = "") -> tuple[str, BrowserSession]:
        """Start a session for that token; return its secret and the session."""
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
        [session] = [each for each in self.list_all() if each.id == id]
        return secret, session

    def find(self, secret: str) -> BrowserSession | None:
        """Return the session with that secret; None if it is unknown or has ended."""
        if not is_well_formed(secret, SESSION):
            return None
        found = self._select("hash = ? AND", digest(secret))
        for session in found:
            self._tokens.note_use("sessions", session.id, session.used_at)
        return found[0] if found else None

    def list_all(self) -> list[BrowserSession]:
        """Return the sessions that have not ended, newest first."""
        return self._select("")

    def end(self, ids: Collection[str]) -> None:
        """End these sessions. If one is unknown, raise NotFound and end none of them."""
        there = {session.id for session in self.list_all()}
        for id in ids:
            if id not in there:
                raise NotFound(f"There is no session {id!r}; see: recollect access sessions")
        if ids:
            sql = "DELETE FROM sessions WHERE {vault} AND id = ?"
            self.access.change(*((sql, (id,)) for id in ids))

    def create_link(self, token_hash: bytes) -> str:
        """Create a link that starts one session for that token; return its secret."""
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
        """Use up the link and return the hash of its token; None if it is used or too old. Of two
        simultaneous calls, one gets it."""
        if not is_well_formed(secret, SESSION) or not self.has_link(secret):
            return None
        sql = f"DELETE FROM links WHERE {THE_LINK} RETURNING token_hash"
        rows = self.access.change((sql, (digest(secret), to_micros(self._clock()))))
        return bytes(rows[0][0]) if rows else None

    def has_link(self, secret: str) -> bool:
        """Return whether the link is unused and not too old."""
        sql = f"SELECT 1 FROM links WHERE {THE_LINK}"
        return bool(self.access.rows(sql, digest(secret), to_micros(self._clock())))

    def _select(self, where: str, *values: Value) -> list[BrowserSession]:
        sql = (
            f"SELECT {COLUMNS} FROM sessions WHERE {{vault}} AND {where} expires_at > ? "
            "ORDER BY created_at DESC, id"
        )
        rows = self.access.rows(sql, *values, to_micros(self._clock()))
        return [_session(row) for row in rows]


def _session(row: tuple[Any, ...]) -> BrowserSession:
    id, token_hash, token_id, token_name, browser, *times = row
    created, expires, used = map(read_moment, times)
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


class SharedCounts:
    """Counters in memory, shared with processes that are forked from this one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._whole_again = memoryview(mmap.mmap(-1, 8 * PLACES)).cast("d")

    def ahead_s(self, key: str) -> float:
        return self._whole_again[_place(key)] - self._clock()

    def put_off(self, key: str, interval_s: float, most_s: float) -> None:
        now = self._clock()
        later = max(self._whole_again[_place(key)], now) + interval_s
        self._whole_again[_place(key)] = min(later, now + most_s)


class Attempts:
    """Counts wrong tokens, by address and in all. A counter is the time at which all attempts are
    available again; each wrong token postpones it."""

    def __init__(self, counts: AttemptCounts | None = None) -> None:
        self._counts = counts or SharedCounts()

    def wait_s(self, address: str) -> int:
        """Return how many seconds to wait before the next attempt; 0 if it is allowed now."""
        left = max(
            self._left_s(_network(address), PER_ADDRESS, PER_ADDRESS_S),
            self._left_s(EVERYBODY, IN_ALL, IN_ALL_S),
        )
        return math.ceil(max(0.0, left))

    def count_failure(self, address: str) -> None:
        """Count a wrong token."""
        limits = ((_network(address), PER_ADDRESS, PER_ADDRESS_S), (EVERYBODY, IN_ALL, IN_ALL_S))
        for key, most, interval_s in limits:
            # After any number of attempts, the next one waits for one interval.
            self._counts.put_off(key, interval_s, most * interval_s)

    def _left_s(self, key: str, most: int, interval_s: float) -> float:
        return self._counts.ahead_s(key) - (most - 1) * interval_s


def _place(key: str) -> int:
    return hash(key) % (PLACES - 1) + 1 if key != EVERYBODY else 0


def _network(address: str) -> str:
    """Return the address, or for IPv6 its /64 network, which one user has as a whole."""
    try:
        parsed = ip_address(address)
    except ValueError:  # a Unix socket has none
        return "local"
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(IPv6Address(int(parsed) >> 64 << 64))
    return address


class CredentialCheck(NamedTuple):
    """The caller of a token or session, and what is wrong with it; empty if it is valid."""

    caller: Caller
    wrong: str = ""
    session: BrowserSession | None = None


class Credentials:
    """Checks tokens and sessions. Tokens given at the start allow everything; `stored` ones have
    capabilities; a session has those of its token. All are kept as hashes.

    Unless `required`, a caller without a token is the owner: on a Unix socket, or with --no-auth.
    """

    def __init__(
        self,
        tokens: Iterable[str] = (),
        stored: TokenStore | None = None,
        *,
        required: bool = False,
    ) -> None:
        self._hashes = [digest(token) for token in tokens]
        self.stored = stored
        self.sessions = None if stored is None else SessionStore(stored)
        self.required = required or bool(self._hashes)
        self.attempts = Attempts(None if stored is None else stored.access.attempts)
        self.remote = stored is not None and stored.access.remote
        # Identifies the home or vault in the name of its cookie.
        place = "" if stored is None else stored.access.mark
        self.home_mark = sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:8]

    def close(self) -> None:
        """Close the store; the next check opens it again."""
        if self.stored is not None:
            self.stored.close()

    def has_tokens(self) -> bool:
        """Return whether there is any token to log in with."""
        return self.required or (self.stored is not None and self.stored.has_live())

    def check_token(self, token: str) -> CredentialCheck:
        """Look up a token. Done for each request, so that a revoked token is refused at once."""
        return self._by_hash(digest(token))

    def check_session(self, secret: str) -> CredentialCheck:
        """Look up a session. It is valid as long as the token it was started with."""
        session = None if self.sessions is None else self.sessions.find(secret)
        if session is None:
            return CredentialCheck(UNKNOWN, "unknown session")
        return self._by_hash(session.token_hash)._replace(session=session)

    def begin_session(self, token_hash: bytes, browser: str) -> tuple[str, CredentialCheck]:
        """Start a session; return the secret for its cookie and the check. The secret is empty if
        the token is not valid."""
        check = self._by_hash(token_hash)
        if check.wrong or self.sessions is None:
            return "", check
        secret, session = self.sessions.create(token_hash, browser)
        return secret, check._replace(session=session)

    def may_manage(self, caller: Caller) -> bool:
        """Return whether this caller may do everything, and so may make and revoke tokens."""
        whole = caller.vaults is None and caller.collections is None
        return caller.may(*EVERYTHING) and whole and self.stored is not None

    def visible_sessions(self, caller: Caller) -> list[BrowserSession]:
        """Return the sessions that this caller may see and end: all if it may do everything, else
        those of the same token."""
        every = [] if self.sessions is None else self.sessions.list_all()
        if self.may_manage(caller):
            return every
        return [session for session in every if session.token_id == caller.token != ""]

    def _by_hash(self, hashed: bytes) -> CredentialCheck:
        # Every hash is compared, so that the time taken does not reveal a partial match.
        if sum(hmac.compare_digest(hashed, known) for known in self._hashes) > 0:
            return CredentialCheck(SERVER)
        found = None if self.stored is None else self.stored.find_by_hash(hashed)
        if found is None:
            return CredentialCheck(UNKNOWN, "unknown token")
        stored, state = found
        return CredentialCheck(stored.caller(), "" if state == "live" else f"{state} token")
