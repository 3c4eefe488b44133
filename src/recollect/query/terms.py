"""How a query's text becomes words, one function per documented reading.

Nothing here builds FTS5 syntax; `query/fts5.py` quotes what these functions find.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from recollect.types import Memory, Span

STOP_WORDS = frozenset(
    "a an and are as at be but by do does for from has have how i in is it its of on or that the "
    "this to was what when where which who why will with you your".split()
)
# A longer query is a prompt or a text: "last week", "not" or "kind:" in it speak of something else.
LONGEST_READ = 25
WORD = re.compile(r"\w+")
LONGER = re.compile(r"\w\w+")
# The one letter that lower-casing turns into two characters.
DOTTED_I = "\u0130"


def composed(text: str) -> str:
    """The text with each accent as part of its letter (NFC): macOS writes file names otherwise."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def outside(text: str, spans: Iterable[Span]) -> str:
    """The text less these pieces, with a space where each one was."""
    kept, place = [], 0
    for span in sorted(spans):
        kept.append(text[place : span.start])
        place = max(place, span.end)
    return " ".join((*kept, text[place:]))


def words(text: str) -> list[str]:
    """Runs of letters, digits and underscores, as they stand: `1.4` is `1` and `4`."""
    return WORD.findall(composed(text))


def lowered(text: str) -> list[str]:
    """The words in lower case. Split first: lower-casing may add a mark that would split a word,
    as in `İstanbul`."""
    return [word.lower() for word in words(text)]


def keywords(text: str) -> list[str]:
    """The words that carry meaning: lower-cased, no stop words, at least two characters.

    Repeats stay, since FTS5 weighs a term as often as it is asked for.
    Source: the `vault` recipe, "Terms".
    """
    if DOTTED_I not in text:  # the same, quicker; every search reads thirty memories this way
        found = LONGER.findall(composed(text).lower())
        return [word for word in found if word not in STOP_WORDS]
    return [word for word in lowered(text) if len(word) > 1 and word not in STOP_WORDS]


def pieces(text: str) -> list[str]:
    """What stands between white space. Source: the `echovault` recipe, "Keyword recall"."""
    return text.split()


def tokens(text: str) -> list[str]:
    """TF-IDF tokens. They are `keywords`: runs of `[a-z0-9_]` and letters of other scripts,
    stop words and single characters dropped, no stemming. Source: the `vault` recipe, "TF-IDF".
    """
    return keywords(text)


def semantic_text(memory: Memory) -> str:
    """What TF-IDF reads of a memory. Source: the `vault` recipe, signal "semantic"."""
    return "\n".join((memory.title, memory.text, memory.context, *memory.tags))


def quoted(text: str) -> str:
    """One FTS5 string; a quote inside is doubled, and NUL, which would end it, is a space."""
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'
