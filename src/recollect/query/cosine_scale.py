"""The cosines of other embedding models on the scale of the bundled English one, by which memories
are compared with each other: texts about different things have 0.4 to 0.6 there, and 0.75 to 0.85
with the model for many languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class CosineScale(NamedTuple):
    """`factor · cosine + offset`, 1 at most."""

    factor: float = 1.0
    offset: float = 0.0

    def english(self, cosine: float) -> float:
        return min(1.0, self.factor * cosine + self.offset)

    def own(self, english: float) -> float:
        """The model's own cosine that stands for this one."""
        return (english - self.offset) / self.factor


SAME = CosineScale()
# By what the identity begins with. Fitted by benchmarks/duplicates.py: mean and deviation of the
# pairs of its half `fitted` and of unrelated ones are those of the English model.
SCALES = {
    "builtin:multilingual@": CosineScale(2.63, -1.61),
    "builtin:joint@": CosineScale(1.42, -0.44),
}


def scale_of(identity: str) -> CosineScale:
    """The scale of a model; its cosines are taken as they are where it was not measured."""
    return next((scale for name, scale in SCALES.items() if identity.startswith(name)), SAME)


def on_english_scale(
    identity: str, cosines: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """The cosines that a model has for pairs of memories, on the scale of the English one."""
    scale = scale_of(identity)
    return {pair: scale.english(cosine) for pair, cosine in cosines.items()}
