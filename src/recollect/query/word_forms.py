"""Other forms of a word that a vault holds: the index stems English alone.

snowballstemmer has a stemmer for each language. They were measured on XQuAD (see
docs/how-to/choose-a-model.md): what is listed here finds more with them; German, Spanish and
Turkish find no more, French, Italian, Portuguese and Dutch are not in that set.
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
# Each is stemmed, in 50 µs; of more words that begin alike, the most frequent ones.
MOST_STEMMED = 200
MOST_FORMS = 8
# A shorter word begins too many others; a beginning is most of the longer word.
SHORTEST_PREFIX = 4
PREFIX_SHARE = 0.6
MOST_PREFIX_FORMS = 3


def other_forms(
    word: str, languages: Sequence[str], beginning: Callable[[str, int, int], Mapping[str, int]]
) -> list[str]:
    """The words with the same stem that the vault holds, the most frequent first. `beginning` says
    how many memories hold each word that begins so and has at least and at most so many letters."""
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
    """The words of the vault that begin with this one, or that this one begins with: `postgres` is
    a beginning of `postgresql`. The most frequent first; none for a word that is too short to be
    recognised."""
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
    """Return the class of a stemmer; each call of it makes a new one, since none may be used by two
    threads."""
    module = import_module(f"snowballstemmer.{language}_stemmer")
    made: Callable[[], Any] = getattr(module, f"{language.capitalize()}Stemmer")
    return made
