"""Memories that were dismissed for this question go below those that were not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from recollect.stages.adjustments import Dismissed
from recollect.types import Hit, Ranking, leaf, ranked, recompute
from recollect.verdicts import Opinion

RIGHT = Opinion(1.0, True, "you accepted this for “q”")
WRONG = Opinion(-1.0, True, "you dismissed this for “q”")
OTHERWISE = Opinion(-0.9, False, "you dismissed this for “r”, a similar question")


def apply_stage(scores: dict[str, float], **opinions: Opinion) -> Ranking:
    ranking = ranked(Hit(id, leaf("fused", score, "")) for id, score in scores.items())
    context: Any = SimpleNamespace(opinions=opinions)
    found = Dismissed(within=4.0).apply(ranking, context)
    assert all(recompute(hit.why) == hit.score for hit in found)
    return found


@pytest.mark.parametrize("right", [7.9, 1.0, -3.0])
def test_accepted_memories_are_above_dismissed_ones_whatever_they_score(right: float) -> None:
    found = apply_stage({"wrong": 8.0, "right": right, "b": 2.0}, right=RIGHT, wrong=WRONG)
    assert found.ids.index("right") < found.ids.index("wrong")


def test_dismissed_memories_go_below_scores_within_reach_only() -> None:
    found = apply_stage({"wrong": 8.0, "b": 6.0, "c": 4.0, "d": 3.9}, wrong=WRONG)
    assert found.ids == ("b", "c", "wrong", "d")
    [moved] = [hit for hit in found if hit.memory_id == "wrong"]
    [place] = [part for part in moved.why.leaves() if part.name == "dismissed"]
    assert place.formula == "you dismissed this for “q”: below what you did not dismiss"


def test_several_keep_their_order() -> None:
    found = apply_stage({"z": 8.0, "y": 7.0, "b": 6.0, "x": 1.0}, z=WRONG, y=WRONG, x=WRONG)
    assert found.ids == ("b", "z", "y", "x")


def test_a_dismissed_memory_that_is_lowest_is_unchanged() -> None:
    ranking = apply_stage({"a": 8.0, "wrong": 3.0}, wrong=WRONG)
    assert [hit.why.formula for hit in ranking] == ["", ""]


def test_a_memory_dismissed_for_another_question_stays() -> None:
    assert apply_stage({"a": 8.0, "b": 7.0}, a=OTHERWISE).ids == ("a", "b")
