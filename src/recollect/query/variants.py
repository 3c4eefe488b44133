"""Other words for a word: those that typing errors may have changed, and other forms in a vault.

An error mostly leaves the beginning of a word alone, and the shorter a word is, the more other
words are one letter away: `bread` is neither `read` nor `broad`.

The index stems only English. snowballstemmer has a stemmer for each language. They were measured on
XQuAD (docs/how-to/choose-a-model.md): those listed here find more; German, Spanish and Turkish find
no more; French, Italian, Portuguese and Dutch are not in that set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import takewhile
from string import ascii_lowercase
from typing import Any

from recollect.query.exact import fold, is_unspaced

FEWEST_LETTERS = 5  # of shorter words, too many others are one letter away
MOST_LETTERS = 40  # a longer one is no word, and would have very many possible errors
ANY_LETTER = 7  # from this length on any letter may be wrong, and be any other
TWO_ERRORS = 9  # from this length on two errors are likelier than another word
SAME_START = 4  # the letters at the beginning that have no error if there are two
LAST_LATIN = "\u024f"
KEYS = {
    letter: (row, column)
    for row, letters in enumerate(("qwertyuiop", "asdfghjkl", "zxcvbnm"))
    for column, letter in enumerate(letters)
}
VOWELS = frozenset("aeiouy")
STEMMED = frozenset(("russian", "romanian", "greek", "arabic"))
SHORTEST_START = 3  # that all forms of a word begin with
LONGEST_ENDING = 6
# Stemming takes 50 µs; of more words that begin alike, the most frequent are stemmed.
MOST_STEMMED = 200
MOST_FORMS = 8
# A shorter word is the prefix of too many others; a prefix must be most of the longer word.
SHORTEST_PREFIX = 4
PREFIX_SHARE = 0.6
MOST_PREFIX_FORMS = 3


def is_correctable(word: str) -> bool:
    """Return True if an error can be told from another word: enough letters, nothing else, in a
    script with spaces between words."""
    return FEWEST_LETTERS <= len(word) <= MOST_LETTERS and word.isalpha() and not is_unspaced(word)


def one_error_away(word: str) -> set[str]:
    """Return every word that one typing error may have turned into this one.

    An error adds, omits or replaces a letter, or swaps two neighbours. In a word of less than
    ANY_LETTER Latin letters the first one is right or swapped, and a letter is replaced only by a
    neighbouring key; in one of six letters also a vowel by a vowel. Letters are a to z and the
    word's own. `ß` and `ss`, which capitals do not tell apart, count as one letter.
    """
    letters = {*ascii_lowercase, *word}
    any_letter = len(word) >= ANY_LETTER or not _is_latin(word)
    first = 0 if any_letter else 1
    splits = [(word[:at], word[at:]) for at in range(first, len(word) + 1)]
    found = {left + right[1:] for left, right in splits}
    found |= {
        left[:-1] + right[:1] + left[-1] + right[1:] for left, right in splits if left and right
    }
    found |= {left + one + right for left, right in splits for one in letters}
    found |= {
        left + one + right[1:]
        for left, right in splits
        for one in letters
        if right and (any_letter or _are_confusable(right[0], one, len(word)))
    }
    found |= {word.replace("ß", "ss"), word.replace("ss", "ß")}
    return {other for other in found if len(other) >= FEWEST_LETTERS} - {word}


def two_errors_away(word: str, other: str) -> bool:
    """Return True if two errors may have turned the other word into this one: both are long, of
    Latin letters, and begin alike."""
    return (
        min(len(word), len(other)) >= TWO_ERRORS
        and _is_latin(word)
        and word[:SAME_START] == other[:SAME_START]
        and len({*word} ^ {*other}) <= 4  # implied by the next line, and quicker
        and within(fold(word), fold(other), 2)
    )


def _is_latin(word: str) -> bool:
    return max(word) <= LAST_LATIN


def _are_confusable(typed: str, meant: str, length: int) -> bool:
    """Return True if one letter may be a typing error for the other in a word of this length."""
    if length > FEWEST_LETTERS and {typed, meant} <= VOWELS:
        return True
    if typed not in KEYS or meant not in KEYS:
        return False
    return all(abs(one - two) <= 1 for one, two in zip(KEYS[typed], KEYS[meant], strict=True))


def within(one: str, other: str, most: int) -> bool:
    """Return True if the Damerau-Levenshtein distance is at most `most`: letters added, omitted,
    replaced, or neighbours swapped."""
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    if not one or not other or not most:
        return len(one) + len(other) <= most
    return (
        within(one[1:], other[1:], most - 1)
        or within(one[1:], other, most - 1)
        or within(one, other[1:], most - 1)
        or (one[:2] == other[1::-1] and within(one[2:], other[2:], most - 1))
    )


def other_forms(
    word: str, languages: Sequence[str], beginning: Callable[[str, int, int], Mapping[str, int]]
) -> list[str]:
    """Return the words of the vault with the same stem, the most frequent first.

    beginning: maps the words that start with a prefix, of a least and a most length, to the number
        of memories that hold them.
    """
    found: dict[str, int] = {}
    for language in STEMMED.intersection(languages):
        stemmed = _stemmer(language)().stemWord
        stem = stemmed(word)
        same = takewhile(lambda two: two[0] == two[1], zip(word, stem, strict=False))
        start = word[: min(len([*same]), max(SHORTEST_START, len(stem) - 2))]
        if len(start) >= SHORTEST_START:
            known = beginning(start, SHORTEST_START, len(word) + LONGEST_ENDING)
            first = sorted(known, key=lambda form: (-known[form], form))[:MOST_STEMMED]
            found |= {form: known[form] for form in first if stemmed(form) == stem}
    return sorted(found, key=lambda form: (-found[form], form))[:MOST_FORMS]


def prefix_forms(word: str, beginning: Callable[[str, int, int], Mapping[str, int]]) -> list[str]:
    """Return the words of the vault of which this word is a prefix (`postgres`, `postgresql`), or
    the other way round.

    The most frequent come first; none for a word too short to be recognised.
    """
    if len(word) < SHORTEST_PREFIX:
        return []
    start = word[:SHORTEST_PREFIX]
    known = beginning(start, SHORTEST_PREFIX, len(word) + LONGEST_ENDING)
    found = [
        form
        for form in known
        if form != word
        and (
            form.startswith(word)
            or (word.startswith(form) and len(form) >= PREFIX_SHARE * len(word))
        )
    ]
    return sorted(found, key=lambda form: (-known[form], form))[:MOST_PREFIX_FORMS]


@cache
def _stemmer(language: str) -> Callable[[], Any]:
    """Return the class of a stemmer. Each search makes an object of it, since threads may not share
    one."""
    module = import_module(f"snowballstemmer.{language}_stemmer")
    made: Callable[[], Any] = getattr(module, f"{language.capitalize()}Stemmer")
    return made
