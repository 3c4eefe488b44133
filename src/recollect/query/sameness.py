"""Whether two texts say the same: by their stems, to show them as one; by their words, to keep one.

Facts that differ in a number, a name or a "not" are different facts, however many words they share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from itertools import chain
from typing import NamedTuple

from recollect.query.terms import STOP_WORDS, composed

# Words that turn a sentence round: two that differ by one of them do not say the same. Both as
# stems, since texts are compared by those: "befor", and "ar" for "are".
TURNING = frozenset("no not never none without except unless until befor after".split())
FILLERS = STOP_WORDS | frozenset("ar wa doe ha thi".split())

# The same as they are written, and others that one word more must not bring in unnoticed: modes and
# tenses, and "not" in a few other languages.
REVERSING = frozenset(
    "no not never none nor neither nothing nobody nowhere without except unless until before after "
    "non off only cannot hardly rarely seldom barely almost nearly instead if maybe perhaps former "
    "formerly once against despite unlike but or than less more to from was were been had will "
    "would should could might may must "
    "nicht kein keine keinen keinem keiner nie niemals ohne ne pas jamais sans aucun aucune nunca "
    "sin ni mai senza não nem sem niet geen nooit inte ikke aldrig bez не нет ни без".split()
)
# What stands around a word and is no part of it. Signs are: C++, #7, 50%, <, and a `?`.
QUOTES = "\"'`“”„‘«»‹›"
BEFORE, BEHIND = "(", ").,;:!…。、"
SILENT = frozenset(("an", "the", "–", "—"))

# Of these one is as good as another: two texts in different words say the same only if both have
# one, or neither.
NEGATING = REVERSING & frozenset(
    "no not never none nor neither nothing nobody nowhere without cannot hardly nicht kein keine "
    "nie ohne ne pas jamais sans nunca sin mai senza niet geen nooit inte ikke".split()
)
# Not the first word of a sentence or of a line, which has a capital anyway; or a capital within.
NAME = re.compile(r"(?<=[a-z0-9,;] )[A-Z]\w+|\b\w*[a-z][A-Z]\w*")
REPLACED = 2  # words that differ in one place: another fact in the same sentence
# So large a share of the longer one's words makes two the same.
ALIKE = 0.9


# A text of fewer words than these is no statement without its title.
STATEMENT = 6


class Wording(NamedTuple):
    """What a person reads of a memory, as stems without fillers; `whole`: title and text; `first`:
    the first stem of the text, or of the title where there is no text."""

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
        """Whether both say the same, titles included. Titles that only name a text may differ, if
        it is a statement by itself: not in a number, and not in one of several words each."""
        # One of them has all words of the other, so a single word of each tells most pairs apart.
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
    """Whether two sets of words say the same: equal, or one has a few words more, of which none is
    a number or turns the meaning round."""
    few, many = len(one), len(other)
    if few > many:
        one, other, few, many = other, one, many, few
    # Sizes tell most pairs apart, quicker than their words.
    if few < alike * many or not few or not one <= other:
        return False
    return not any(map(_tells_apart, other - one))


def same_in_order(one: str, other: str) -> bool:
    """Whether two texts say the same in the same words, one perhaps with a few words more.

    Stricter than `same`, since of two that are the same only one is kept. The words are compared as
    they are written and in their order: who replaced whom, `to` and `from`, `is` and `was`, `C++`
    and `C#`, -5 and 5 are told by nothing else. Case, accents' encoding and the punctuation
    around a word do not count. What one has more may be neither a number, a name or a sign, nor a
    word that turns the meaning round.
    """
    shorter, longer = sorted((spoken(one), spoken(other)), key=len)
    if not shorter:
        return one == other
    if len(shorter) < ALIKE * len(longer):
        return False
    more = _left_out(shorter, longer)
    return more is not None and not any(map(_adds, more))


def spoken(text: str) -> list[str]:
    """The words as they stand between white space, without the punctuation around them; articles
    and dashes are left out."""
    pieces = composed(text).replace("\u2019", "'").split()
    words = map(_bare, pieces)
    return [word for word in words if word != "a" and word.lower() not in SILENT]  # A: plan A


def _bare(piece: str) -> str:
    # Behind a number a quote is a measure: 5' are not 5".
    quotes = "" if any(map(str.isdigit, piece)) else QUOTES
    return piece.lstrip(BEFORE + quotes).rstrip(BEHIND + quotes) or piece


def _left_out(shorter: Sequence[str], longer: Iterable[str]) -> list[str] | None:
    """The words of the longer that the shorter lacks; None where it is not part of the longer."""
    more = []
    place = 0
    for word in longer:
        if place < len(shorter) and word.lower() == shorter[place].lower():
            place += 1
        else:
            more.append(word)
    return more if place == len(shorter) else None


def _adds(word: str) -> bool:
    """Whether one word more says another thing: a number, a sign, a name, or a turning word."""
    plain = word.replace("'", "").replace("-", "")
    if not plain.isalpha() or word != word.lower():
        return True
    return word in REVERSING or word.endswith("n't") or word.startswith("non-")


def _tells_apart(word: str) -> bool:
    return word in TURNING or any(map(str.isdigit, word))


def same_facts(one: str, other: str) -> bool:
    """Whether two texts in different words may state the same: they have the same numbers and the
    same words that turn a sentence round, not each a name that the other lacks, and are not one
    sentence with a part replaced: "Clara joined the team" and "Clara leads the team"."""
    words, others = ([word.lower() for word in spoken(text)] for text in (one, other))
    if _telling(words) != _telling(others) or _part_replaced(words, others):
        return False
    own, theirs = _names(one), _names(other)
    return not (own - {*others} and theirs - {*words})


def _telling(words: Sequence[str]) -> frozenset[str]:
    """The numbers, and whether there is a "not" among the words."""
    numbers = frozenset(word for word in words if any(map(str.isdigit, word)))
    negated = any(word in NEGATING or word.endswith("n't") for word in words)
    return numbers | {"not"} if negated else numbers


def _part_replaced(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether both are the same but for one or two words in one place."""
    pairs = list(zip(words, others, strict=False))
    start = next((place for place, (one, two) in enumerate(pairs) if one != two), len(pairs))
    behind = list(zip(reversed(words[start:]), reversed(others[start:]), strict=False))
    end = next((place for place, (one, two) in enumerate(behind) if one != two), len(behind))
    middles = len(words) - start - end, len(others) - start - end
    return start + end > 0 and min(middles) > 0 and max(middles) <= REPLACED


def _names(text: str) -> frozenset[str]:
    """Words with a capital inside a sentence, or in the middle of a word, in small letters."""
    return frozenset(name.lower() for name in NAME.findall(text))
