"""From the numbers a model gave to the vectors that are stored: checked, cut, unit-length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recollect.models.base import broken

if TYPE_CHECKING:  # these exist for type checkers only
    from numpy.typing import NDArray

    from recollect.models.base import Matrix

# OpenAI takes 2,048 texts and 300,000 tokens a request; 100 texts of a usual memory's length stay
# far below both, and a failed request loses little work.
BATCH = 100


def finished(
    raw: Sequence[Sequence[float]] | Matrix, *, expected_rows: int, dimensions: int, who: str
) -> Matrix:
    """Check what a model gave, cut it to `dimensions` where above 0, make every row unit-length.

    `who` begins the sentence of the ProviderError (never transient) that a wrong row count, rows
    of different dimensions, too few dimensions, NaN, infinity or a zero vector raises.
    """
    if len(raw) != expected_rows:
        raise broken(f"{who} gave {len(raw)} vectors for {expected_rows} texts.")
    if expected_rows == 0:
        return np.zeros((0, dimensions), dtype=np.float32)
    rows = _cut(_numbers(raw, who), dimensions, who)
    if not np.isfinite(rows).all():
        raise broken(f"{who} gave a vector that holds NaN or infinity.")
    # Scaled by the largest part first: the squares of huge or tiny numbers leave float's range.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        raise broken(f"{who} gave a vector of zero length.")
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
    """Finished vectors of `prefix` + each text, asked for `BATCH` texts at a time, in order."""
    # A blank stands for an empty text: OpenAI answers 400 to "", and with it to the whole batch.
    prepared = [prefix + text or " " for text in texts]
    parts = [np.zeros((0, dimensions), dtype=np.float32)] if not prepared else []
    for start in range(0, len(prepared), BATCH):
        batch = prepared[start : start + BATCH]
        rows = finished(ask(batch), expected_rows=len(batch), dimensions=dimensions, who=who)
        if parts and rows.shape[1] != parts[0].shape[1]:
            raise broken(
                f"{who} gave vectors of {parts[0].shape[1]} and of {rows.shape[1]} dimensions."
            )
        parts.append(rows)
    return np.concatenate(parts)


def _numbers(raw: Sequence[Sequence[float]] | Matrix, who: str) -> NDArray[np.float64]:
    widths = sorted({len(row) for row in raw})
    if len(widths) > 1:
        raise broken(f"{who} gave vectors of {widths[0]} and of {widths[-1]} dimensions.")
    if widths[0] == 0:
        raise broken(f"{who} gave a vector without dimensions.")
    try:
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise broken(f"{who} gave a vector that holds something other than numbers.") from error


def _cut(rows: NDArray[np.float64], dimensions: int, who: str) -> NDArray[np.float64]:
    if dimensions <= 0:
        return rows
    if rows.shape[1] < dimensions:
        raise broken(
            f"{who} gave vectors of {rows.shape[1]} dimensions, which cannot be cut to the "
            f"{dimensions} that embedding.dimensions asks for."
        )
    return rows[:, :dimensions]
