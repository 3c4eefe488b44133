"""A score's explanation: as JSON, as a tree drawn in text, as steps, and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from recollect.present.words import number
from recollect.types import OPERATIONS, Term

BAR = 24
BASE = "base"  # what every memory begins with
LEAST_SHARE = 0.005  # of all that counts for a result: less would be shown as 0 %
# What a part does to the value before it, where the value is not a sum.
DOES = {"product": "×", "max": "at least", "min": "at most"}
# Parts with general names, which are shown together with the name of their term.
NAMELESS = ("factor", "cap")


class ScoreStep(NamedTuple):
    """What one signal adds to a score, or takes from it."""

    name: str
    value: float
    formula: str
    how: str


def as_json(term: Term) -> dict[str, Any]:
    """The tree as plain data; `weight`, `raw` and `how` only where a term has them."""
    node: dict[str, Any] = {"name": term.name, "value": term.value, "formula": term.formula}
    if term.weight is not None:
        node |= {"weight": term.weight, "raw": term.raw}
    if term.how:
        node["how"] = term.how
    node["parts"] = [as_json(part) for part in term.parts]
    return node


def as_lines(term: Term) -> Iterator[tuple[str, float, str]]:
    """The tree drawn line by line: (branch and name, value, how it came about)."""
    yield from _drawn(term, "", "")


def _drawn(term: Term, first: str, rest: str) -> Iterator[tuple[str, float, str]]:
    reason = term.formula if not term.how else f"{term.formula}   {term.how}"
    yield first + term.name, term.value, reason
    for place, part in enumerate(term.parts, start=1):
        last = place == len(term.parts)
        branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _drawn(part, rest + branch, rest + below)


def bar(value: float, largest: float, length: int = BAR) -> str:
    """A bar as long as the value's share of the largest, which takes the whole length."""
    if largest <= 0 or value <= 0:
        return ""
    return "█" * min(length, max(1, round(length * value / largest)))


def steps(term: Term) -> list[ScoreStep]:
    """The score as steps that add up to it, in order.

    A sum is the steps of its parts. A largest or a smallest value begins with its first part, a
    product with the first part that has parts of its own; every other part is one more step.
    """
    if not term.parts:
        return [ScoreStep(term.name, term.value, term.formula, term.how)]
    if term.formula == "sum":
        return [step for part in term.parts for step in steps(part)]
    parts = term.parts
    if term.formula == "product":  # a factor such as a vault's priority may come first
        parts = tuple(sorted(parts, key=lambda part: not part.parts))
    first, *others = parts
    found, before = steps(first), first.value
    for part in others:
        after = float(OPERATIONS[term.formula]([before, part.value]))
        name = f"{term.name} {part.name}" if part.name in NAMELESS else part.name
        does = f"{DOES.get(term.formula, term.formula)} {number(part.value)}"
        found.append(ScoreStep(name, after - before, does, _reason(part)))
        before = after
    return found


def _reason(part: Term) -> str:
    """Why a part changes a score by as much: its own words, or what it is made of."""
    if part.parts:
        return f"{part.formula} of " + ", ".join(
            f"{one.name} {number(one.value)}" for one in part.parts
        )
    return ", ".join(text for text in (part.formula, part.how) if text)


def in_words(term: Term, about: Callable[[str], str]) -> list[tuple[float, str]]:
    """Reasons for a score, without figures of the recipe, each with its share of all that counts
    for the result: first what counts for it, then, with share 0, what counts against it.

    The largest step comes first in both; steps of next to nothing are left out, and so is what
    every memory begins with. `about`: what a part of that name is about, for reasons that are empty
    or one word such as `critical`.
    """
    own = (step for step in steps(term) if step.name != BASE)
    every = sorted(own, key=lambda step: (step.value < 0, -abs(step.value)))
    total = sum(step.value for step in every if step.value > 0)
    reasons = []
    for step in every:
        if abs(step.value) <= LEAST_SHARE * total:
            continue
        words = "" if step.how.startswith("(") else step.how.partition(" (")[0]
        if " " not in words:
            words = ": ".join(filter(None, (about(step.name), words)))
        if step.value > 0:
            reasons.append((step.value / total, words))
        else:
            reasons.append((0.0, f"counts against it: {words}"))
    return reasons
