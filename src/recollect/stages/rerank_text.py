"""What a cross-encoder sees of a memory: its title, and the part of the text that matters."""

from __future__ import annotations

import re

from recollect.query.passages import best_field, window
from recollect.query.terms import keywords, lowered
from recollect.types import Memory

# Words in one piece: camelCase, and what underscores join.
COMPOUND = re.compile(r"\b[A-Za-z]+(?:[a-z][A-Z]|_)\w*")
BORDER = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def whole(memory: Memory) -> str:
    """Everything; the model cuts what it cannot take in."""
    return f"{memory.title}\n{memory.text}".strip()


def focused(memory: Memory, query: str, size: int) -> str:
    """The title and about `size` characters of the text, or of the details where more of the
    query's words stand together there; the beginning where there are none. Identifiers that the
    query says in plain words are read as these."""
    words = keywords(query)
    body = getattr(memory, best_field(memory, words, size, ("text", "details"))[0])
    return spoken(f"{memory.title}\n{window(body, words, size)}".strip(), query)


def spoken(text: str, query: str) -> str:
    """`FileSyncService` as `File Sync Service` where the query has these words; a model sees one
    word that it does not know otherwise."""
    asked = set(lowered(query))

    def plain(found: re.Match[str]) -> str:
        parts = BORDER.sub(" ", found[0])
        return parts if asked.issuperset(parts.lower().split()) else found[0]

    return COMPOUND.sub(plain, text)
