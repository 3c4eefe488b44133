"""What a caller may show to a server: a token, or the cookie of a browser session; and how often
somebody may try to log in with a wrong one.

Wrong tokens alone count, and what was used up comes back steadily, so that nobody is shut out for
longer than a few seconds after an attack has ended.
"""

from __future__ import annotations

import hmac
import math
import mmap
import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from recollect.auth.access import AttemptCounts
from recollect.auth.capabilities import EVERYTHING, Caller
from recollect.auth.session_store import BrowserSession, SessionStore
from recollect.auth.token_store import TokenStore, digest

# A person mistypes a few times. At one in five seconds, a year allows six million guesses: a token
# of sixteen random characters takes longer than the universe is old.
PER_ADDRESS, PER_ADDRESS_S = 10, 5.0
# However many addresses take part.
IN_ALL, IN_ALL_S = 60, 1.0
# Counts that are kept. Addresses that share one by chance are counted as one.
PLACES = 1 << 16
EVERYBODY = ""
UNKNOWN = Caller(name="unknown", capabilities=frozenset())
SERVER = Caller(name="server token", capabilities=EVERYTHING)


class SharedCounts:
    """Counts in memory: processes that are forked from the one that made it count together."""

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
    """Counts wrong tokens, by address and in all. For each there is the time at which all of its
    attempts have come back; one more puts that off."""

    def __init__(self, counts: AttemptCounts | None = None) -> None:
        self._counts = counts or SharedCounts()

    def wait_s(self, address: str) -> int:
        """How many seconds to wait before the next attempt; 0 where it may be made."""
        left = max(
            self._left_s(_network(address), PER_ADDRESS, PER_ADDRESS_S),
            self._left_s(EVERYBODY, IN_ALL, IN_ALL_S),
        )
        return math.ceil(max(0.0, left))

    def failed(self, address: str) -> None:
        """Count a wrong token."""
        limits = ((_network(address), PER_ADDRESS, PER_ADDRESS_S), (EVERYBODY, IN_ALL, IN_ALL_S))
        for key, most, interval_s in limits:
            # However many come, the next one waits for one interval.
            self._counts.put_off(key, interval_s, most * interval_s)

    def _left_s(self, key: str, most: int, interval_s: float) -> float:
        return self._counts.ahead_s(key) - (most - 1) * interval_s


def _place(key: str) -> int:
    return hash(key) % (PLACES - 1) + 1 if key != EVERYBODY else 0


def _network(address: str) -> str:
    """The address, or of IPv6 the network of it: whoever has one address there has them all."""
    try:
        parsed = ip_address(address)
    except ValueError:  # a Unix socket has none
        return "local"
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(IPv6Address(int(parsed) >> 64 << 64))
    return address


class CredentialCheck(NamedTuple):
    """Whose token or session it is, and what is wrong with it; nothing where it is valid."""

    caller: Caller
    wrong: str = ""
    session: BrowserSession | None = None


class Credentials:
    """Tokens that the server was started with, which allow everything; those of the home, each with
    what it allows; and the sessions that were begun with either. All are kept as hashes.

    Where none is `required`, whoever shows none is the owner: nobody else can call then, or the
    owner wants it so.
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
        # Which home or vault this is, for the name of its cookie.
        place = "" if stored is None else stored.access.mark
        self.home_mark = sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:8]

    def close(self) -> None:
        """Close what is open; the next check opens it again."""
        if self.stored is not None:
            self.stored.close()

    def offered(self) -> bool:
        """Whether there is any token to log in with."""
        return self.required or (self.stored is not None and self.stored.any_live())

    def token(self, token: str) -> CredentialCheck:
        """Whose token it is, looked up for each request: a revoked token is refused at once."""
        return self._by_hash(digest(token))

    def session(self, secret: str) -> CredentialCheck:
        """Whose session it is. It is valid as long as the token that it was begun with."""
        session = None if self.sessions is None else self.sessions.known(secret)
        if session is None:
            return CredentialCheck(UNKNOWN, "unknown session")
        return self._by_hash(session.token_hash)._replace(session=session)

    def begin(self, token_hash: bytes, browser: str) -> tuple[str, CredentialCheck]:
        """Begin a session: the secret for the cookie, and whose it is. Nothing begins where the
        token is not valid."""
        check = self._by_hash(token_hash)
        if check.wrong or self.sessions is None:
            return "", check
        secret, session = self.sessions.create(token_hash, browser)
        return secret, check._replace(session=session)

    def managed_by(self, caller: Caller) -> bool:
        """Whether this caller may do everything, and so may make and revoke tokens."""
        whole = caller.vaults is None and caller.collections is None
        return caller.may(*EVERYTHING) and whole and self.stored is not None

    def visible_sessions(self, caller: Caller) -> list[BrowserSession]:
        """The sessions that this caller may see and end: all, for who may do everything, else
        those of the same token."""
        every = [] if self.sessions is None else self.sessions.every()
        if self.managed_by(caller):
            return every
        return [session for session in every if session.token_id == caller.token != ""]

    def _by_hash(self, hashed: bytes) -> CredentialCheck:
        # Every hash is compared, so that the time taken does not tell which came close.
        if sum(hmac.compare_digest(hashed, known) for known in self._hashes) > 0:
            return CredentialCheck(SERVER)
        found = None if self.stored is None else self.stored.by_hash(hashed)
        if found is None:
            return CredentialCheck(UNKNOWN, "unknown token")
        stored, state = found
        return CredentialCheck(stored.caller(), "" if state == "live" else f"{state} token")
