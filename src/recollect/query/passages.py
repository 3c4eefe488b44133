"""The passage of a memory that a query is about: where most of its words stand together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.query.exact import is_unspaced
from recollect.query.subwords import pairs
from recollect.types import Memory, Passage, Span

# Where a passage may stand; of equally good ones the first is shown.
FIELDS = ("text", "details", "why", "impact", "context")
# Endings change a word's last letters; so much of its beginning is enough to find it again.
ENDING = 3
LEAST_START = 4
# Where a passage had better begin: with a line, or with a sentence.
BEGINNING = re.compile(r"\n\s*|[.!?。！？]\s+")
CUT = "…"
LONG_WORD = 20  # characters
# Characters of a field that are looked through: a book, in some milliseconds.
MOST_READ = 200_000


def passage(memory: Memory, words: Sequence[str], size: int, at: int = 0) -> Passage:
    """The best passage of at most `size` characters and the marks of cuts. Where no field holds a
    word, it is what stands at `at` in the first field that holds anything."""
    field = best_field(memory, words, size)
    text = getattr(memory, field)
    different, first, last = _densest(_matches(text, words), size)
    start = 0 if different else min(at, max(0, len(text) - size))
    if different and last + LONG_WORD > size:  # it is not in the beginning
        start = span(text, words, size).start
        for border in BEGINNING.finditer(text, start, first):
            start = border.end()
    start, end = _between_words(text, start, size)
    shown = text[start:end].strip("\n").rstrip()
    return Passage(field, f"{CUT if start else ''}{shown}{CUT if end < len(text) else ''}")


def best_field(
    memory: Memory, words: Sequence[str], size: int, fields: Sequence[str] = FIELDS
) -> str:
    """The field that holds the passage with the most different words."""
    held = [field for field in fields if getattr(memory, field)] or [fields[0]]
    if len(held) == 1:
        return held[0]
    return max(held, key=lambda field: _densest(_matches(getattr(memory, field), words), size)[0])


def window(text: str, words: Sequence[str], size: int) -> str:
    """The part of a text with the most different words, of several the first, cut between words.
    The beginning where there are none."""
    if len(text) <= size:
        return text
    start, end = span(text, words, size)
    return text[start : end or _between_words(text, 0, size).end].strip()


def span(text: str, words: Sequence[str], size: int) -> Span:
    """Where that part is; nothing at all where the text holds none of the words."""
    different, first, last = _densest(_matches(text, words), size)
    if not different:
        return Span(0, 0)
    if len(text) <= size:
        return Span(0, len(text))
    start = max(0, min(first - (size - (last - first)) // 2, len(text) - size))
    return _between_words(text, start, size)


def _between_words(text: str, start: int, size: int) -> Span:
    end = min(start + size, len(text))
    if start and not text[start - 1].isspace():
        space = text.find(" ", start, end)
        start = space + 1 if space >= 0 else start
    if end < len(text) and not text[end].isspace():
        space = text.rfind(" ", start, end)
        end = space if space > start else end  # not every script has spaces
    return Span(start, end)


def _matches(text: str, words: Sequence[str]) -> list[tuple[int, str]]:
    """Where a word begins that begins like one of the query's, and which. Scripts without spaces
    are compared by neighbouring characters."""
    unspaced = [word for word in words if is_unspaced(word)]
    starts = {word[: max(LEAST_START, len(word) - ENDING)] for word in words}
    parts = [rf"\b{re.escape(start)}" for start in sorted(starts, key=len, reverse=True)]
    parts += [re.escape(pair) for word in unspaced for pair in pairs(word)]
    if not parts:
        return []
    found = re.compile("|".join(parts), re.IGNORECASE).finditer(text, 0, MOST_READ)
    return [(one.start(), one[0].lower()) for one in found]


def _densest(matches: Sequence[tuple[int, str]], size: int) -> tuple[int, int, int]:
    """How many different words the best window has, and from where to where they reach."""
    best, first = (0, 0, 0), 0
    for place, (position, _) in enumerate(matches):
        while position - matches[first][0] > size:
            first += 1
        different = len({word for _, word in matches[first : place + 1]})
        if different > best[0]:
            best = (different, matches[first][0], position)
    return best
