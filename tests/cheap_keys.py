"""Keys of passphrases cost next to nothing in tests: by Argon2id, as always, but with one pass over
8 KiB instead of three over 64 MiB. What is marked `installed`, or asks for `costly_keys`, pays."""

from __future__ import annotations

from typing import Any

from argon2 import low_level

cheap = True
_hash = low_level.hash_secret_raw


def set_up() -> None:
    """From now on, in this process."""
    low_level.hash_secret_raw = _hashed  # type: ignore[assignment]


def _hashed(
    secret: bytes, salt: bytes, passes: int, memory: int, lanes: int, length: int, kind: Any
) -> bytes:
    if cheap:
        passes, memory, lanes = 1, 8, 1
    return _hash(secret, salt, passes, memory, lanes, length, kind)
