"""The passage of a memory that best answers a query: the one with most of its words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from recollect.query.exact import is_unspaced
from recollect.query.subwords import pairs
from recollect.types import Memory, Passage, Span

# The fields with passages; ties go to the first.
FIELDS = ("text", "details", "why", "impact", "context")
# Endings change a word's last letters, so its beginning is searched for.
ENDING = 3
LEAST_START = 4
# A passage preferably begins with a line or a sentence.
BEGINNING = re.compile(r"\n\s*|[.!?。！？]\s+")
CUT = "…"
LONG_WORD = 20  # characters
# Small letters that a case-insensitive pattern matches with i and s.
ODD = ("ı", "ſ")
# Characters of a field that are read: a book, in some milliseconds.
MOST_READ = 200_000


class Densest(NamedTuple):
    """The window with the most distinct words: their number, and its first and last match."""

    different: int = 0
    first: int = 0
    last: int = 0


def passage(
    memory: Memory, words: Sequence[str], size: int, at: int = 0, *, answering: bool = False
) -> Passage:
    """Return the best passage of at most `size` characters plus the marks of cuts.

    at: the start of the passage in the first field with a text, if no field has a word of the
        query.
    answering: that passage is known to answer; it is kept unless another field has more words.
    """
    field, best = best_field(memory, words, size)
    text = getattr(memory, field)
    if not best.different or (answering and field == FIELDS[0]):
        start = min(at, max(0, len(text) - size))
        for border in BEGINNING.finditer(text, max(0, start - LONG_WORD), start):
            start = border.end()
        return _cut_out(field, text, start, size)
    start = 0
    if best.last + LONG_WORD > size:  # it is not in the beginning
        start = _centre(text, best, size).start
        for border in BEGINNING.finditer(text, start, best.first):
            start = border.end()
    return _cut_out(field, text, start, size)


def extend(memory: Memory, found: Passage, words: Sequence[str], size: int) -> Passage:
    """Extend a passage on both sides to at most `size` characters plus the marks of cuts."""
    text, known = getattr(memory, found.field), found.text.strip(CUT)
    at = text.find(known)
    if at < 0:
        return passage(memory, words, size)
    start = max(0, min(at - (size - len(known)) // 2, len(text) - size))
    return _cut_out(found.field, text, start, size)


def _cut_out(field: str, text: str, start: int, size: int) -> Passage:
    start, end = _cut_between_words(text, start, size)
    shown = text[start:end].strip("\n").rstrip()
    return Passage(field, f"{CUT if start else ''}{shown}{CUT if end < len(text) else ''}")


def best_field(
    memory: Memory, words: Sequence[str], size: int, fields: Sequence[str] = FIELDS
) -> tuple[str, Densest]:
    """Return the field that holds the window with the most distinct words, and that window."""
    filled = [field for field in fields if getattr(memory, field)] or [fields[0]]
    found = {field: densest(getattr(memory, field), words, size) for field in filled}
    field = max(filled, key=lambda field: found[field].different)
    return field, found[field]


def window(text: str, words: Sequence[str], size: int) -> str:
    """Return the part of a text with the most distinct words, cut between words; the first of
    several, or the beginning."""
    if len(text) <= size:
        return text
    start, end = _centre(text, densest(text, words, size), size)
    return text[start : end or _cut_between_words(text, 0, size).end].strip()


def _centre(text: str, best: Densest, size: int) -> Span:
    """Return the span with the window in its middle; an empty one if no word was found."""
    different, first, last = best
    if not different:
        return Span(0, 0)
    if len(text) <= size:
        return Span(0, len(text))
    start = max(0, min(first - (size - (last - first)) // 2, len(text) - size))
    return _cut_between_words(text, start, size)


def _cut_between_words(text: str, start: int, size: int) -> Span:
    end = min(start + size, len(text))
    if start and not text[start - 1].isspace():
        space = text.find(" ", start, end)
        start = space + 1 if space >= 0 else start
    if end < len(text) and not text[end].isspace():
        space = text.rfind(" ", start, end)
        end = space if space > start else end  # not every script has spaces
    return Span(start, end)


def densest(text: str, words: Sequence[str], size: int) -> Densest:
    """Return the best window of at most `size` characters; ties go to the first."""
    best, first = Densest(), 0
    matches = _matches(text, words)
    inside: dict[str, int] = {}
    for position, word in matches:
        inside[word] = inside.get(word, 0) + 1
        while position - matches[first][0] > size:
            gone = matches[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        if len(inside) > best.different:
            best = Densest(len(inside), matches[first][0], position)
    return best


def _matches(text: str, words: Sequence[str]) -> list[tuple[int, str]]:
    """Return the positions of words that begin like one of the query's, with that beginning.
    Scripts without spaces are compared by pairs of characters."""
    starts, plain = _starts(tuple(words)), text.lower()
    odd = not text.isascii() and (len(plain) != len(text) or any(map(plain.__contains__, ODD)))
    if all(map(str.isascii, words)) and not odd:
        return _plain_matches(plain, starts)
    parts = [rf"\b{re.escape(start)}" for start in starts]
    parts += [re.escape(pair) for word in words if is_unspaced(word) for pair in pairs(word)]
    found = re.compile("|".join(parts), re.IGNORECASE).finditer(text, 0, MOST_READ)
    return [(one.start(), one[0].lower()) for one in found]


@lru_cache(16)  # the queries that are being answered
def _starts(words: tuple[str, ...]) -> list[str]:
    """Return the beginnings of the words, longest first."""
    starts = {word[: max(LEAST_START, len(word) - ENDING)] for word in words}
    return sorted(starts, key=len, reverse=True)


def _plain_matches(plain: str, starts: Sequence[str]) -> list[tuple[int, str]]:
    """Return the matches of ASCII words without a pattern: compiling one takes as long as reading
    ten texts."""
    found: dict[int, str] = {}
    for start in starts:
        at = plain.find(start, 0, MOST_READ)
        while at >= 0:
            inside = at and (plain[at - 1].isalnum() or plain[at - 1] == "_")
            if not inside:
                found.setdefault(at, start)
            at = plain.find(start, at + 1, MOST_READ)
    return sorted(found.items())
