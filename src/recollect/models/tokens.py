"""Token vectors: one of each word of a text, packed in two bits a number and a checksum, and MaxSim
over them.

MaxSim is the weighted mean over a question's tokens of the best cosine among a text's (ColBERT,
Khattab and Zaharia 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.hashing import CHECKSUM, intact, with_checksum
from recollect.types import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.models.base import Matrix

# The best four levels for numbers of deviation 1, and where they part (Lloyd 1982, Max 1960).
LEVELS = np.array([-1.510, -0.4528, 0.4528, 1.510], np.float32)
CUT = 0.9816
# The four levels that a byte stands for.
TABLE = LEVELS[np.stack([(np.arange(256) >> shift) & 3 for shift in (0, 2, 4, 6)], axis=1)]


class QueryTokens(NamedTuple):
    """A question's tokens: where each stands in it, its vector, and its weight; weights sum to
    1."""

    spans: list[Span]
    vectors: Matrix
    weights: Matrix


def pack(vectors: Matrix, scales: Matrix) -> bytes:
    """Vectors in two bits a number; `scales` is the deviation of each dimension."""
    numbers = vectors / scales
    positive = numbers > 0
    codes = positive * np.uint8(2) + ((np.abs(numbers) > CUT) == positive)
    fours = codes.reshape(len(codes), -1, 4)
    packed: NDArray[np.uint8] = (fours << np.array([0, 2, 4, 6], np.uint8)).sum(2, np.uint8)
    body = packed.tobytes()
    return with_checksum(body)


def cosines(query: QueryTokens, packed: Sequence[bytes], scales: Matrix) -> list[Matrix]:
    """For each text the cosine of each of the question's tokens with each of the text's; of a
    damaged one none."""
    width = len(scales) // 4
    texts = [blob[:-CHECKSUM] if intact(blob) else b"" for blob in packed]
    codes = np.frombuffer(b"".join(texts), np.uint8)
    unpacked = TABLE[codes].reshape(-1, len(scales))
    lengths = np.sqrt(np.square(unpacked) @ np.square(scales))
    products = (query.vectors * scales) @ unpacked.T / lengths
    ends = np.cumsum([len(blob) // width for blob in texts])
    return np.split(products, ends[:-1], axis=1)


def maxsim(query: QueryTokens, similarities: Matrix) -> float:
    """How well a text answers a question, word by word: 1 at most."""
    return float(query.weights @ similarities.max(axis=1))
