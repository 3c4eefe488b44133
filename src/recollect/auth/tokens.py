"""Access tokens: who may call a server, and to do what.

A token is 32 random bytes, so that its plain SHA-256 cannot be reversed by guessing. It is shown
once; only its hash is stored.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Collection
from datetime import UTC, datetime
from hashlib import sha256

from msgspec import Struct

from recollect.auth.capabilities import CAPABILITIES, Caller
from recollect.errors import UserError

TOKEN = "rcl_"  # how a token begins
SESSION = "rcs_"  # how the secret of a session or a link begins, so that neither passes for a token
RANDOM_BYTES = 32
LENGTH = 43  # base64 makes so many characters of 32 bytes
LONGEST_NAME = 100


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


def well_formed(secret: str, start: str = TOKEN) -> bool:
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
