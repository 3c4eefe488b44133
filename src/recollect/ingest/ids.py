"""Ids that a person can read, and that the same memory gets again."""

from __future__ import annotations

import re
import unicodedata
from base64 import b32encode
from collections.abc import Mapping

from recollect.hashing import content_digest

LONGEST_SLUG = 48
SUFFIX = 6
LONG_SUFFIX = 20
SAID = ("title", "text", "context", "why", "impact", "details", "kind", "project", "space", "path")


def slug(text: str) -> str:
    """Lower-case words joined by hyphens, accents removed, cut at a word: `JWT: why?` is
    `jwt-why`."""
    bare = unicodedata.normalize("NFKD", text[:200]).encode("ascii", "ignore").decode().lower()
    found = re.sub(r"[^a-z0-9]+", "-", bare).strip("-")
    if len(found) <= LONGEST_SLUG:
        return found
    return found[:LONGEST_SLUG].rpartition("-")[0] or found[:LONGEST_SLUG]


def said(fields: Mapping[str, object]) -> str:
    """What a memory says, as one text; a field that was not given says what its default says."""
    return "\0".join(str(fields.get(name, "fact" if name == "kind" else "")) for name in SAID)


def made_id(fields: Mapping[str, object], suffix: int = SUFFIX) -> str:
    """A slug of the title (or text) and a few letters of a hash of what is said.

    Saying the same thing of the same project again gives the same id, so that an import can be
    repeated without making twins.
    """
    letters = b32encode(content_digest(said(fields), 20)).decode().lower()
    start = slug(str(fields.get("title") or fields.get("text") or "")) or "memory"
    return f"{start}-{letters[:suffix]}"
