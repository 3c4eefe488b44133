"""Ids that a person can read, and that the same memory gets again."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from recollect.hashing import content_digest

LONGEST_SLUG = 48
# Letters of five bits each.
SUFFIX = 6
LONG_SUFFIX = 20
# The fields that tell one memory from another.
CONTENT = (
    "title",
    "text",
    "context",
    "why",
    "impact",
    "details",
    "kind",
    "project",
    "space",
    "path",
)


def slug(text: str) -> str:
    """The text as lower-case words joined by hyphens, Latin letters without accents, cut at a word:
    `JWT: why?` is `jwt-why`, `Über Größe` is `uber-große`, `日本語のメモ` stays."""
    low = text[:200].lower()
    if not low.isascii():
        low = "".join(map(_plain, unicodedata.normalize("NFC", low)))
    found = re.sub("[^a-z0-9]+" if low.isascii() else "-+", "-", low).strip("-")
    if len(found) <= LONGEST_SLUG:
        return found
    return found[:LONGEST_SLUG].rpartition("-")[0] or found[:LONGEST_SLUG]


def _plain(letter: str) -> str:
    """The letter as an id has it; a hyphen for what is no letter, digit or vowel sign."""
    if letter.isascii():
        return letter if letter.isalnum() else "-"
    bare = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    if bare.isalnum():
        return bare.lower()
    return letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else "-"


def content_of(fields: Mapping[str, object]) -> str:
    """The content of a memory as one text; a field that is not given has its default."""
    return "\0".join(str(fields.get(name, "fact" if name == "kind" else "")) for name in CONTENT)


def hash_letters(text: str, size: int = 20) -> str:
    """A hash of so many bytes, in small letters and digits: eight for five bytes."""
    from base64 import b32encode  # noqa: PLC0415  start-up time

    return b32encode(content_digest(text, size)).decode().lower()


def made_id(fields: Mapping[str, object], suffix: int = SUFFIX) -> str:
    """A slug of the title (or text), and a few letters of a hash of the content.

    The same content in the same project gets the same id again, so that a repeated import makes no
    duplicates.
    """
    start = slug(str(fields.get("title") or fields.get("text") or "")) or "memory"
    return f"{start}-{hash_letters(content_of(fields))[:suffix]}"
