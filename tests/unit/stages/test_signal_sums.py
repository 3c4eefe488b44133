"""The stage that adds signals to a score."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.signals.base import add_parts
from recollect.signals.properties import Importance, TimeMatch
from recollect.signals.words import ExactMatch
from recollect.stages.signal_sums import Bonus
from recollect.types import Hit, Ranking, combine, leaf, ranked, recompute, weighted

Search = Callable[..., SearchContext]
STAGE = Bonus(signals=(Importance(weight=1.0), ExactMatch(weight=2.0)))
MEMORIES = {
    "a": "The blue door has id E42.",
    "b": {"text": "A door that is blue.", "severity": "warning"},
    "c": "Something else.",
}


def make_ranking(**scores: float) -> Ranking:
    """As fusion gives it: sums of weighted parts."""
    return ranked(
        (
            Hit(id, combine("fused", "sum", [weighted("keyword", 2.0, score / 2)]))
            for id, score in scores.items()
        ),
        {"pool": 7},
    )


def test_signals_are_added_with_their_weights(search_at: Search) -> None:
    """a has the one exact thing (2), b is a warning (half of 1)."""
    at = search_at("blue door E42", MEMORIES)
    ranking = STAGE.apply(make_ranking(c=2.0, b=2.0, a=1.0), at)
    assert ranking.ids == ("a", "b", "c")
    [best, second, last] = ranking.hits
    assert {part.name: part.value for part in best.why.parts} == pytest.approx(
        {"keyword": 1.0, "importance": 0.0, "exact": 2.0}
    )
    assert [hit.score for hit in (best, second, last)] == pytest.approx([3.0, 2.5, 2.0])
    assert second.why.parts[-1].how == "holds 0 of 1 exact terms"
    assert all(recompute(hit.why) == hit.score for hit in ranking)
    assert ranking.dropped == {"pool": 7}


def test_a_signal_with_nothing_to_say_is_left_out_of_the_explanation(search_at: Search) -> None:
    at = search_at("door", MEMORIES)
    stage = Bonus(signals=(TimeMatch(weight=2.0), Importance(weight=1.0)))
    ranking = stage.apply(make_ranking(b=1.0), at)
    assert [part.name for part in ranking.hits[0].why.parts] == ["keyword", "importance"]


@pytest.mark.parametrize("query", ["", "?", "zebra"])
def test_without_signals_nothing_changes(search_at: Search, query: str) -> None:
    before = make_ranking(c=2.0, a=1.0)
    assert STAGE.apply(before, search_at(query, MEMORIES)) is before


def test_no_candidates_need_no_signals(search_at: Search) -> None:
    assert STAGE.apply(Ranking(), search_at("door", MEMORIES)) == Ranking()


def test_equal_scores_come_by_id(search_at: Search) -> None:
    at = search_at("door", {"b": "A door.", "a": "A door."})
    assert STAGE.apply(make_ranking(b=1.0, a=1.0), at).ids == ("a", "b")


def test_a_term_that_is_no_sum_becomes_a_part_of_one() -> None:
    """One channel's own score, or the larger of two: it is not lost, and its parts not added."""
    more = leaf("bonus", 1.0, "")
    assert add_parts(leaf("keyword", 4.0, "bm25"), more).value == 5.0
    larger = combine("fused", "max", [leaf("x", 2.0, ""), leaf("y", 3.0, "")])
    assert add_parts(larger, more).value == recompute(add_parts(larger, more)) == 4.0
    total = combine("fused", "sum", [leaf("x", 2.0, ""), leaf("y", 3.0, "")])
    assert [part.name for part in add_parts(total, more, more).parts] == [
        "x",
        "y",
        "bonus",
        "bonus",
    ]
