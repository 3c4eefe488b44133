"""Other forms of a word that a vault holds; the index stems only English.

snowballstemmer has a stemmer for each language. They were measured on XQuAD (docs/models.md): those
listed here find more; German, Spanish and Turkish find no more; French, Italian, Portuguese and
Dutch are not in that set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import takewhile
from typing import Any

STEMMED = frozenset(("russian", "romanian", "greek", "arabic"))
FEWEST_LETTERS = 3  # that all forms of a word begin with
LONGEST_ENDING = 6
# Stemming takes 50 µs; of more words that begin alike, the most frequent are stemmed.
MOST_STEMMED = 200
MOST_FORMS = 8
# A shorter word is the prefix of too many others; a prefix must be most of the longer word.
SHORTEST_PREFIX = 4
PREFIX_SHARE = 0.6
MOST_PREFIX_FORMS = 3


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
        start = word[: min(len([*same]), max(FEWEST_LETTERS, len(stem) - 2))]
        if len(start) >= FEWEST_LETTERS:
            known = beginning(start, FEWEST_LETTERS, len(word) + LONGEST_ENDING)
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
