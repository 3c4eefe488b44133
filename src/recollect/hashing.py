"""Hashes of texts, files and tags."""

from __future__ import annotations

import hashlib
import hmac


def content_digest(text: str, size: int) -> bytes:
    """A digest of `size` bytes of a text, which may contain lone surrogates."""
    return bytes_digest(text.encode(errors="surrogatepass"), size)


def bytes_digest(raw: bytes, size: int = 16) -> bytes:
    """A digest of `size` bytes of a file's content."""
    return hashlib.blake2b(raw, digest_size=size).digest()


def sha256_hex(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def keyed_digest(key: bytes, text: str) -> bytes:
    """HMAC-SHA-256: without the key it reveals nothing about the text."""
    return hmac.digest(key, text.encode(), "sha256")


def topic_hash(key: bytes, word: str) -> bytes:
    """The keyed hash of a tag; case does not matter."""
    return keyed_digest(key, word.lower())
