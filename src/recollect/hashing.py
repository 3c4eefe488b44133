"""Hashes. OpenSSL takes longer to load than a search takes, so it is loaded when first used."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b


def content_digest(text: str, size: int) -> bytes:
    """A digest of `size` bytes of a text, which may contain lone surrogates."""
    return bytes_digest(text.encode(errors="surrogatepass"), size)


def bytes_digest(raw: bytes, size: int = 16) -> bytes:
    """A digest of `size` bytes of a file's content."""
    return _blake2b()(raw, digest_size=size).digest()


@cache  # an import of many hashes each memory three times
def _blake2b() -> type[blake2b]:
    import hashlib  # noqa: PLC0415  start-up time: a search hashes nothing

    return hashlib.blake2b


def sha256_hex(raw: bytes) -> str:
    import hashlib  # noqa: PLC0415  start-up time: a search by words hashes nothing

    return hashlib.sha256(raw).hexdigest()


def keyed_digest(key: bytes, text: str) -> bytes:
    """HMAC-SHA-256: without the key it reveals nothing about the text."""
    import hmac  # noqa: PLC0415  start-up time: a search without tags hashes nothing

    return hmac.digest(key, text.encode(), "sha256")


def topic_hash(key: bytes, word: str) -> bytes:
    """The keyed hash of a tag; case does not matter."""
    return keyed_digest(key, word.lower())
