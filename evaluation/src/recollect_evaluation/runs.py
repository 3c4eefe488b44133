"""What one recipe did on one data set: its answers, its figures, its times."""

from __future__ import annotations

import math
from typing import NamedTuple

from msgspec import Struct

from recollect.recipes.base import Recipe
from recollect_evaluation.baselines import BM25
from recollect_evaluation.metrics import PerQuery


class Contestant(NamedTuple):
    """The name and the recipe of what is evaluated; grep has no recipe."""

    name: str
    recipe: Recipe | None

    @property
    def uses_vectors(self) -> bool:
        """True unless it is known to need none."""
        return self.recipe is not None and self.recipe is not BM25


class Answers(Struct, frozen=True):
    """The quality pass: the ids for each question, and how often which part was missing."""

    returned: dict[str, list[str]]
    degraded: dict[str, int]


class Timing(Struct, frozen=True):
    """The latency pass. `reached` is the share of the candidates that the reranker read within its
    budget; None without a reranker."""

    times_ms: dict[str, float]
    stages_ms: dict[str, float]
    reached: float | None

    def percentile(self, share: float) -> float:
        """The percentile by nearest rank: a time that was measured."""
        spent = sorted(self.times_ms.values())
        return spent[math.ceil(share * len(spent)) - 1]


class RecipeOutcome(Struct, frozen=True, kw_only=True):
    """One recipe on one data set."""

    recipe: str
    fingerprint: str
    answers: Answers
    per_query: PerQuery
    timing: Timing
