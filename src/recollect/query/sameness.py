"""Whether two texts say the same, judged by their stems.

Facts that differ in a number, a name or a "not" are different facts, however many words they share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from recollect.query.terms import STOP_WORDS

# Words that turn a sentence round: two that differ by one of them do not say the same. Both as
# stems, since texts are compared by those: "befor", and "ar" for "are".
TURNING = frozenset("no not never none without except unless until befor after".split())
FILLERS = STOP_WORDS | frozenset("ar wa doe ha thi".split())

# So large a share of the longer one's words makes two the same.
ALIKE = 0.9


def same(one: Set[str], other: Set[str], alike: float) -> bool:
    """Whether two sets of words say the same: equal, or one has a few words more, of which none is
    a number or turns the meaning round."""
    smaller, larger = (one, other) if len(one) <= len(other) else (other, one)
    # Sizes tell most pairs apart, quicker than their words.
    if not smaller or len(smaller) < alike * len(larger) or not smaller <= larger:
        return False
    return not any(map(_tells_apart, larger - smaller))


def same_in_order(one: Sequence[str], other: Sequence[str]) -> bool:
    """Like `same`, and the words stand in the same order: who replaced whom is told by nothing
    else. What was left out may be a few words, none of them a number or a turning word."""
    first, second = (tuple(word for word in told if word not in FILLERS) for told in (one, other))
    shorter, longer = sorted((first, second), key=len)
    if len(shorter) < ALIKE * len(longer):
        return False
    more = _left_out(shorter, longer)
    return more is not None and not any(map(_tells_apart, more))


def _left_out(shorter: Sequence[str], longer: Iterable[str]) -> list[str] | None:
    """The words of the longer that the shorter lacks; None where it is not part of the longer."""
    more = []
    place = 0
    for word in longer:
        if place < len(shorter) and word == shorter[place]:
            place += 1
        else:
            more.append(word)
    return more if place == len(shorter) else None


def _tells_apart(word: str) -> bool:
    return word in TURNING or any(map(str.isdigit, word))
