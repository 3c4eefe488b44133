"""A memory as JSON, and its id in a URL."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from recollect.hashing import content_digest
from recollect.times import iso
from recollect.types import Memory

LATER = ("superseded_by", "archived_at")  # fields that most memories never get
# `.` and `..`, which clients resolve in a URL even if they are quoted.
DOTS = re.compile(r"\.{1,2}/*")


def memory_json(memory: Memory) -> dict[str, Any]:
    """Return every field, with times in UTC; those in LATER only if they are set."""
    values = ((name, getattr(memory, name)) for name in Memory.__struct_fields__)
    return {name: _plain(value) for name, value in values if value or name not in LATER}


def revision(memory: Memory) -> str:
    """Return a hash of all fields, which changes with the memory."""
    encoded = msgspec.json.encode(memory_json(memory)).decode()
    return content_digest(encoded, 12).hex()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return iso(value)
    return list(value) if isinstance(value, tuple) else value


def id_path(id: str) -> str:
    """Quote an id for a URL; one of dots alone gets a slash, so that clients do not resolve it."""
    return quote(f"{id}/" if DOTS.fullmatch(id) else id, safe="")


def id_of_path(path: str) -> str:
    """Return the id that `id_path` was given, from the path that a server has unquoted."""
    return path[:-1] if path.endswith("/") and DOTS.fullmatch(path) else path
