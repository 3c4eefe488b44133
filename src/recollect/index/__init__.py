"""The keyword index as a library of tokens, postings and bytes, and the numbers for BM25.

It knows no store: SQLite and PostgreSQL keep its rows and read them back for it. This module needs
no arrays; the others import numpy.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

# A token, its number of documents, its columns and widths as bits, its postings and its positions.
Row = tuple[str, int, int, bytes, bytes]
K1, B = 1.2, 0.75  # as in FTS5
LEAST_IDF = 1e-6  # as in FTS5 for a word in most rows
ALMOST = 1 - 1e-9  # a factor that allows for rounding of scores


class KeywordStatistics(NamedTuple):
    """The numbers that BM25 needs of a keyword index: its rows, their tokens, and how many rows
    hold each phrase of an expression, in order."""

    rows: int
    tokens: int
    holding: tuple[int, ...]


def inverse_frequencies(statistics: KeywordStatistics) -> list[float]:
    """Return `ln((N − n + ½) / (n + ½))` for each phrase."""
    found = (
        log((max(0, statistics.rows - holding) + 0.5) / (holding + 0.5))
        for holding in statistics.holding
    )
    return [value if value > 0 else LEAST_IDF for value in found]
