"""Every exact thing that some memory holds has a place in the answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.stages.adjustments import ExactFloor
from recollect.types import Hit, Ranking, combine, leaf, ranked, recompute

Search = Callable[..., SearchContext]
STAGE = ExactFloor(share=0.5)
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
    ranking = STAGE.apply(make_ranking("near-0", "near-1", "near-2", "near-3", "code"), at)
    assert ranking.ids == ("near-0", "near-1", "code", "near-2", "near-3")
    why = ranking.hits[2].why
    assert why.formula == "sum"
    assert sum(part.value for part in why.leaves()) == ranking.hits[2].score
    assert why.parts[-1].formula == "holds E1234, which nothing above holds"
    assert recompute(why) == ranking.hits[2].score
    assert ranking.dropped == {"pool": 3}


def test_each_of_several_terms_has_a_place_and_the_better_comes_first(search_at: Search) -> None:
    at = search_at("printer E1234 v7", MEMORIES, limit=4)
    before = make_ranking("near-0", "near-1", "near-2", "near-3", "other", "code")
    assert STAGE.apply(before, at).ids[:4] == ("near-0", "near-1", "other", "code")


def test_at_most_a_share_of_the_places_is_given_away(search_at: Search) -> None:
    at = search_at("printer E1234 v7", MEMORIES, limit=2)
    before = make_ranking("near-0", "near-1", "near-2", "near-3", "other", "code")
    assert STAGE.apply(before, at).ids[:2] == ("near-0", "other")


def test_the_only_holder_of_another_term_does_not_make_room(search_at: Search) -> None:
    """`code` stands on the last place and is the only one with E1234: `other` takes another's."""
    at = search_at("printer E1234 v7", MEMORIES, limit=3)
    before = make_ranking("near-0", "near-1", "code", "near-2", "other")
    assert set(STAGE.apply(before, at).ids[:3]) >= {"code", "other"}


@pytest.mark.parametrize(
    ("query", "limit", "ids"),
    [
        ("printer paper", 1, ("near-0", "code")),  # nothing is exact
        ("E1234", 3, ("near-0", "near-1", "code")),  # all are returned
        ("E1234", 2, ("near-0", "code", "near-1")),  # it is there already
        ("E9999", 2, ("near-0", "near-1", "code")),  # nobody holds it
        ("", 2, ("near-0", "near-1", "code")),
        ("E1234", 2, ()),
    ],
)
def test_if_every_term_has_a_place_nothing_changes(
    search_at: Search, query: str, limit: int, ids: tuple[str, ...]
) -> None:
    before = make_ranking(*ids)
    assert STAGE.apply(before, search_at(query, MEMORIES, limit=limit)) is before


def test_without_a_share_nothing_is_lifted(search_at: Search) -> None:
    at = search_at("printer E1234", MEMORIES, limit=2)
    before = make_ranking("near-0", "near-1", "near-2", "code")
    assert ExactFloor(share=0.0).apply(before, at) is before


def test_a_common_word_lifts_nothing(search_at: Search) -> None:
    """In twenty memories "keep" stands in one, as a name would."""
    others = {f"other-{number}": "Plain." for number in range(14)}
    at = search_at("printer paper to keep", {**MEMORIES, **others, "keep": "Keep it."}, limit=3)
    before = make_ranking("near-0", "near-1", "near-2", "near-3", "keep")
    assert STAGE.apply(before, at) is before
