"""Detectors: how one kind of credential is found in a text.

A pattern is tried only where one of its needles is, which are the ways in which it begins: to
search for a few words costs little, and most texts have none. Patterns read in linear time: runs
are possessive (`++`), so that nothing is tried twice, and a look at the text before keeps a match
from beginning inside another.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from functools import cache
from typing import AnyStr, NamedTuple

from recollect.types import Span

# The group of a pattern that is replaced; without such a group the whole match is.
SECRET = "secret"
# A key of fewer different characters is a placeholder.
FEWEST_CHARACTERS = 6
# A placeholder shows early: random characters spell `your` too, if there are enough of them.
LONGEST_PLACEHOLDER = 100
MADE_UP = re.compile(r"example|xxxx|your|\*{3}|\.{3}|0{8}", re.IGNORECASE)
# The shortest token of a service with a prefix of its own is as long as this.
LONG_WORD = b"w" * 25
IN_WORDS = string.ascii_letters + string.digits + "_+/=-"
BLANKS = bytes.maketrans(b"\t\n\v\f\r", b" " * 5)
WORD_BYTES = bytes(ord("w") if chr(byte) in IN_WORDS else ord(" ") for byte in range(256))


def has_long_word(text: str) -> bool:
    """Whether so many letters, digits and signs of a token stand together."""
    return LONG_WORD in text.encode(errors="replace").translate(WORD_BYTES)


def long_pieces(text: str) -> str:
    """What stands between blanks in a text and has a long word in it."""
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
    """Whether it is a placeholder for a key: `ghp_xxxx…`, or AWS's own `AKIA…EXAMPLE`."""
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

    - `needles`: how it begins; `words`: the same in lower case, for those that match in any case.
    - `span`: which part of a match is replaced, or None where a closer look shows no credential.
    - `source`: where the format is documented.
    - `long`: it has a long word in it, and no blank between that and its beginning, so that only
      the long pieces of a text need a look.
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
    """The compiled pattern, made when first needed: most commands never meet a credential."""
    return re.compile(pattern)


def to_lower_case(text: str) -> str:
    """The text in lower case, each letter at its place: U+0130, the one letter that would become
    two, is replaced by another first."""
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "\u0131").lower()


def find_spans(detector: Detector, text: str, low: str) -> Iterator[Span]:
    """Where the text has such a credential, from left to right, without overlaps. `low`: the text
    in lower case."""
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
    """The places where a pattern is worth trying."""
    found = [at for needle in detector.needles for at in find_all(text, needle)]
    found += (at for word in detector.words for at in find_all(low, word))
    return sorted(found)


def find_all(text: AnyStr, needle: AnyStr) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)
