"""What a cross-encoder sees of a memory: its title, and the part of the text that matters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.query.terms import keywords, lowered
from recollect.types import Memory

# Endings change a word's last letters; so much of its beginning is enough to find it again.
ENDING = 3
# Words in one piece: camelCase, and what underscores join.
COMPOUND = re.compile(r"\b[A-Za-z]+(?:[a-z][A-Z]|_)\w*")
BORDER = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
LEAST_START = 4


def whole(memory: Memory) -> str:
    """Everything; the model cuts what it cannot take in."""
    return f"{memory.title}\n{memory.text}".strip()


def focused(memory: Memory, query: str, size: int) -> str:
    """The title and about `size` characters of the text: where most of the query's words stand
    together, the beginning where there are none. Identifiers that the query says in plain words
    are read as these."""
    words = keywords(query)
    return spoken(f"{memory.title}\n{window(memory.text, words, size)}".strip(), query)


def spoken(text: str, query: str) -> str:
    """`FileSyncService` as `File Sync Service` where the query has these words; a model sees one
    word that it does not know otherwise."""
    asked = set(lowered(query))

    def plain(found: re.Match[str]) -> str:
        parts = BORDER.sub(" ", found[0])
        return parts if asked.issuperset(parts.lower().split()) else found[0]

    return COMPOUND.sub(plain, text)


def window(text: str, words: Sequence[str], size: int) -> str:
    """The part of a text with the most different words, of several the first, cut between words."""
    if len(text) <= size:
        return text
    first, last = _densest(_matches(text, words), size)
    start = max(0, min(first - (size - (last - first)) // 2, len(text) - size))
    end = start + size
    if start and not text[start - 1].isspace():
        start = _next_space(text, start, end)
    if end < len(text) and not text[end].isspace():
        end = max(text.rfind(" ", start, end), start + 1)
    return text[start:end].strip()


def _matches(text: str, words: Sequence[str]) -> list[tuple[int, str]]:
    """Where a word begins that begins like one of the query's, and which."""
    starts = {word[: max(LEAST_START, len(word) - ENDING)] for word in words}
    if not starts:
        return []
    pattern = "|".join(re.escape(start) for start in sorted(starts, key=len, reverse=True))
    found = re.finditer(rf"\b(?:{pattern})", text, re.IGNORECASE)
    return [(one.start(), one[0].lower()) for one in found]


def _densest(matches: Sequence[tuple[int, str]], size: int) -> tuple[int, int]:
    """From where to where the window with the most different words reaches."""
    best, most, first = (0, 0), 0, 0
    for place, (position, _) in enumerate(matches):
        while position - matches[first][0] > size:
            first += 1
        different = len({word for _, word in matches[first : place + 1]})
        if different > most:
            best, most = (matches[first][0], position), different
    return best


def _next_space(text: str, start: int, end: int) -> int:
    space = text.find(" ", start, end)
    return space + 1 if space >= 0 else start
