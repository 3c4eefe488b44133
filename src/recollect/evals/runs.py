"""What one recipe did on one data set: its answers, its figures, its times."""

from __future__ import annotations

import math
from typing import NamedTuple

from msgspec import Struct

from recollect.evals.baselines import BM25
from recollect.evals.metrics import PerQuery
from recollect.recipes.base import Recipe


class Contestant(NamedTuple):
    """A name and its recipe; grep has none."""

    name: str
    recipe: Recipe | None

    @property
    def uses_vectors(self) -> bool:
        """Only what is known to need none goes without."""
        return self.recipe is not None and self.recipe is not BM25


class Answers(Struct, frozen=True):
    """What the quality pass found: ids by question, and what could not take part, how often."""

    returned: dict[str, list[str]]
    degraded: dict[str, int]


class Timing(Struct, frozen=True):
    """What the latency pass measured. `reached` is the share of the candidates that the reranker
    read within its budget; None where none was asked."""

    times_ms: dict[str, float]
    stages_ms: dict[str, float]
    reached: float | None

    def percentile(self, share: float) -> float:
        """By nearest rank: a time that was really met."""
        spent = sorted(self.times_ms.values())
        return spent[math.ceil(share * len(spent)) - 1]


class RecipeOutcome(Struct, frozen=True, kw_only=True):
    """One recipe on one data set."""

    recipe: str
    fingerprint: str
    answers: Answers
    per_query: PerQuery
    timing: Timing
