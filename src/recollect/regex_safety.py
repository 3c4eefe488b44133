"""Whether a regular expression that a user wrote may run on any text.

Python's matcher goes back to every choice it made before, and cannot be stopped from outside. So a
pattern is refused if the number of its choices can grow faster than a line is long. A repetition is
a choice where what follows may begin with a character that it repeats: `\\w*a`, and not `\\w*-`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]  # the parser has no public name
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

# Repetitions up to so often are counted as that many choices, longer ones as a length of the text.
FEW = 16
# Choices at one place of a text, beside those that grow with its length.
MOST_CHOICES = 2_000
# Longer ones are lists of words, which need no pattern.
LONGEST_PATTERN = 2_000
# Characters that stand for all others of their sort; a pattern's own are added.
ALPHABET = frozenset([*map(chr, range(128)), *"éßİſ中٣\u00a0\u2028—"])

NESTED = (
    "a repetition inside a repetition can take forever; make the inner one atomic, (?>…), "
    "or possessive, ++"
)
AMBIGUOUS = (
    "what it repeats can match the same text in several ways, which can take forever; make it "
    "atomic, (?>…), or begin each alternative with another character"
)
TWICE = (
    "two repetitions in it can match the same text, which takes too long on a long line; let the "
    "first one match fewer characters, or make it possessive, ++"
)


def problem_of(pattern: str) -> str:
    """Why the pattern is refused; empty where it is fine."""
    if len(pattern) > LONGEST_PATTERN:
        return f"it has {len(pattern):,} characters; at most {LONGEST_PATTERN:,} are allowed"
    try:
        with catch_warnings():
            simplefilter("error", FutureWarning)  # `[[`: escaped, it will mean the same for ever
            compiled = re.compile(pattern)
        if compiled.match(""):
            return "it matches the empty text"
        tree = tuple(parser.parse(pattern))
        _Analysis(pattern).sequence(tree, _After(frozenset(), fails=False), 0)
    except (re.error, OverflowError, RecursionError, FutureWarning) as error:
        return str(error)
    except _Refused as error:
        return str(error)
    return ""


class _Refused(Exception):
    """The pattern may take too long; the text says why."""


class _After(NamedTuple):
    """What comes behind a part of a pattern: the characters it may begin with, and whether it can
    fail, so that the matcher comes back for another choice."""

    first: frozenset[str]
    fails: bool


class _Ways(NamedTuple):
    """In how many ways a part can match: `few`, times the length of the text to the power of
    `degree`."""

    few: int = 1
    degree: int = 0


ONE = _Ways()
Item = tuple[Any, Any]
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
CHARACTERS = (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN)
NOTHING = (sre.AT, sre.ASSERT, sre.ASSERT_NOT)


class _Analysis:
    """A walk through the tree of a pattern."""

    def __init__(self, pattern: str) -> None:
        self._alphabet = ALPHABET | _both_cases(pattern)
        # A flag of a part is taken for one of the whole.
        self._any_case = re.search(r"\(\?[a-z]*i", pattern) is not None
        self._sets: dict[tuple[Any, int], frozenset[str]] = {}
        all_lines = re.search(r"\(\?[a-z]*s", pattern) is not None
        self._any = self._alphabet if all_lines else self._alphabet - {"\n"}

    def sequence(self, items: Sequence[Item], after: _After, degree: int) -> _Ways:
        """The ways of parts that follow each other. `degree`: that of what stands before them."""
        behind = [after]
        for item in reversed(items):
            first, empty = self._first([item])
            follows = behind[-1]
            fails = follows.fails or not empty or item[0] in NOTHING
            behind.append(_After(first | follows.first if empty else first, fails))
        ways = ONE
        for item, follows in zip(items, reversed(behind[:-1]), strict=True):
            more = self._item(item, follows, degree + ways.degree)
            ways = _Ways(ways.few * more.few, ways.degree + more.degree)
            if ways.few > MOST_CHOICES:
                raise _Refused(AMBIGUOUS)
        return ways

    def _item(self, item: Item, after: _After, degree: int) -> _Ways:
        kind, value = item
        if kind in REPEATS:
            return self._repeat(value, after, degree)
        if kind is sre.SUBPATTERN:
            return self.sequence(tuple(value[3]), after, degree)
        if kind in (sre.BRANCH, sre.GROUPREF_EXISTS):
            return self._branch(_alternatives(item), after, degree)
        # Once it has matched, none of these is tried another way.
        final = _After(frozenset(), fails=False)
        if kind is sre.ATOMIC_GROUP:
            self.sequence(tuple(value), final, degree)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            self.sequence(tuple(value[1]), final, degree)
        elif kind is sre.POSSESSIVE_REPEAT:
            self.sequence(tuple(value[2]), final, degree)
        return ONE

    def _repeat(self, repeated: tuple[int, Any, Any], after: _After, degree: int) -> _Ways:
        least, most, body = repeated
        first, _ = self._first(body)
        again = most is sre.MAXREPEAT or most > 1
        inner = _After(first | after.first, fails=True) if again else after
        ways = self.sequence(tuple(body), inner, degree)
        many = most is sre.MAXREPEAT or most - least >= FEW
        if again and many and any(map(_repeats_long, body)):
            raise _Refused(NESTED)
        if again and ways != ONE:
            if many or ways.degree or most > FEW or ways.few**most > MOST_CHOICES:
                raise _Refused(AMBIGUOUS)
            ways = _Ways(ways.few**most)
        if many and after.fails and degree:
            raise _Refused(TWICE)
        if least == most or not after.fails or not first & after.first:
            return ways
        if many:
            return _Ways(ways.few, ways.degree + 1)
        return _Ways(ways.few * (most - least + 1), ways.degree)

    def _branch(self, branches: Sequence[Sequence[Item]], after: _After, degree: int) -> _Ways:
        every = [self.sequence(branch, after, degree) for branch in branches]
        firsts = [
            first | after.first if empty else first for first, empty in map(self._first, branches)
        ]
        apart = sum(map(len, firsts)) == len(frozenset().union(*firsts))
        few = [ways.few for ways in every]
        return _Ways(max(few) if apart else sum(few), max(ways.degree for ways in every))

    def _first(self, items: Iterable[Item]) -> tuple[frozenset[str], bool]:
        """The characters that a match may begin with, and whether it may be empty."""
        found: frozenset[str] = frozenset()
        for item in items:
            first, empty = self._first_of(item)
            found |= first
            if not empty:
                return found, False
        return found, True

    def _first_of(self, item: Item) -> tuple[frozenset[str], bool]:
        kind, value = item
        if kind in CHARACTERS:
            return self._characters(item), False
        if kind in (*REPEATS, sre.POSSESSIVE_REPEAT):
            first, empty = self._first(value[2])
            return first, empty or value[0] == 0
        if kind is sre.SUBPATTERN:
            return self._first(value[3])
        if kind is sre.ATOMIC_GROUP:
            return self._first(value)
        if kind in (sre.BRANCH, sre.GROUPREF_EXISTS):
            every = [self._first(branch) for branch in _alternatives(item)]
            return frozenset().union(*(first for first, _ in every)), any(e for _, e in every)
        if kind in NOTHING:
            return frozenset(), True
        return self._alphabet, True  # what a group has matched, which may be anything

    def _characters(self, item: Item) -> frozenset[str]:
        """The characters of the alphabet that one character of a pattern may be."""
        kind, value = item
        if kind is sre.ANY:
            return self._any
        place = (kind, value if isinstance(value, int) else id(value))
        if place not in self._sets:
            self._sets[place] = self._set_of(kind, value)
        return self._sets[place]

    def _set_of(self, kind: Any, value: Any) -> frozenset[str]:
        if kind is sre.IN:
            members, negated = value, value[0][0] is sre.NEGATE
        else:
            members, negated = [(sre.LITERAL, value)], kind is sre.NOT_LITERAL
        found = frozenset(
            character
            for member in members
            for character in self._alphabet
            if _is_member(member, character)
        )
        if self._any_case:
            found |= _both_cases(found) & self._alphabet
        return self._alphabet - found if negated else found


def _alternatives(item: Item) -> list[tuple[Item, ...]]:
    kind, value = item
    branches = value[1] if kind is sre.BRANCH else value[1:]
    return [tuple(branch or ()) for branch in branches]


def _repeats_long(item: Item) -> bool:
    """Whether something in it repeats without a bound, and can be tried another way."""
    kind, value = item
    if kind in REPEATS:
        return value[1] is sre.MAXREPEAT or any(map(_repeats_long, value[2]))
    if kind is sre.SUBPATTERN:
        return any(map(_repeats_long, value[3]))
    if kind in (sre.BRANCH, sre.GROUPREF_EXISTS):
        return any(_repeats_long(inner) for branch in _alternatives(item) for inner in branch)
    return False


def _is_member(member: Item, character: str) -> bool:
    kind, value = member
    if kind is sre.LITERAL:
        return bool(ord(character) == value)
    if kind is sre.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return bool(kind is sre.CATEGORY and _category(value).match(character))


@cache
def _category(name: Any) -> re.Pattern[str]:
    letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[str(name).rpartition("_")[2]]
    return re.compile("\\" + (letter.upper() if "_NOT_" in str(name) else letter))


def _both_cases(characters: Iterable[str]) -> frozenset[str]:
    return frozenset(
        variant
        for character in characters
        for variant in (character, character.lower(), character.upper())
        if len(variant) == 1
    )
