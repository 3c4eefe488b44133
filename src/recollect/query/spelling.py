"""Slips of the fingers: what someone may have meant to type."""

from __future__ import annotations

FEWEST_LETTERS = 5  # of shorter words, too many others are one slip away
MOST_LETTERS = 40  # the number of slips grows with the length, and a longer one is no word


def misspellable(word: str) -> bool:
    """Whether a slip in it can be told from another word: enough letters, and nothing else."""
    return FEWEST_LETTERS <= len(word) <= MOST_LETTERS and word.isalpha()


def one_slip_away(word: str) -> set[str]:
    """Every word at Damerau-Levenshtein distance 1: a letter added, left out or replaced, or two
    neighbours swapped. Letters are a to z and the word's own. The sharp s and its two plain ones,
    which capitals do not tell apart, count as one letter."""
    from string import ascii_lowercase  # noqa: PLC0415  start-up time

    letters = {*ascii_lowercase, *word}
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    found = {left + right[1:] for left, right in splits}
    found |= {left + right[1::-1] + right[2:] for left, right in splits}
    found |= {left + one + right for left, right in splits for one in letters}
    found |= {left + one + right[1:] for left, right in splits for one in letters}
    found |= {word.replace("ß", "ss"), word.replace("ss", "ß")}
    return found - {word}
