"""Detectors: how each kind of credential is found in a text.

A pattern is tried only at its needles, the strings it can begin with: searching for a few strings
is cheap, and most texts have none. Patterns take linear time: repetitions are possessive (`++`),
and a look-behind keeps a match from beginning inside another.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from functools import cache
from typing import AnyStr, NamedTuple

from recollect.types import Span

# The group of a pattern that is replaced; without it, the whole match.
SECRET = "secret"
# A key of fewer different characters is a placeholder.
FEWEST_CHARACTERS = 6
# Placeholders show early; in a long random value `your` can occur by chance.
LONGEST_PLACEHOLDER = 100
MADE_UP = re.compile(r"example|xxxx|your|\*{3}|\.{3}|0{8}", re.IGNORECASE)
# As long as the shortest token with a prefix of its service.
LONG_WORD = b"w" * 25
IN_WORDS = string.ascii_letters + string.digits + "_+/=-"
BLANKS = bytes.maketrans(b"\t\n\v\f\r", b" " * 5)
WORD_BYTES = bytes(ord("w") if chr(byte) in IN_WORDS else ord(" ") for byte in range(256))


def has_long_word(text: str) -> bool:
    """Return whether the text has a run of token characters as long as LONG_WORD."""
    return LONG_WORD in text.encode(errors="replace").translate(WORD_BYTES)


def long_pieces(text: str) -> str:
    """Return the parts of a text between blanks that contain a long word."""
    raw = text.encode(errors="replace")
    words, spaced = raw.translate(WORD_BYTES), raw.translate(BLANKS)
    found: list[bytes] = []
    at = words.find(LONG_WORD)
    while at >= 0:
        end = spaced.find(b" ", at)
        found.append(raw[spaced.rfind(b" ", 0, at) + 1 : end if end >= 0 else None])
        at = words.find(LONG_WORD, end) if end >= 0 else -1
    return b" ".join(found).decode()


def is_made_up(value: str) -> bool:
    """Return whether it is a placeholder: `ghp_xxxx…`, or AWS's own `AKIA…EXAMPLE`."""
    if len(set(value)) < FEWEST_CHARACTERS:
        return True
    return MADE_UP.search(value, 0, LONGEST_PLACEHOLDER) is not None


def group_span(found: re.Match[str]) -> Span:
    return Span(*found.span(found.re.groupindex.get(SECRET, 0)))  # RE2 knows groups by number


def span_unless_made_up(found: re.Match[str]) -> Span | None:
    span = group_span(found)
    return None if is_made_up(found.string[span.start : span.end]) else span


class Detector(NamedTuple):
    """One kind of credential.

    - `needles`: the strings it can begin with; `words`: those that match in any case, in lower
      case.
    - `span`: returns the part of a match to replace, or None if it is no credential after all.
    - `source`: where the format is documented.
    - `long`: it has a long word, with no blank before it, so only the long pieces of a text are
      searched.
    """

    name: str
    needles: tuple[str, ...]
    pattern: str
    source: str
    span: Callable[[re.Match[str]], Span | None] = span_unless_made_up
    words: tuple[str, ...] = ()
    long: bool = False


@cache
def compile_once(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when first needed: most commands never meet a credential."""
    return re.compile(pattern)


def to_lower_case(text: str) -> str:
    """Return the text in lower case with the same length: U+0130, the one letter that would become
    two, is replaced first."""
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "\u0131").lower()


def find_spans(detector: Detector, text: str, low: str) -> Iterator[Span]:
    """Yield the spans of such credentials, from left to right, without overlaps. `low`: the text in
    lower case."""
    last = done = 0
    pattern = compile_once(detector.pattern)
    for at in _find_starts(detector, text, low):
        found = pattern.match(text, at) if at >= last else None
        if found is None:
            continue
        span = detector.span(found)
        if span is not None and span.end > span.start >= done:
            done = span.end
            yield span
        last = max(found.end(), done)


def _find_starts(detector: Detector, text: str, low: str) -> list[int]:
    """Return the positions of the needles, in order."""
    found = [at for needle in detector.needles for at in find_all(text, needle)]
    found += (at for word in detector.words for at in find_all(low, word))
    return sorted(found)


def find_all(text: AnyStr, needle: AnyStr) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)
