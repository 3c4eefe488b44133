"""Small formulas that more than one part of the code needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import exp, inf, log
from typing import TypeVar

Item = TypeVar("Item")


def logistic(x: float) -> float:
    """`1 / (1 + e^−x)`, without overflow for very negative x."""
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


def logit(share: float) -> float:
    """`ln(x / (1 − x))`, the inverse of `logistic`; of 0 and 1 minus and plus infinity."""
    if share <= 0:
        return -inf
    return inf if share >= 1 else log(share / (1 - share))


def parts(
    items: Iterable[Item],
    most: int,
    size: Callable[[Item], int] = lambda item: 0,
    most_size: int = 1,
) -> Iterator[list[Item]]:
    """The items in order, so many at a time, or fewer that together have `most_size`."""
    part: list[Item] = []
    total = 0
    for item in items:
        part.append(item)
        total += size(item)
        if len(part) >= most or total >= most_size:
            yield part
            part, total = [], 0
    if part:
        yield part
