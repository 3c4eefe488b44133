"""What an English model can read, and how common a word is in English: the tokenizer of the bundled
model lists whole words, in the order of their frequency in the texts of its training."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from recollect.models.weights import TOKENIZER, WEIGHTS
from recollect.query.function_words import is_english
from recollect.query.terms import words
from recollect.types import Memory

# Its list begins with a thousand characters and signs. Up to this place stand "keep" (2562), "run"
# (2448) and some seven thousand other words of any text; "laptop" (12191) and "kamal" come later.
COMMON = 10_000
# A query in another language has fewer words that are English ones as well.
ENGLISH_SHARE = 0.7
LETTER = re.compile("[A-Za-z]")
# The models whose letters are known to be these alone.
ENGLISH_MODELS = ("bge-small-en", "builtin:joint@")

# What an English model can read of a text: its language, its letters, nothing.
Reads = Literal["language", "letters", "nothing"]

BEGINNING = 500  # the first characters of a text tell its language
DIGITS = 6  # of a place at most, with the comma behind it


def is_common(word: str) -> bool:
    """Whether it is one of the words that stand in any English text."""
    place = _place(word)
    return place is not None and place < COMMON


def is_word(word: str) -> bool:
    """Whether it is known as a whole word, a common name included, as some twenty thousand are."""
    return _place(word) is not None


def readable_words(text: str) -> list[str]:
    """The words that an English model can see something in: those with a plain letter."""
    return [word for word in words(text) if LETTER.search(word)]


def has_plain_letters(text: str) -> bool:
    """Whether half of its words have letters that an English model knows."""
    return 2 * len(readable_words(text)) >= len(words(text))


def beginning(memory: Memory) -> str:
    """Return as much of a memory as tells its language."""
    return f"{memory.title} {memory.text[:BEGINNING]}"[:BEGINNING]


def can_read(identity: str, query: str) -> bool:
    """Whether a model knows the letters of a query; the bundled ones know Latin ones alone."""
    english = any(name in identity for name in ENGLISH_MODELS)
    return not english or has_plain_letters(query)


def reading(text: str) -> Reads:
    """What an English model can read of a text: the letters where half of the words have plain
    ones, and the language, unless few words are English and some are of another language: names and
    identifiers are of none."""
    if not has_plain_letters(text):
        return "nothing"
    lowered = [word.lower() for word in words(text)]
    if text.isascii() and is_english(lowered):
        return "language"
    known = sum(map(is_word, lowered))
    return "language" if known >= ENGLISH_SHARE * len(lowered) else "letters"


def _place(word: str) -> int | None:
    """Looked for in the file as it is: to decode it would take a hundred times as long."""
    before = f'"{word}"'.encode()
    start = _listed().find(before)
    if start < 0:
        return None
    start += len(before) + len(": ")
    return int(_listed()[start : start + DIGITS].partition(b",")[0])


@cache
def _listed() -> bytes:
    """The list, as the file has it; empty where somebody has removed the bundled models."""
    files = sorted(WEIGHTS.glob(f"*/{TOKENIZER}"))
    return files[0].read_bytes().partition(b'"vocab": ')[2] if files else b""
