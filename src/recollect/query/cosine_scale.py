"""Put the cosines of other embedding models on the scale of the bundled English one.

Thresholds between memories are in that scale: there, texts about different things have 0.4 to 0.6;
with the multilingual model they have 0.75 to 0.85.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class CosineScale(NamedTuple):
    """`factor · cosine + offset`, at most 1."""

    factor: float = 1.0
    offset: float = 0.0

    def to_english(self, cosine: float) -> float:
        return min(1.0, self.factor * cosine + self.offset)

    def to_own(self, english: float) -> float:
        """Return the model's own cosine for a cosine of the English scale."""
        return (english - self.offset) / self.factor


SAME = CosineScale()
# By the beginning of a model's identity. Fitted by benchmarks/duplicates.py: the mean and deviation
# of its `fitted` pairs and of unrelated pairs equal those of the English model.
SCALES = {
    "builtin:multilingual@": CosineScale(2.63, -1.61),
    "builtin:joint@": CosineScale(1.42, -0.44),
}


def scale_of(identity: str) -> CosineScale:
    """Return the scale of a model; SAME for a model that was not measured."""
    return next((scale for name, scale in SCALES.items() if identity.startswith(name)), SAME)


def on_english_scale(
    identity: str, cosines: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """Convert a model's cosines between pairs of memories to the English scale."""
    scale = scale_of(identity)
    return {pair: scale.to_english(cosine) for pair, cosine in cosines.items()}
