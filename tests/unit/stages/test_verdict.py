"""The confidence in the first result: strong, weak or no evidence."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import pytest
from msgspec.structs import replace
from planned_search import ranking

from recollect.context import SearchContext
from recollect.errors import UserError
from recollect.recipes.base import check
from recollect.recipes.registry import BUILT_IN
from recollect.stages.ending import ConfidenceVerdict
from recollect.types import Judgement, Ranking

Search = Callable[..., SearchContext]
STAGE = ConfidenceVerdict(strong=0.9, weak=0.1)


@pytest.mark.parametrize(
    ("score", "judgement"),
    [
        (log(9.01), Judgement(0.9001, "strong")),  # odds of 9 to 1
        (log(8.99), Judgement(0.8999, "weak")),
        (0.0, Judgement(0.5, "weak")),
        (-log(8.99), Judgement(0.1001, "weak")),
        (-log(9.01), Judgement(0.0999, "none")),
        (-1000.0, Judgement(0.0, "none")),
        (1000.0, Judgement(1.0, "strong")),
    ],
)
def test_the_first_results_log_odds_decide(
    search_at: Search, score: float, judgement: Judgement
) -> None:
    scores = {"a": score, "b": score - 1}
    at = search_at("kayak", dict.fromkeys(scores, "kayak"))
    judged = STAGE.apply(ranking("fused", scores), at)
    assert judged.judgement == judgement
    assert judged.ids == ("a", "b"), "nothing is dropped"


def test_nothing_found_is_no_evidence(search_at: Search) -> None:
    assert STAGE.apply(Ranking(), search_at("kayak", {})).judgement == Judgement(0.0, "none")


def test_a_list_is_strong_evidence(search_at: Search) -> None:
    at = search_at("all bugs", {"a": {"text": "It leaks.", "kind": "bug"}})
    assert at.understanding.lists
    listed = STAGE.apply(ranking("fused", {"a": -3.0}), at)
    assert listed.judgement == Judgement(1.0, "strong")


def test_a_fusion_without_log_odds_is_refused() -> None:
    gnosis = BUILT_IN["gnosis"]
    with pytest.raises(UserError, match="verdict needs log_odds; put one of these before it: feat"):
        check(replace(gnosis, stages=(*gnosis.stages, STAGE)))
