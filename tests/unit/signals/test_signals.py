"""Signals: importance, the time that a query names, exact terms, the first person."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from recollect.context import SearchContext
from recollect.signals.properties import Importance, TimeMatch
from recollect.signals.words import ExactMatch, Person

Search = Callable[..., SearchContext]
MEMORIES = {
    "pinned": {"title": "x", "tier": "core"},
    "critical": {"title": "x", "severity": "critical"},
    "warning": {"title": "x", "severity": "warning"},
    "both": {"title": "x", "tier": "core", "severity": "warning"},
    "suggestion": {"title": "x", "severity": "suggestion"},
    "plain": {"title": "x"},
}


def test_pinned_and_severe_memories_score_and_most_do_not(search_at: Search) -> None:
    found = Importance(weight=1.0).values(search_at("", MEMORIES), list(MEMORIES))
    assert found == {
        "pinned": (1.0, "is pinned"),
        "critical": (1.0, "severity: critical"),
        "warning": (0.5, "severity: warning"),
        "both": (1.0, "is pinned"),
    }


def test_the_larger_mark_counts(search_at: Search) -> None:
    signal = Importance(weight=1.0, core=0.2)
    assert signal.values(search_at("", MEMORIES), ["both"])["both"] == (0.5, "severity: warning")


TIME = TimeMatch(weight=1.0)
DATED = {
    day: {"text": "a note", "created_at": f"{day}T10:00:00Z", "updated_at": "2026-03-01T11:00:00Z"}
    for day in ("2025-03-10", "2026-01-15", "2026-02-17", "2026-02-28")
}


def time_values(at: SearchContext) -> dict[str, float]:
    return {id: value.raw for id, value in TIME.values(at, list(DATED)).items()}


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("last week", {"2026-02-17"}),  # it is Sunday, 1 March: the week before this one
        ("notes before 2026-02-01", {"2025-03-10", "2026-01-15"}),
        ("in January", {"2026-01-15"}),
        ("since January 2026", {"2026-01-15", "2026-02-17", "2026-02-28"}),
        ("in January 2026 and in March 2025", {"2026-01-15", "2025-03-10"}),
        ("after 2026-01-20 and before 2026-02-20", {"2026-02-17"}),
        ("tomorrow", set()),
    ],
)
def test_a_memory_made_in_the_time_counts_one(
    search_at: Search, query: str, days: set[str]
) -> None:
    """When it was made, not when it was changed: all were changed today."""
    assert time_values(search_at(query, DATED)) == dict.fromkeys(days, 1.0)


def test_a_hint_counts_half_and_yields_to_a_bound(search_at: Search) -> None:
    at = search_at("lately", DATED)
    assert time_values(at) == {"2026-02-17": 0.5, "2026-02-28": 0.5}
    assert len(at.understanding.effective_periods) == 1


def test_a_bound_counts_rather_than_a_hint(search_at: Search) -> None:
    at = search_at("what changed lately in January 2026", DATED)
    assert time_values(at) == {"2026-01-15": 1.0}
    assert [period.said for period in at.understanding.effective_periods] == ["in January 2026"]


def test_the_explanation_says_how_a_time_was_read(search_at: Search) -> None:
    at = search_at("last week", DATED)
    [value] = TIME.values(at, list(DATED)).values()
    assert value.how == "made in the time asked for: last week = 2026-02-16 … 2026-02-22"


@pytest.mark.parametrize(
    ("query", "literal"),
    [("", False), ("notes", False), ("a march on may", False), ("last week", True)],
)
def test_without_a_time_or_in_a_literal_query_nothing_counts(
    search_at: Search, query: str, literal: bool
) -> None:
    at = search_at(query, DATED, literal=literal)
    assert (time_values(at), at.understanding.effective_periods) == ({}, ())


def test_the_clock_is_the_searchs_own(search_at: Search) -> None:
    at = search_at("last week", DATED, now=datetime(2026, 1, 21, tzinfo=UTC))
    assert time_values(at) == {"2026-01-15": 1.0}


EXACT = ExactMatch(weight=1.0)
FILLED = {f"other-{number}": "a plain word" for number in range(18)}


def test_the_share_of_exact_terms_that_a_memory_holds(search_at: Search) -> None:
    memories = {
        "both": "getUserByID is in 1.4.",
        "one": "getUserByID is in 1.4.2.",
        "none": "Users have ids.",
    }
    found = EXACT.values(search_at("getUserByID 1.4", memories), list(memories))
    assert found == {
        "both": (1.0, "holds 2 of 2 exact terms: getUserByID, 1.4"),
        "one": (0.5, "holds 1 of 2 exact terms: getUserByID"),
        "none": (0.0, "holds 0 of 2 exact terms"),
    }


def test_a_rare_word_is_no_name(search_at: Search) -> None:
    at = search_at("plain zephyr", {"a": "Zephyr is here.", "b": "Zephyrs are not.", **FILLED})
    assert EXACT.values(at, ["a", "b", "other-1"]) == {}


@pytest.mark.parametrize("query", ["", "plain word", "zebra", "?"])
def test_a_query_without_exact_terms_scores_nothing(search_at: Search, query: str) -> None:
    assert EXACT.values(search_at(query, FILLED), list(FILLED)) == {}


def test_title_context_and_tags_count_and_case_does_not(search_at: Search) -> None:
    memories = {
        "title": {"title": "CAFÉ_CENTRAL"},
        "context": {"title": "x", "context": "cafe_central"},
        "tag": {"title": "x", "tags": ["Café_Central"]},
    }
    at = search_at("café_central", memories)
    assert {value.raw for value in EXACT.values(at, list(memories)).values()} == {1.0}


PERSON = Person(weight=1.0, share=0.1)
SPOKEN = {
    "mine": "I parked my bike behind the station.",
    "ours": "The long report that we wrote in spring has ten pages and two maps of it.",
    "country": "The US office may use it.",
    "other": "Kim parked a bike there.",
}


def test_it_counts_words_of_the_first_person_up_to_a_share(search_at: Search) -> None:
    """Two of seven words are more than a tenth; one of sixteen is less."""
    found = PERSON.values(search_at("where did I leave my bike", SPOKEN), list(SPOKEN))
    raw = {id: value.raw for id, value in found.items()}
    assert found["other"].how == "not in the first person"
    assert raw == pytest.approx({"mine": 1.0, "ours": 1 / 1.6, "country": 0.0, "other": 0.0})


@pytest.mark.parametrize("query", ["where is the bike", "US offices", "how to use it", ""])
def test_a_query_about_something_else_says_nothing(search_at: Search, query: str) -> None:
    assert PERSON.values(search_at(query, SPOKEN), list(SPOKEN)) == {}
