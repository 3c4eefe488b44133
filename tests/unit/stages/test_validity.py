"""Memories that are expired, or not yet valid, go below valid ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.stages.adjustments import Validity
from recollect.types import Hit, Ranking, leaf, ranked, recompute

Search = Callable[..., SearchContext]
STAGE = Validity(within=5.0)
MEMORIES = {
    "old": {"text": "VAT is 19 %", "valid_until": "2026-01-01"},
    "ahead": {"text": "VAT is 9 %", "valid_from": "2099-01-01"},
    "now": {"text": "VAT is 7 %", "valid_until": "2099-01-01"},
    "far": {"text": "Something else"},
}


def make_ranking(**scores: float) -> Ranking:
    return ranked(Hit(id, leaf("fused", score, "")) for id, score in scores.items())


def test_invalid_memories_go_below_valid_ones_that_answer(search_at: Search) -> None:
    ranking = STAGE.apply(make_ranking(old=10, ahead=9, now=8, far=1), search_at("VAT", MEMORIES))
    assert ranking.ids == ("now", "ahead", "old", "far")
    why = next(hit.why for hit in ranking if hit.memory_id == "old")
    assert why.parts[-1].formula == "expired 2026-01-01: below what is valid"
    assert recompute(why) == why.value


def test_an_invalid_memory_stays_first_if_nothing_valid_answers(search_at: Search) -> None:
    ranking = STAGE.apply(make_ranking(old=10, far=1), search_at("VAT", MEMORIES))
    assert ranking.ids == ("old", "far")


@pytest.mark.parametrize(
    "query", ["what was the VAT before", "VAT in March", "which VAT we used to have"]
)
def test_a_question_about_the_past_moves_nothing(search_at: Search, query: str) -> None:
    ranking = STAGE.apply(make_ranking(old=10, now=8), search_at(query, MEMORIES))
    assert ranking.ids == ("old", "now")
