"""A memory as JSON, the same for export, the command line and servers; and its id in an address."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from recollect.hashing import content_digest
from recollect.times import iso
from recollect.types import Memory

LATER = ("superseded_by", "archived_at")  # what may become of a memory, and mostly does not
# One dot or two name a folder in an address, however they are written, and never reach the server.
DOTS = re.compile(r"\.{1,2}/*")


def memory_json(memory: Memory) -> dict[str, Any]:
    """Every field, times in UTC; those of LATER only where they are set."""
    values = ((name, getattr(memory, name)) for name in Memory.__struct_fields__)
    return {name: _plain(value) for name, value in values if value or name not in LATER}


def revision(memory: Memory) -> str:
    """A hash of every field: it changes whenever the memory changes."""
    encoded = msgspec.json.encode(memory_json(memory)).decode()
    return content_digest(encoded, 12).hex()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return iso(value)
    return list(value) if isinstance(value, tuple) else value


def id_path(id: str) -> str:
    """The id, quoted. One of dots alone is followed by a slash, by which it is a name again."""
    return quote(f"{id}/" if DOTS.fullmatch(id) else id, safe="")


def id_of_path(path: str) -> str:
    """The id that `id_path` was made of, after a server has unquoted it."""
    return path[:-1] if path.endswith("/") and DOTS.fullmatch(path) else path
