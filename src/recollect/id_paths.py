"""Ids of memories as the end of an address, and read back from it."""

from __future__ import annotations

import re
from urllib.parse import quote

# One dot or two name a folder in an address, however they are written, and never reach the server.
DOTS = re.compile(r"\.{1,2}/*")


def id_path(id: str) -> str:
    """The id, quoted. One of dots alone is followed by a slash, by which it is a name again."""
    return quote(f"{id}/" if DOTS.fullmatch(id) else id, safe="")


def id_of_path(path: str) -> str:
    """The id that `id_path` was made of, after a server has unquoted it."""
    return path[:-1] if path.endswith("/") and DOTS.fullmatch(path) else path
