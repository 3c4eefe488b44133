"""Stages that raise or lower some results: dismissed, invalid, exact, weak."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from planned_search import fused_ranking, ranking

from recollect.context import SearchContext
from recollect.recipes.related import RELATED
from recollect.stages.adjustments import Dismissed, ExactFloor, MeaningFloor, Validity
from recollect.types import Hit, Ranking, combine, leaf, ranked, recompute
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


@pytest.mark.parametrize(
    ("scores", "opinions", "order"),
    [
        ({"z": 8.0, "y": 7.0, "b": 6.0, "x": 1.0}, {"z": WRONG, "y": WRONG, "x": WRONG}, "bzyx"),
        ({"a": 8.0, "z": 3.0}, {"z": WRONG}, "az"),
        ({"a": 8.0, "b": 7.0}, {"a": OTHERWISE}, "ab"),  # dismissed for another question
    ],
)
def test_dismissed_memories_keep_their_order(
    scores: dict[str, float], opinions: dict[str, Opinion], order: str
) -> None:
    found = apply_stage(scores, **opinions)
    assert found.ids == tuple(order)
    moved = {hit.memory_id for hit in found if hit.why.formula}
    assert moved == ({"z", "y"} if "y" in scores else set())


Search = Callable[..., SearchContext]
EXACT_FLOOR = ExactFloor(share=0.5)
MEMORIES = {
    **{f"near-{number}": "The printer is out of paper." for number in range(4)},
    "code": "E1234 is a code.",
    "other": "v7 is a version.",
}


def make_ranking(*ids: str) -> Ranking:
    """In this order, ten points apart."""
    scored = [
        Hit(id, combine("fused", "sum", [leaf("keyword", 100.0 - 10 * place, "")]))
        for place, id in enumerate(ids)
    ]
    return ranked(scored, {"pool": 3})


def test_a_memory_with_an_exact_term_is_lifted_to_the_last_place(search_at: Search) -> None:
    at = search_at("why does the printer say E1234", MEMORIES, limit=3)
    ranking = EXACT_FLOOR.apply(make_ranking("near-0", "near-1", "near-2", "near-3", "code"), at)
    assert ranking.ids == ("near-0", "near-1", "code", "near-2", "near-3")
    why = ranking.hits[2].why
    assert why.formula == "sum"
    assert sum(part.value for part in why.leaves()) == ranking.hits[2].score
    assert why.parts[-1].formula == "holds E1234, which nothing above holds"
    assert recompute(why) == ranking.hits[2].score
    assert ranking.dropped == {"pool": 3}


@pytest.mark.parametrize(
    ("limit", "before", "first"),
    [
        (4, "near-0 near-1 near-2 near-3 other code", "near-0 near-1 other code"),
        (2, "near-0 near-1 near-2 near-3 other code", "near-0 other"),  # half of the places
        # `code` is last and the only one with E1234: `other` takes another's place.
        (3, "near-0 near-1 code near-2 other", "near-0 code other"),
    ],
)
def test_each_of_several_terms_has_a_place_within_its_share(
    search_at: Search, limit: int, before: str, first: str
) -> None:
    at = search_at("printer E1234 v7", MEMORIES, limit=limit)
    lifted = EXACT_FLOOR.apply(make_ranking(*before.split()), at).ids
    assert lifted[:limit] == tuple(first.split())


@pytest.mark.parametrize(
    ("query", "limit", "ids"),
    [
        ("printer paper", 1, ("near-0", "code")),  # nothing is exact
        ("E1234", 3, ("near-0", "near-1", "code")),  # all are returned
        ("E1234", 2, ("near-0", "code", "near-1")),  # it is there already
        ("E9999", 2, ("near-0", "near-1", "code")),  # in no memory
        ("", 2, ("near-0", "near-1", "code")),
        ("E1234", 2, ()),
    ],
)
def test_if_every_term_has_a_place_nothing_changes(
    search_at: Search, query: str, limit: int, ids: tuple[str, ...]
) -> None:
    before = make_ranking(*ids)
    assert EXACT_FLOOR.apply(before, search_at(query, MEMORIES, limit=limit)) is before


def test_without_a_share_and_for_a_common_word_nothing_is_lifted(search_at: Search) -> None:
    """In twenty memories "keep" is in one, as a name would be."""
    others = {f"other-{number}": "Plain." for number in range(14)}
    at = search_at("printer E1234 to keep", {**MEMORIES, **others, "keep": "Keep it."}, limit=3)
    for stage, last in ((ExactFloor(share=0.0), "code"), (EXACT_FLOOR, "keep")):
        before = make_ranking("near-0", "near-1", "near-2", "near-3", last)
        assert stage.apply(before, at) is before


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


VALIDITY = Validity(within=5.0)
RATES = {
    "old": {"text": "VAT is 19 %", "valid_until": "2026-01-01"},
    "ahead": {"text": "VAT is 9 %", "valid_from": "2099-01-01"},
    "now": {"text": "VAT is 7 %", "valid_until": "2099-01-01"},
    "far": {"text": "Something else"},
}


def test_invalid_memories_go_below_valid_ones_that_answer(search_at: Search) -> None:
    ranking = VALIDITY.apply(fused_ranking(old=10, ahead=9, now=8, far=1), search_at("VAT", RATES))
    assert ranking.ids == ("now", "ahead", "old", "far")
    why = next(hit.why for hit in ranking if hit.memory_id == "old")
    assert why.parts[-1].formula == "expired 2026-01-01: below what is valid"
    assert recompute(why) == why.value


def test_an_invalid_memory_stays_first_if_nothing_valid_answers(search_at: Search) -> None:
    ranking = VALIDITY.apply(fused_ranking(old=10, far=1), search_at("VAT", RATES))
    assert ranking.ids == ("old", "far")


@pytest.mark.parametrize(
    "query", ["what was the VAT before", "VAT in March", "which VAT we used to have"]
)
def test_a_question_about_the_past_moves_nothing(search_at: Search, query: str) -> None:
    ranking = VALIDITY.apply(fused_ranking(old=10, now=8), search_at(query, RATES))
    assert ranking.ids == ("old", "now")
