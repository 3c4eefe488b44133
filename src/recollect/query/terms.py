"""The words of a text, one function for each documented reading; and function words in several
languages, which questions are asked with and answers need not hold.

Nothing here builds FTS5 syntax; `query/fts5.py` quotes the results.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import json

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
FIRST_UNSPACED = "\u0e00"  # Thai
TELLING = 2  # function words of a language that identify a query's language
# Letters that few of the other languages have.
SCRIPTS = {
    "russian": range(ord("а"), ord("ё") + 1),
    "greek": range(ord("ά"), ord("ώ") + 1),
    "arabic": range(ord("ء"), ord("ي") + 1),
}


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

    Repeats stay, since FTS5 weighs a term by how often it is in the query. Sources: the `vault`
    recipe, "Terms" and "TF-IDF", whose tokens are the same.
    """
    if DOTTED_I not in text:  # quicker; every search reads thirty memories this way
        found = LONGER.findall(compose(text).lower())
        return [word for word in found if word not in STOP_WORDS]
    return [word for word in lower_words(text) if len(word) > 1 and word not in STOP_WORDS]


def semantic_text(memory: Memory) -> str:
    """Return the fields that TF-IDF reads. Source: the `vault` recipe, signal "semantic"."""
    return "\n".join((memory.title, memory.text, memory.context, *memory.tags))


def quote(text: str) -> str:
    """Return an FTS5 string: quotes are doubled, and NUL, which would end it, becomes a space."""
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'


def is_function_word(word: str) -> bool:
    """Return True for a lower-cased function word of a script with spaces between words."""
    return word in STOP_WORDS or word in _all_function_words()


def content_words(words: Sequence[str]) -> list[str]:
    """Return the lower-cased words that are not function words; all if nothing else is left."""
    return [word for word in words if word not in _all_function_words()] or list(words)


def is_english(words: Sequence[str]) -> bool:
    """Return True if more of the words are English function words than foreign ones, or none is
    foreign."""
    english = sum(map(english_words().__contains__, words))
    foreign = sum(word in _all_function_words() and word not in english_words() for word in words)
    return english > foreign or not foreign


def languages_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the languages other than English that the lower-cased words may be in; several if they
    tie.

    The script counts too. In plain letters one function word alone may be a name: `es modules`.
    """
    letters = "".join(words)
    found = {
        name: sum(map(known.__contains__, words))
        for name, known in function_words().items()
        if name != "english"
    }
    most = max(found.values())
    if most >= (TELLING if letters.isascii() else 1) and not is_english(words):
        return tuple(name for name, count in found.items() if count == most)
    shares = {name: sum(ord(one) in span for one in letters) for name, span in SCRIPTS.items()}
    return tuple(name for name, share in shares.items() if 2 * share > len(letters))


@cache
def function_words() -> dict[str, frozenset[str]]:
    """Return the function words of each language; those of English are without STOP_WORDS.

    They are question words, articles, auxiliaries, pronouns and prepositions; none that names a
    thing in another of these languages ("war", "hat", "dos").
    """
    listed = _lists()["function words"].items()
    return {language: frozenset(words.split()) for language, words in listed}


def word_set(name: str) -> frozenset[str]:
    return frozenset(_lists()["sets"][name].split())


@cache
def phrases(name: str) -> re.Pattern[str]:
    """Return the pattern of a list of phrases. Those of unspaced scripts need no word borders."""
    listed = _lists()["phrases"][name]
    spaced = [phrase for phrase in listed if phrase[0] < FIRST_UNSPACED]
    unspaced = [phrase for phrase in listed if phrase[0] >= FIRST_UNSPACED]
    return re.compile("|".join((rf"\b(?:{'|'.join(spaced)})\b", *unspaced)), re.IGNORECASE)


@cache
def _lists() -> dict[str, dict[str, Any]]:
    file = Path(__file__).with_name("words.json")
    return json.decode(file.read_bytes(), type=dict[str, dict[str, Any]])


@cache
def english_words() -> frozenset[str]:
    return STOP_WORDS | function_words()["english"]


@cache
def _all_function_words() -> frozenset[str]:
    return frozenset[str]().union(*function_words().values())
