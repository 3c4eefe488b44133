"""Small formulas that more than one part of the code needs."""

from __future__ import annotations

from math import exp, inf, log


def logistic(x: float) -> float:
    """`1 / (1 + e^−x)`, without overflow for very negative x."""
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


def logit(share: float) -> float:
    """`ln(x / (1 − x))`, the inverse of `logistic`; of 0 and 1 minus and plus infinity."""
    if share <= 0:
        return -inf
    return inf if share >= 1 else log(share / (1 - share))
