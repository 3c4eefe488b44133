"""Typing errors: the words that may have been meant.

An error mostly leaves the beginning of a word alone, and the shorter a word is, the more other
words are one letter away: `bread` is neither `read` nor `broad`.
"""

from __future__ import annotations

from string import ascii_lowercase

from recollect.query.exact import fold, is_unspaced

FEWEST_LETTERS = 5  # of shorter words, too many others are one letter away
MOST_LETTERS = (
    40  # the number of possible errors grows with the length, and a longer one is no word
)
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
