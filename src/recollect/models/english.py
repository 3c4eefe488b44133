"""Tell how much of a text an English model can read, and how common a word is in English: the
tokenizer of the bundled model lists whole words by their frequency in its training texts."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from recollect.models.base import TOKENIZER, WEIGHTS
from recollect.query.terms import is_english, words
from recollect.types import Memory

# Its list begins with a thousand characters and signs. Up to this place it has "keep" (2562), "run"
# (2448) and some seven thousand other words of any text; "laptop" (12191) and "kamal" come later.
COMMON = 10_000
# Texts in other languages have a smaller share of words that are English as well.
ENGLISH_SHARE = 0.7
LETTER = re.compile("[A-Za-z]")
# Models that know only plain letters.
ENGLISH_MODELS = ("bge-small-en", "builtin:joint@")

# The part of a text that an English model can read.
Reads = Literal["language", "letters", "nothing"]

BEGINNING = 500  # the first characters of a text tell its language
DIGITS = 6  # of a place at most, with the comma after it


def is_common(word: str) -> bool:
    """Return True for a word that occurs in any English text."""
    place = _place(word)
    return place is not None and place < COMMON


def is_word(word: str) -> bool:
    """Return True for some twenty thousand whole words, common names included."""
    return _place(word) is not None


def readable_words(text: str) -> list[str]:
    """Return the words with a plain letter, which an English model can read in part."""
    return [word for word in words(text) if LETTER.search(word)]


def has_plain_letters(text: str) -> bool:
    """Return True if at least half of the words have a letter that an English model knows."""
    return 2 * len(readable_words(text)) >= len(words(text))


def beginning(memory: Memory) -> str:
    """Return enough of a memory to tell its language."""
    return f"{memory.title} {memory.text[:BEGINNING]}"[:BEGINNING]


def can_read(identity: str, query: str) -> bool:
    """Return False if the model is known to lack the letters of a query."""
    english = any(name in identity for name in ENGLISH_MODELS)
    return not english or has_plain_letters(query)


def readable_part(text: str) -> Reads:
    """Return the part of a text that an English model can read.

    Half of the words must have plain letters. The language counts as English unless few words are
    English and some are of another language; names and identifiers belong to no language.
    """
    if not has_plain_letters(text):
        return "nothing"
    lowered = [word.lower() for word in words(text)]
    if text.isascii() and is_english(lowered):
        return "language"
    known = sum(map(is_word, lowered))
    return "language" if known >= ENGLISH_SHARE * len(lowered) else "letters"


def _place(word: str) -> int | None:
    # Decoding the file would take a hundred times as long.
    before = f'"{word}"'.encode()
    start = _vocabulary().find(before)
    if start < 0:
        return None
    start += len(before) + len(": ")
    return int(_vocabulary()[start : start + DIGITS].partition(b",")[0])


@cache
def _vocabulary() -> bytes:
    """Return the list as it is in the file; empty if the bundled models were removed."""
    files = sorted(WEIGHTS.glob(f"*/{TOKENIZER}"))
    return files[0].read_bytes().partition(b'"vocab": ')[2] if files else b""
