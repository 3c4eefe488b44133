"""Typing errors corrected: words of the vault for a keyword that no memory holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from recollect.models.english import is_word
from recollect.query.exact import fold
from recollect.query.subwords import inner_words
from recollect.query.variants import (
    SAME_START,
    TWO_ERRORS,
    is_correctable,
    one_error_away,
    two_errors_away,
)
from recollect.store.base import KeywordIndexName, Store

MOST_MEANT = 3  # corrections of one word
# Terms are read from each index by this many first letters of a word: fewer take longer, most of
# all in the stemmed index. Together these indexes cover every field.
START: dict[KeywordIndexName, int] = {"stemmed": SAME_START, "details": SAME_START, "subwords": 2}
# The list of English words does not have every inflected form.
ENDING = re.compile("(?:s|es|ed|ing|ly)$")


class Corrections:
    """Finds words of the vault that are close to a misspelled one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._begun: dict[tuple[str, str], frozenset[str]] = {}

    def meant(self, typed: str) -> list[str]:
        """Return the words that may have been meant, best first.

        Of an identifier each part is checked, then the whole in one piece. A word with a digit in
        it is never corrected, nor one that the vault holds in any form.
        """
        parts = inner_words(typed)
        name = "".join(parts)
        if not name.isalpha() or (len(parts) < 2 and not is_correctable(name)) or self._holds(name):
            return []
        if len(parts) < 2:
            return self._words(name)
        if self._holds(typed):
            return []
        unknown = [part for part in parts if not self._holds(part)]
        corrected = typed
        for part in unknown:
            if not (found := self._words(part)):
                return self._words(name)
            corrected = re.sub(part, _as_written(found[0]), corrected, flags=re.IGNORECASE)
        return [corrected] if unknown else []

    def _words(self, word: str) -> list[str]:
        """Return the closest words, best first; none if English has the word as it was typed. Words
        of title, text and tags that are one error away are tried first; the other ways cost
        more."""
        if not is_correctable(word):
            return []
        plain = fold(word)
        near = one_error_away(word).union(*(one_error_away(form) for form in {plain} - {word}))
        found = (
            self._best(self._store.vocabulary.frequencies(near))
            or sorted(near & self._beginning("subwords", plain))[:MOST_MEANT]
            or self._by_stems(plain, near)
            or self._two_errors_away(word)
        )
        known = found and any(is_word(form) for form in {plain, ENDING.sub("", plain)})
        return [] if known else found

    def _two_errors_away(self, word: str) -> list[str]:
        if len(word) < TWO_ERRORS:
            return []
        likely = self._store.vocabulary.beginning(
            word[:SAME_START], max(TWO_ERRORS, len(word) - 2), len(word) + 2
        )
        near = {token: count for token, count in likely.items() if two_errors_away(word, token)}
        return self._best(near)

    def _by_stems(self, word: str, near: Iterable[str]) -> list[str]:
        """Return words of which the vault has another form, such as `webhook` for `webhooks`."""
        stems = self._beginning("stemmed", word) | self._beginning("details", word)
        # A word begins with its stem, but for the last letter of some.
        starts = tuple(stem[:-1] if stem[-1] in "eil" else stem for stem in stems)
        begins = word[: START["stemmed"]]
        likely = [form for form in near if form.startswith(begins) and form.startswith(starts)]
        if not likely:
            return []
        # A letter is left out more often than added, so of several forms the longest one counts.
        forms = sorted(likely, key=lambda form: (len(form), form))
        tokens = self._store.keyword.tokens(" ".join(forms))
        found = {stem: form for form, stem in zip(forms, tokens, strict=False) if stem in stems}
        return sorted(found.values())[:MOST_MEANT]

    def _best(self, known: Mapping[str, int]) -> list[str]:
        """Return the words that most memories hold, one form of each."""
        order = sorted(known, key=lambda token: (-known[token], token))
        forms = {tuple(self._store.keyword.tokens(token)): token for token in reversed(order)}
        return [token for token in order if token in forms.values()][:MOST_MEANT]

    def _holds(self, word: str) -> bool:
        """Return True if the vault has the word or a form of it, such as `deploys` for `deployed`.
        A word in one piece is looked up among the terms that a correction reads anyway."""
        plain, stems = fold(word), self._store.keyword.tokens(word)
        if len(stems) != 1 or len(word) < SAME_START or not stems[0].startswith(plain[:SAME_START]):
            return any(self._store.keyword.holding(index, [word]).get(word) for index in START)
        return any(
            (plain if index == "subwords" else stems[0]) in self._beginning(index, plain)
            for index in START
        )

    def _beginning(self, index: KeywordIndexName, word: str) -> frozenset[str]:
        """Return the terms of an index that begin like the word."""
        start = word[: START[index]]
        if (index, start) not in self._begun:
            self._begun[index, start] = frozenset(self._store.keyword.terms(index, start))
        return self._begun[index, start]


def _as_written(meant: str) -> Callable[[re.Match[str]], str]:
    """Return a replacement for `re.sub` that keeps a capital first letter."""
    return lambda found: meant.capitalize() if found[0][0].isupper() else meant
