"""A score's explanation as JSON, and as a tree drawn in text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recollect.types import Term

BAR = 24


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
