"""The statement that held at the time in question comes first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from math import inf, nextafter
from typing import Any

import pytest
from planned_search import fused_ranking

from recollect.context import SearchContext
from recollect.stages.adjustments import Validity
from recollect.stages.supersede import Supersede
from recollect.types import Ranking, recompute

Search = Callable[..., SearchContext]
STAGE = Supersede()
FEBRUARY = datetime(2026, 2, 1, tzinfo=UTC)
SAID = {"old": "The limit is 100 requests.", "new": "The limit is now 250 requests."}
DAYS = {"old": "2025-01-01", "mid": "2025-06-01", "new": "2026-01-01"}
NEAR = {"old": (1.0, 0.0), "new": (0.9, 0.436), "mid": (0.95, 0.312)}


def replaced_ids(ranking: Ranking, id: str) -> list[str]:
    [hit] = [hit for hit in ranking if hit.memory_id == id]
    return [memory.id for memory in hit.findings.seems_to_replace]


def replacing(ranking: Ranking) -> dict[str, str]:
    found = ((hit.memory_id, hit.findings.seems_replaced_by) for hit in ranking)
    return {id: newer.id for id, newer in found if newer}


def make_search(search_at: Search, texts: dict[str, Any] = SAID, **options: Any) -> SearchContext:
    """Memories of their days, with vectors that are near each other."""
    made = {
        id: {
            "text": text if isinstance(text, str) else text["text"],
            "updated_at": f"{DAYS[id]}T00:00:00Z",
            **(text if isinstance(text, dict) else {}),
        }
        for id, text in texts.items()
    }
    given: dict[str, Any] = {
        "asked": (1.0, 0.0),
        "vectors": {id: NEAR[id] for id in made},
        "channels": {"vector": {}},
    } | options
    query = given.pop("query", "limit")
    return search_at(query, made, **given)


def test_the_newer_is_placed_just_above_and_both_stay(search_at: Search) -> None:
    at = make_search(search_at)
    ranking = STAGE.apply(fused_ranking(old=5.0, new=3.0), at)
    assert ranking.ids == ("new", "old")
    assert [hit.score for hit in ranking] == [nextafter(5.0, inf), 5.0]
    assert replaced_ids(ranking, "new") == ["old"]
    assert replacing(ranking) == {"old": "new"}
    place = ranking.hits[0].why.parts[-1]
    assert place.name == "supersede"
    assert place.formula == "2026-01-01, newer than old (2025-01-01): just above"
    assert recompute(ranking.hits[0].why) == ranking.hits[0].score
    assert ranking.dropped == {"pool": 3}


@pytest.mark.parametrize(
    ("newer", "allowed"),
    [
        # base −1.6, cosine 0.9 · 1.5, both words of the shorter shared · 2.9, change 16 · 0.3
        ("The limit is now 250 requests.", 1.35 - 1.6 + 2 / 3 * 2.9 + 4.8),
        ("The limit is 250 requests.", 1.35 - 1.6 + 2 / 3 * 2.9),
        ("Fire drills begin at nine.", 1.35 - 1.6),
    ],
)
def test_the_more_alike_two_are_the_less_the_newer_needs_to_score(
    search_at: Search, newer: str, allowed: float
) -> None:
    at = make_search(search_at, SAID | {"new": newer})
    gap = max(allowed, 0.2)
    placed = [
        STAGE.apply(fused_ranking(old=6.0, new=6.0 - gap + less), at).ids[0] for less in (0.1, -0.1)
    ]
    assert placed == (["new", "old"] if allowed > 0 else ["old", "old"])


def test_one_that_is_above_already_keeps_its_score(search_at: Search) -> None:
    at = make_search(search_at)
    before = fused_ranking(new=5.0, old=3.0)
    ranking = STAGE.apply(before, at)
    assert [(hit.memory_id, hit.why) for hit in ranking] == [
        (hit.memory_id, hit.why) for hit in before
    ]
    assert replaced_ids(ranking, "new") == ["old"]


def test_each_of_three_is_above_the_one_before(search_at: Search) -> None:
    at = make_search(search_at, SAID | {"mid": "The limit is 200 requests."})
    ranking = STAGE.apply(fused_ranking(old=5.0, mid=4.5, new=4.0), at)
    assert ranking.ids[0] == "new"
    assert replaced_ids(ranking, "new") == ["old", "mid"]
    assert replaced_ids(ranking, "mid") == [], "what is replaced itself replaces nothing"
    assert replacing(ranking) == {"old": "new", "mid": "new"}


@pytest.mark.parametrize(
    "query",
    ["what was the limit before", "limit in 2025", "limit last June", "the former limit",
     "which limit did we use to have", "Limit früher", "límite antes"],
)  # fmt: skip
def test_a_question_about_the_past_gets_the_older_statement(search_at: Search, query: str) -> None:
    at = make_search(search_at, query=query, now=FEBRUARY)
    ranking = STAGE.apply(fused_ranking(new=5.0, old=3.0), at)
    assert ranking.ids == ("old", "new")
    place = ranking.hits[0].why.parts[-1]
    assert place.formula == "2025-01-01, asked for rather than new (2026-01-01): just above"
    assert recompute(ranking.hits[0].why) == ranking.hits[0].score
    assert replacing(ranking) == {"old": "new"}


def test_a_question_with_a_name_of_the_older_gets_the_older(search_at: Search) -> None:
    at = make_search(search_at, query="limit of 100")
    ranking = STAGE.apply(fused_ranking(new=5.0, old=3.0), at)
    assert ranking.ids == ("old", "new")
    assert replacing(ranking) == {"old": "new"}
    assert Validity().apply(ranking, at).ids == ("old", "new")


@pytest.mark.parametrize(
    "query",
    [
        "limit since 2026", "limit in January 2026",  # the newer held then
        "which limit was decided", "what was the limit set to", "what replaced the 100",
    ],
)  # fmt: skip
def test_a_question_about_what_holds_gets_the_newer(search_at: Search, query: str) -> None:
    at = make_search(search_at, query=query, now=FEBRUARY)
    assert STAGE.apply(fused_ranking(old=5.0, new=3.0), at).ids == ("new", "old")


def test_a_correction_of_the_same_day_comes_first(search_at: Search) -> None:
    later = {"text": SAID["new"], "updated_at": "2025-01-01T10:00:00Z"}
    at = make_search(search_at, SAID | {"new": later})
    assert STAGE.apply(fused_ranking(old=5.0, new=3.0), at).ids == ("new", "old")


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (SAID, {"vectors": {"old": (1.0, 0.0), "new": (0.4, 0.9)}}),  # cosine 0.4
        (SAID, {"vectors": {"old": (1.0, 0.0)}}),  # the newer has no vector yet
        (SAID, {"channels": {}}),  # the vector channel took no part
        (
            SAID | {"new": "Speed in the yard: walk."},
            {"vectors": {"old": (1, 0), "new": (0.7, 0.714)}},
        ),
        (SAID | {"new": SAID["new"] + " And so on." * 29}, {}),  # a page, not a statement
        (SAID | {"new": {"text": SAID["new"], "project": "tower"}}, {}),
        (SAID | {"new": {"text": SAID["new"], "space": "home"}}, {}),
        (SAID | {"new": {"text": SAID["new"], "tier": "file"}}, {}),
        (SAID | {"new": {"text": SAID["new"], "updated_at": "2025-01-01T00:00:00Z"}}, {}),
        (
            SAID | {"new": {"text": SAID["new"], "valid_until": "2026-01-15T00:00:00Z"}},
            {"now": FEBRUARY},
        ),
        (SAID, {"now": datetime(2025, 12, 1, tzinfo=UTC)}),  # as of a day before the newer
        (SAID, {"include_expired": True}),
    ],
)
def test_a_statement_that_replaces_nothing_is_not_raised(
    search_at: Search, texts: dict[str, Any], options: dict[str, Any]
) -> None:
    at = make_search(search_at, texts, **options)
    before = fused_ranking(old=5.0, new=3.0)
    assert STAGE.apply(before, at) is before


def test_a_far_lower_score_is_not_raised(search_at: Search) -> None:
    before = fused_ranking(old=9.0, new=1.0)
    assert STAGE.apply(before, make_search(search_at)).ids == ("old", "new")


def test_only_the_best_are_compared(search_at: Search) -> None:
    before = fused_ranking(old=5.0, new=3.0)
    assert Supersede(top=1).apply(before, make_search(search_at)) is before


def test_nothing_and_one_are_left_as_they_are(search_at: Search) -> None:
    at = make_search(search_at)
    for before in (Ranking(), fused_ranking(old=1.0)):
        assert STAGE.apply(before, at) is before
