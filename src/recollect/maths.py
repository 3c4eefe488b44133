"""Small formulas that more than one part of the code needs."""

from __future__ import annotations

from math import exp


def logistic(x: float) -> float:
    """`1 / (1 + e^−x)`, without overflow for very negative x."""
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))
