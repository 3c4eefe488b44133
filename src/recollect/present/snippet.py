"""Short pieces of a memory's text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.context import SearchContext
from recollect.types import Memory

if TYPE_CHECKING:
    from recollect.recipes.base import AnyChannel

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


def marked(
    context: SearchContext, channels: Sequence[AnyChannel], memories: Sequence[Memory]
) -> dict[str, str]:
    """FTS5's snippet, with `<mark>`, of every memory that a keyword channel matched.

    A memory that only its meaning found has none. Source: the `router` recipe, "Snippet".
    """
    snippets: dict[str, str] = {}
    for channel in channels:
        ids = set(context.channels[channel.name].ids if channel.name in context.channels else ())
        matched = [memory for memory in memories if memory.id in ids]
        if matched and (asked := channel.matches(context)) is not None:
            snippets |= context.store.keyword.snippets(*asked, matched)
    return snippets
