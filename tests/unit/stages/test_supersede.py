"""What was said later about the same thing stands above what was said before."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nextafter
from typing import Any

import pytest

from recollect.context import SearchContext
from recollect.stages.supersede import Supersede
from recollect.types import Hit, Ranking, combine, leaf, ranked, recompute

Search = Callable[..., SearchContext]
STAGE = Supersede(cosine=0.8, overlap=0.5, longest=60)
SAID = {"old": "The limit is 100 requests.", "new": "The limit is now 250 requests."}
DAYS = {"old": "2025-01-01", "mid": "2025-06-01", "new": "2026-01-01"}
NEAR = {"old": (1.0, 0.0), "new": (0.9, 0.436), "mid": (0.95, 0.312)}


def fused(**scores: float) -> Ranking:
    return ranked(
        (
            Hit(id, combine("fused", "sum", [leaf("keyword", score, "")]))
            for id, score in scores.items()
        ),
        {"pool": 3},
    )


def replaced(ranking: Ranking, id: str) -> list[str]:
    [hit] = [hit for hit in ranking if hit.memory_id == id]
    return [memory.id for memory in hit.findings.replaces]


def searched(search_at: Search, texts: dict[str, Any] = SAID, **options: Any) -> SearchContext:
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
    return search_at("limit", made, **given)


def test_the_newer_is_placed_just_above_and_both_stay(search_at: Search) -> None:
    at = searched(search_at)
    ranking = STAGE.apply(fused(old=5.0, new=3.0), at)
    assert ranking.ids == ("new", "old")
    assert [hit.score for hit in ranking] == [nextafter(5.0, inf), 5.0]
    assert replaced(ranking, "new") == ["old"]
    place = ranking.hits[0].why.parts[-1]
    assert place.name == "supersede"
    assert place.formula == "newer (2026-01-01) than old (2025-01-01): just above it"
    assert recompute(ranking.hits[0].why) == ranking.hits[0].score
    assert ranking.dropped == {"pool": 3}


def test_one_that_is_above_already_keeps_its_score(search_at: Search) -> None:
    at = searched(search_at)
    before = fused(new=5.0, old=3.0)
    ranking = STAGE.apply(before, at)
    assert [(hit.memory_id, hit.why) for hit in ranking] == [
        (hit.memory_id, hit.why) for hit in before
    ]
    assert replaced(ranking, "new") == ["old"]


def test_of_three_each_stands_above_the_one_before(search_at: Search) -> None:
    at = searched(search_at, SAID | {"mid": "The limit is 200 requests."})
    ranking = STAGE.apply(fused(old=5.0, mid=4.5, new=4.0), at)
    assert ranking.ids == ("new", "mid", "old")
    assert replaced(ranking, "new") == ["old", "mid"]
    assert replaced(ranking, "mid") == ["old"]


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (SAID, {"vectors": {"old": (1.0, 0.0), "new": (0.6, 0.8)}}),  # cosine 0.6
        (SAID, {"vectors": {"old": (1.0, 0.0)}}),  # the newer has no vector yet
        (SAID, {"channels": {}}),  # the vector channel took no part
        (SAID | {"new": "Speed in the yard: walk."}, {}),  # other words
        (SAID | {"new": SAID["new"] + " And so on." * 9}, {}),  # a page, not a statement
        (SAID | {"new": {"text": SAID["new"], "project": "tower"}}, {}),
        (SAID | {"new": {"text": SAID["new"], "space": "home"}}, {}),
        (SAID | {"new": {"text": SAID["new"], "updated_at": "2025-01-01T00:00:00Z"}}, {}),
    ],
)
def test_what_is_not_the_same_thing_is_not_lifted(
    search_at: Search, texts: dict[str, Any], options: dict[str, Any]
) -> None:
    at = searched(search_at, texts, **options)
    before = fused(old=5.0, new=3.0)
    assert STAGE.apply(before, at) is before


def test_however_worse_its_words_fit_the_newer_is_lifted(search_at: Search) -> None:
    """What was said before may stand in the very words of the question."""
    assert STAGE.apply(fused(old=9.0, new=1.0), searched(search_at)).ids == ("new", "old")


def test_only_the_best_are_compared(search_at: Search) -> None:
    before = fused(old=5.0, new=3.0)
    assert Supersede(cosine=0.8, top=1).apply(before, searched(search_at)) is before


def test_nothing_and_one_are_left_as_they_are(search_at: Search) -> None:
    at = searched(search_at)
    for before in (Ranking(), fused(old=1.0)):
        assert STAGE.apply(before, at) is before
