"""Comparison of texts: by stems, to show repeats as one result; by words, to keep only one of them.

Facts that differ in a number, a name or a "not" are different facts, however many words they share.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import NamedTuple

from recollect.query.terms import STOP_WORDS, compose, word_set

# Words that reverse a sentence: texts that differ by one of them are not the same. These are stems:
# "befor", and "ar" for "are".
TURNING = frozenset("no not never none without except unless until befor after".split())
FILLERS = STOP_WORDS | frozenset("ar wa doe ha thi".split())
# The full words, and others that may not be the one word more: modes and tenses, and "not" in a few
# other languages.
REVERSING = word_set("reverse a statement")
# Punctuation that is no part of a word. Signs are: C++, #7, 50%, <, and a `?`.
QUOTES = "\"'`“”„‘«»‹›"
BEFORE, AFTER = "(", ").,;:!…。、"
SILENT = frozenset(("an", "the", "–", "—"))
# These count alike: two texts in different words say the same only if both have one, or neither.
NEGATING = word_set("negate a statement")
# A word with a capital that does not begin a sentence or line, or with a capital inside.
NAME = re.compile(r"(?<=[a-z0-9,;] )[A-Z]\w+|\b\w*[a-z][A-Z]\w*")
REPLACED = 2  # words that differ in one place: another fact in the same sentence
# The share of the longer text's words that the shorter one must have.
ALIKE = 0.9
# A text of fewer words needs its title to be a statement.
STATEMENT = 6
# Texts compared with the same rarest word: only common words have more.
MOST_SHARING = 200


class Wording(NamedTuple):
    """The stems of a memory without fillers. `whole`: title and text; `first`: the first stem of
    the text, or of the title if there is no text."""

    title: frozenset[str]
    text: frozenset[str]
    whole: frozenset[str]
    first: str

    @classmethod
    def of(cls, title: Sequence[str], text: Sequence[str]) -> Wording:
        heading, body = frozenset(title) - FILLERS, frozenset(text) - FILLERS
        whole = body if heading <= body else heading | body
        first = next((stem for stem in chain(text, title) if stem in whole), "")
        return cls(heading, body, whole, first)

    def says(self, other: Wording, alike: float) -> bool:
        """Return True if both say the same, titles included. Titles of texts that are statements by
        themselves may differ, but not in a number, nor in several words each."""
        # One has all words of the other, so a single word of each rules out most pairs.
        if self.first not in other.whole and other.first not in self.whole:
            return False
        if same(self.whole, other.whole, alike):
            return True
        if len(self.text) < STATEMENT or not same(self.text, other.text, alike):
            return False
        own, others = self.title - other.whole, other.title - self.whole
        values = own and others and not self.title.isdisjoint(other.title)
        return not values and not any(map(_tells_apart, own | others))


def same(one: Set[str], other: Set[str], alike: float) -> bool:
    """Return True if the sets of words are equal, or one has a few more words, none a number or a
    word that reverses the meaning."""
    few, many = len(one), len(other)
    if few > many:
        one, other, few, many = other, one, many, few
    # Comparing sizes first is quicker.
    if few < alike * many or not few or not one <= other:
        return False
    return not any(map(_tells_apart, other - one))


def same_in_order(one: str, other: str) -> bool:
    """Return True if two texts say the same in the same words; one may have a few words more.

    Stricter than `same`, since only one of the two is kept. The words are compared as written and
    in their order: only that tells apart `to` and `from`, `is` and `was`, `C++` and `C#`, -5 and 5.
    Case, the encoding of accents and punctuation around a word do not count. A word more may not be
    a number, a name, a sign, or a word that reverses the meaning.
    """
    shorter, longer = sorted((split_words(one), split_words(other)), key=len)
    if not shorter:
        return one == other
    if len(shorter) < ALIKE * len(longer):
        return False
    more = _extra_words(shorter, longer)
    return more is not None and not any(map(_changes_statement, more))


def split_words(text: str) -> list[str]:
    """Return the words between white space, without surrounding punctuation, articles and
    dashes."""
    pieces = compose(text).replace("\u2019", "'").split()
    words = map(_strip_punctuation, pieces)
    return [word for word in words if word != "a" and word.lower() not in SILENT]  # A: plan A


def _strip_punctuation(piece: str) -> str:
    # A quote after a number is a unit: 5' is not 5".
    quotes = "" if any(map(str.isdigit, piece)) else QUOTES
    return piece.lstrip(BEFORE + quotes).rstrip(AFTER + quotes) or piece


def _extra_words(shorter: Sequence[str], longer: Iterable[str]) -> list[str] | None:
    """Return the words of the longer text that the shorter one lacks; None if it is no part of the
    longer."""
    more = []
    place = 0
    for word in longer:
        if place < len(shorter) and word.lower() == shorter[place].lower():
            place += 1
        else:
            more.append(word)
    return more if place == len(shorter) else None


def _changes_statement(word: str) -> bool:
    """Return True if this extra word changes the statement: a number, a sign, a name, or a
    reversing word."""
    plain = word.replace("'", "").replace("-", "")
    if not plain.isalpha() or word != word.lower():
        return True
    return word in REVERSING or word.endswith("n't") or word.startswith("non-")


def _tells_apart(word: str) -> bool:
    return word in TURNING or any(map(str.isdigit, word))


def same_facts(one: str, other: str) -> bool:
    """Return True if two texts in different words may state the same: they have the same numbers
    and negations, not each a name that the other lacks, and are not one sentence with a part
    replaced ("Clara joined the team", "Clara leads the team")."""
    words, others = ([word.lower() for word in split_words(text)] for text in (one, other))
    if _telling(words) != _telling(others) or _part_replaced(words, others):
        return False
    own, theirs = _names(one), _names(other)
    return not (own - {*others} and theirs - {*words})


def _telling(words: Sequence[str]) -> frozenset[str]:
    """Return the numbers, and "not" if a word negates."""
    numbers = frozenset(word for word in words if any(map(str.isdigit, word)))
    negated = any(word in NEGATING or word.endswith("n't") for word in words)
    return numbers | {"not"} if negated else numbers


def _part_replaced(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return True if the texts differ only by one or two words in one place."""
    pairs = list(zip(words, others, strict=False))
    start = next((place for place, (one, two) in enumerate(pairs) if one != two), len(pairs))
    ends = list(zip(reversed(words[start:]), reversed(others[start:]), strict=False))
    end = next((place for place, (one, two) in enumerate(ends) if one != two), len(ends))
    middles = len(words) - start - end, len(others) - start - end
    return start + end > 0 and min(middles) > 0 and max(middles) <= REPLACED


