"""How common a word is in English: the bundled model's tokenizer lists whole words, in the order of
their frequency in books and the encyclopedia that it was trained on."""

from __future__ import annotations

from functools import cache

from recollect.models.weights import TOKENIZER, WEIGHTS

# Its list begins with a thousand characters and signs. Up to this place stand "keep" (2562), "run"
# (2448) and some seven thousand other words of any text; "laptop" (12191) and "kamal" come later.
COMMON = 10_000
DIGITS = 6  # of a place at most, with the comma behind it


def is_common(word: str) -> bool:
    """Whether it is one of the words that stand in any English text."""
    place = _place(word)
    return place is not None and place < COMMON


def is_word(word: str) -> bool:
    """Whether it is known as a whole word, a common name included, as some twenty thousand are."""
    return _place(word) is not None


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
