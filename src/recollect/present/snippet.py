"""Short pieces of a memory's text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.context import SearchContext
from recollect.types import Memory

SCAN_CHARACTERS = 120
MARKED = re.compile("<mark>(.*?)</mark>", re.DOTALL)


def plain_start(text: str) -> str:
    """The first 120 characters. Source: the `vault` recipe, "Modes"."""
    return text[:SCAN_CHARACTERS]


def pieces(snippet: str) -> list[tuple[str, bool]]:
    """A marked snippet in pieces, and whether each is a match. A mark that stands alone is the
    memory's own text."""
    parts = MARKED.split(snippet)
    return [(part, place % 2 == 1) for place, part in enumerate(parts) if part]


def marked(context: SearchContext, memories: Sequence[Memory]) -> dict[str, str]:
    """FTS5's snippet, with `<mark>`, of every memory that a keyword channel matched.

    A memory that only its meaning found has none. Source: the `router` recipe, "Snippet".
    """
    found: dict[str, str] = {}
    for channel, (index, expression) in context.matches.items():
        hit = set(context.channels.get(channel, ()) and context.channels[channel].ids)
        held = [memory for memory in memories if memory.id in hit]
        found |= context.store.keyword.snippets(index, expression, held)
    return found