def _names(text: str) -> frozenset[str]:
    """Return the lower-cased words with a capital inside a sentence or a word."""
    return frozenset(name.lower() for name in NAME.findall(text))


def nearly_equal(texts: Sequence[Set[str]], alike: float) -> Iterator[tuple[int, int]]:
    """Yield the positions of two texts if one has all words of the other, and those are at least
    the share `alike` of its own; without comparing all texts with each other.

    Source: prefix filtering (Chaudhuri et al. 2006; Bayardo et al. 2007, "Scaling up all pairs
    similarity search"). If one set has all words of another and at most a tenth more, the rarest
    word of the smaller one is among the rarest tenth, and one more, of the larger. So each text is
    indexed by these alone, and looked up by its rarest word.
    """
    common = Counter(word for words in texts for word in words)
    ordered = [sorted(words, key=lambda word: (common[word], word)) for words in texts]
    index: defaultdict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(ordered):
        for word in words[: int((1 - alike) * len(words)) + 1]:
            index[word].append(place)
    for place, words in enumerate(ordered):
        for other in index[words[0]][:MOST_SHARING] if words else ():
            few, many = len(texts[place]), len(texts[other])
            # Two sets of the same size find each other: yield them once.
            sizes = few >= alike * many and (few, place) < (many, other)
            if sizes and texts[place] <= texts[other]:
                yield place, other
