"""`correct_typos`: what one typing error makes of a word that stands nowhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.depth import Depth
from recollect.recall.keyword import Keyword

Search = Callable[..., SearchContext]
MEMORIES = {"a": "Retention of logs.", "b": "The wall is blue.", "c": "It deploys."}


def keyword(correct_typos: bool) -> Keyword:
    return Keyword(
        index="stemmed",
        columns={"title": 1.0, "text": 1.0},
        reading="keywords",
        depth=Depth(at_least=10),
        correct_typos=correct_typos,
    )


def corrected(at: SearchContext) -> list[str]:
    keyword(correct_typos=True).recall(at)
    return [word for words in at.understanding.corrections.values() for word in words]


def test_a_corrected_word_is_searched_for_as_well_and_said(search_at: Search) -> None:
    at = search_at("retntion wall", MEMORIES)
    assert set(keyword(correct_typos=True).recall(at).ids) == {"a", "b"}
    assert at.notes == ["No memory holds 'retntion': searched for retention as well."]


def test_who_does_not_correct_takes_words_as_typed(search_at: Search) -> None:
    at = search_at("retntion wall", MEMORIES)
    assert keyword(correct_typos=False).recall(at).ids == ("b",)
    assert at.notes == []


@pytest.mark.parametrize(
    "query",
    [
        "retention",  # it is there
        "deployed",  # another form of it is there
        "wlal",  # too short to tell
        "zebra",  # nothing is near
        "the of",
        "",
    ],
)
def test_what_is_there_too_short_or_near_nothing_is_not_corrected(
    search_at: Search, query: str
) -> None:
    at = search_at(query, MEMORIES)
    assert corrected(at) == []
    assert at.notes == []


def test_several_words_may_be_meant(search_at: Search) -> None:
    at = search_at("anchxr", {"a": "anchor", "b": "anchor anchar", "c": "anchorage"})
    assert corrected(at) == ["anchor", "anchar"]
    assert at.notes == ["No memory holds 'anchxr': searched for anchor, anchar as well."]


def test_a_word_mistyped_twice_is_told_once(search_at: Search) -> None:
    at = search_at("retntion retntion", MEMORIES)
    assert corrected(at) == ["retention"]
    assert len(at.notes) == 1
