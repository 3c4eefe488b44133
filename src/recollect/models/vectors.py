"""Turn a model's numbers into stored vectors: check, cut, scale to unit length. Pack token vectors
into two bits per number and a checksum, and compare them by MaxSim.

MaxSim is the weighted mean over a question's tokens of the best cosine among a text's (ColBERT,
Khattab and Zaharia 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.hashing import CHECKSUM, is_intact, with_checksum
from recollect.models.base import model_error
from recollect.types import Span

if TYPE_CHECKING:  # these exist for type checkers only
    from numpy.typing import NDArray

    from recollect.models.base import Matrix

# OpenAI takes 2,048 texts and 300,000 tokens a request; 100 texts of usual memories are far below
# both, and a failed request loses little work.
BATCH = 100
# The best four levels for numbers of deviation 1, and their boundary (Lloyd 1982, Max 1960).
LEVELS = np.array([-1.510, -0.4528, 0.4528, 1.510], np.float32)
CUT = 0.9816
# The four levels of each byte.
TABLE = LEVELS[np.stack([(np.arange(256) >> shift) & 3 for shift in (0, 2, 4, 6)], axis=1)]


def finish_vectors(
    raw: Sequence[Sequence[float]] | Matrix, *, expected_rows: int, dimensions: int, who: str
) -> Matrix:
    """Check a model's rows, cut them to `dimensions` if above 0, scale them to unit length.

    A wrong row count, rows of different dimensions, too few dimensions, NaN, infinity or a zero
    vector raises ProviderError, never transient; `who` begins its sentence.
    """
    if len(raw) != expected_rows:
        raise model_error(f"{who} gave {len(raw)} vectors for {expected_rows} texts.")
    if expected_rows == 0:
        return np.zeros((0, dimensions), dtype=np.float32)
    rows = _cut(_numbers(raw, who), dimensions, who)
    if not np.isfinite(rows).all():
        raise model_error(f"{who} gave a vector that holds NaN or infinity.")
    # Scale by the largest part first: the squares of huge or tiny numbers leave float's range.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        raise model_error(f"{who} gave a vector of zero length.")
    scaled = rows / largest
    unit: NDArray[np.float64] = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return unit.astype(np.float32)


def in_batches(
    texts: Sequence[str],
    prefix: str,
    ask: Callable[[list[str]], Sequence[Sequence[float]]],
    *,
    dimensions: int,
    who: str,
) -> Matrix:
    """Return finished vectors of `prefix` + each text, requested in batches, in order."""
    # A blank replaces an empty text: OpenAI answers 400 to a batch with "".
    prepared = [prefix + text or " " for text in texts]
    parts = [np.zeros((0, dimensions), dtype=np.float32)] if not prepared else []
    for start in range(0, len(prepared), BATCH):
        batch = prepared[start : start + BATCH]
        rows = finish_vectors(ask(batch), expected_rows=len(batch), dimensions=dimensions, who=who)
        if parts and rows.shape[1] != parts[0].shape[1]:
            raise model_error(
                f"{who} gave vectors of {parts[0].shape[1]} and of {rows.shape[1]} dimensions."
            )
        parts.append(rows)
    return np.concatenate(parts)


def _numbers(raw: Sequence[Sequence[float]] | Matrix, who: str) -> NDArray[np.float64]:
    widths = sorted({len(row) for row in raw})
    if len(widths) > 1:
        raise model_error(f"{who} gave vectors of {widths[0]} and of {widths[-1]} dimensions.")
    if widths[0] == 0:
        raise model_error(f"{who} gave a vector without dimensions.")
    try:
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise model_error(
            f"{who} gave a vector that holds something other than numbers."
        ) from error


def _cut(rows: NDArray[np.float64], dimensions: int, who: str) -> NDArray[np.float64]:
    if dimensions <= 0:
        return rows
    if rows.shape[1] < dimensions:
        raise model_error(
            f"{who} gave vectors of {rows.shape[1]} dimensions, which cannot be cut to the "
            f"{dimensions} that embedding.dimensions asks for."
        )
    return rows[:, :dimensions]


class QueryTokens(NamedTuple):
    """A question's tokens: their spans, vectors, and weights, which sum to 1."""

    spans: list[Span]
    vectors: Matrix
    weights: Matrix


def pack_tokens(vectors: Matrix, scales: Matrix) -> bytes:
    """Pack vectors into two bits per number; `scales` is the deviation of each dimension."""
    numbers = vectors / scales
    positive = numbers > 0
    codes = positive * np.uint8(2) + ((np.abs(numbers) > CUT) == positive)
    fours = codes.reshape(len(codes), -1, 4)
    packed: NDArray[np.uint8] = (fours << np.array([0, 2, 4, 6], np.uint8)).sum(2, np.uint8)
    body = packed.tobytes()
    return with_checksum(body)


def token_cosines(query: QueryTokens, packed: Sequence[bytes], scales: Matrix) -> list[Matrix]:
    """Return for each text the cosines of the question's tokens with its own; none if it is
    damaged."""
    if not packed:
        return []
    width = len(scales) // 4
    texts = [blob[:-CHECKSUM] if is_intact(blob) else b"" for blob in packed]
    codes = np.frombuffer(b"".join(texts), np.uint8)
    unpacked = TABLE[codes].reshape(-1, len(scales))
    lengths = np.sqrt(np.square(unpacked) @ np.square(scales))
    products = (query.vectors * scales) @ unpacked.T / lengths
    ends = np.cumsum([len(blob) // width for blob in texts])
    return np.split(products, ends[:-1], axis=1)


def maxsim(query: QueryTokens, similarities: Matrix) -> float:
    """Return how well a text answers a question, word by word: 1 at most."""
    return float(query.weights @ similarities.max(axis=1))
