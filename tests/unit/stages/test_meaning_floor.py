"""Memories that are only nearest in meaning, and not near, are not related."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from planned_search import ranking

from recollect.context import SearchContext
from recollect.recipes.related import RELATED
from recollect.stages.adjustments import MeaningFloor


@pytest.mark.parametrize("name", ["vector", "meaning"])
def test_a_weak_match_without_a_shared_word_is_dropped_and_counted(
    search_at: Callable[..., SearchContext], name: str
) -> None:
    scores = {"near": 3.0, "worded": 0.5, "just": 2.0, "arabic": 1.9}
    channels = {"keyword": {"worded": 1.0}, name: dict.fromkeys(scores, 0.5)}
    context = search_at(
        "tides", dict.fromkeys(scores, "Tides"), channels=channels, vector_channel=name
    )
    kept = MeaningFloor(floor=2.0).apply(ranking("fused", scores), context)
    assert kept.ids == ("near", "worded", "just")
    assert kept.dropped == {"meaning_floor": 1}


def test_related_memories_have_that_floor() -> None:
    assert any(isinstance(stage, MeaningFloor) for stage in RELATED.stages)
