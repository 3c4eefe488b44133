"""Small formulas that more than one part of the code needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import exp, inf, log
from typing import TypeVar

Item = TypeVar("Item")


def logistic(x: float) -> float:
    """Return `1 / (1 + e^−x)`, without overflow for very negative x."""
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


def logit(share: float) -> float:
    """Return `ln(x / (1 − x))`, the inverse of `logistic`; minus infinity for 0, infinity for 1."""
    if share <= 0:
        return -inf
    return inf if share >= 1 else log(share / (1 - share))


def batched(
    items: Iterable[Item],
    most: int,
    size: Callable[[Item], int] = lambda item: 0,
    most_size: int = 1,
) -> Iterator[list[Item]]:
    """Yield batches of `most` items, or of fewer as soon as their sizes reach `most_size`."""
    batch: list[Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += size(item)
        if len(batch) >= most or total >= most_size:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
