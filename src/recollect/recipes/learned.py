"""What feedback made of a recipe's weights."""

from __future__ import annotations

from recollect.recipes.base import Recipe
from recollect.stages.signal_sums import WeightedSum


def learned_weights(
    recipe: Recipe, accepted: int, dismissed: int, *, vectors: bool
) -> dict[str, tuple[float, float]]:
    """Each weight as declared and as it is after so much feedback; empty for a recipe whose weights
    do not learn. `vectors`: whether a model makes them."""
    for stage in recipe.stages:
        if isinstance(stage, WeightedSum) and stage.adaptive is not None:
            declared = stage.declared(vectors=vectors)
            now = stage.adaptive.adapted(declared, accepted, dismissed)
            return {name: (declared[name], now[name]) for name in declared}
    return {}
