"""Hashes of texts, files and tags."""

from __future__ import annotations

import hashlib
import hmac
import zlib

CHECKSUM = 4  # bytes, appended


def content_digest(text: str, size: int) -> bytes:
    """Return a digest of `size` bytes of a text, which may contain lone surrogates."""
    return bytes_digest(text.encode(errors="surrogatepass"), size)


def bytes_digest(raw: bytes, size: int = 16) -> bytes:
    """Return a digest of `size` bytes of a file's content."""
    return hashlib.blake2b(raw, digest_size=size).digest()


def sha256_hex(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def topic_hash(key: bytes, word: str) -> bytes:
    """Return the HMAC-SHA-256 of a tag in lower case, which reveals nothing without the key."""
    return hmac.digest(key, word.lower().encode(), "sha256")


def with_checksum(body: bytes) -> bytes:
    """Append a checksum to the bytes."""
    return body + zlib.crc32(body).to_bytes(CHECKSUM, "big")


def is_intact(blob: bytes) -> bool:
    """Return whether the checksum that `with_checksum` appended is right."""
    body, checksum = blob[:-CHECKSUM], blob[-CHECKSUM:]
    return len(checksum) == CHECKSUM and zlib.crc32(body) == int.from_bytes(checksum, "big")
