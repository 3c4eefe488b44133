"""Hashes of texts, files and tags."""

from __future__ import annotations

import hashlib
import hmac
import zlib

CHECKSUM = 4  # bytes, behind what it is of


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


def with_checksum(body: bytes) -> bytes:
    """The bytes and their checksum behind them."""
    return body + zlib.crc32(body).to_bytes(CHECKSUM, "big")


def intact(blob: bytes) -> bool:
    """Whether bytes are what `with_checksum` made."""
    body, checksum = blob[:-CHECKSUM], blob[-CHECKSUM:]
    return len(checksum) == CHECKSUM and zlib.crc32(body) == int.from_bytes(checksum, "big")
