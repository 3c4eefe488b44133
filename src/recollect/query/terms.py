"""The words of a query's text, one function for each documented reading.

Nothing here builds FTS5 syntax; `query/fts5.py` quotes the results.
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
# A longer query is a prompt or a text, in which "last week", "not" or "kind:" are not instructions.
LONGEST_READ = 25
WORD = re.compile(r"\w+")
LONGER = re.compile(r"\w\w+")
# The only letter whose lower case has two characters.
DOTTED_I = "\u0130"


def compose(text: str) -> str:
    """Return the text with composed accents (NFC): macOS writes file names decomposed."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def cut_spans(text: str, spans: Iterable[Span]) -> str:
    """Replace these spans of the text by spaces."""
    kept, place = [], 0
    for span in sorted(spans):
        kept.append(text[place : span.start])
        place = max(place, span.end)
    return " ".join((*kept, text[place:]))


def words(text: str) -> list[str]:
    """Return runs of letters, digits and underscores, case unchanged: `1.4` is `1` and `4`."""
    return WORD.findall(compose(text))


def lower_words(text: str) -> list[str]:
    """Return the words in lower case. They are split first: lower-casing may add a mark that would
    split a word, as in `İstanbul`."""
    return [word.lower() for word in words(text)]


def keywords(text: str) -> list[str]:
    """Return the content words: lower-cased, no stop words, at least two characters.

    Repeats stay, since FTS5 weighs a term by how often it is in the query. Source: the `vault`
    recipe, "Terms".
    """
    if DOTTED_I not in text:  # quicker; every search reads thirty memories this way
        found = LONGER.findall(compose(text).lower())
        return [word for word in found if word not in STOP_WORDS]
    return [word for word in lower_words(text) if len(word) > 1 and word not in STOP_WORDS]


def pieces(text: str) -> list[str]:
    """Split at white space. Source: the `echovault` recipe, "Keyword recall"."""
    return text.split()


def tokens(text: str) -> list[str]:
    """Return TF-IDF tokens, which are `keywords`: runs of `[a-z0-9_]` and letters of other scripts,
    without stop words and single characters, not stemmed.

    Source: the `vault` recipe, "TF-IDF".
    """
    return keywords(text)


def semantic_text(memory: Memory) -> str:
    """Return the fields that TF-IDF reads. Source: the `vault` recipe, signal "semantic"."""
    return "\n".join((memory.title, memory.text, memory.context, *memory.tags))


def quote(text: str) -> str:
    """Return an FTS5 string: quotes are doubled, and NUL, which would end it, becomes a space."""
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'
