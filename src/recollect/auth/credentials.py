"""What a caller may show to a server: a token, or the cookie of a browser session."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from recollect.auth.attempts import Attempts
from recollect.auth.capabilities import EVERYTHING, Caller
from recollect.auth.session_store import BrowserSession, SessionStore
from recollect.auth.token_store import TokenStore
from recollect.auth.tokens import digest

UNKNOWN = Caller(name="unknown", capabilities=frozenset())
SERVER = Caller(name="server token", capabilities=EVERYTHING)


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
