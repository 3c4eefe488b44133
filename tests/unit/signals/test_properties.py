"""Signals of a memory's properties: importance, and the time that a query names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from recollect.context import SearchContext
from recollect.query.time.periods import describe
from recollect.signals.properties import Importance, TimeMatch

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
        "pinned": (1.0, "pinned"),
        "critical": (1.0, "critical"),
        "warning": (0.5, "warning"),
        "both": (1.0, "pinned"),
    }


def test_the_larger_mark_counts(search_at: Search) -> None:
    signal = Importance(weight=1.0, core=0.2)
    assert signal.values(search_at("", MEMORIES), ["both"])["both"] == (0.5, "warning")


SIGNAL = TimeMatch(weight=1.0)
DATED = {
    day: {"text": "a note", "created_at": f"{day}T10:00:00Z", "updated_at": "2026-03-01T11:00:00Z"}
    for day in ("2025-03-10", "2026-01-15", "2026-02-17", "2026-02-28")
}


def found(at: SearchContext) -> dict[str, float]:
    return {id: value.raw for id, value in SIGNAL.values(at, list(DATED)).items()}


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
    assert found(search_at(query, DATED)) == dict.fromkeys(days, 1.0)


def test_a_hint_counts_half_and_yields_to_a_bound(search_at: Search) -> None:
    at = search_at("lately", DATED)
    assert found(at) == {"2026-02-17": 0.5, "2026-02-28": 0.5}
    assert len(at.understanding.effective_periods) == 1


def test_a_bound_counts_rather_than_a_hint(search_at: Search) -> None:
    at = search_at("what changed lately in January 2026", DATED)
    assert found(at) == {"2026-01-15": 1.0}
    assert [period.said for period in at.understanding.effective_periods] == ["in January 2026"]


def test_the_explanation_and_the_response_say_how_it_was_read(search_at: Search) -> None:
    at = search_at("last week", DATED)
    [value] = SIGNAL.values(at, list(DATED)).values()
    assert value.how == "made in the time asked for: last week = 2026-02-16 … 2026-02-22"
    assert [describe(one) for one in at.understanding.effective_periods] == [
        "last week = 2026-02-16 … 2026-02-22"
    ]


@pytest.mark.parametrize("query", ["", "notes", "a march on may"])
def test_without_a_time_there_is_nothing_to_say(search_at: Search, query: str) -> None:
    at = search_at(query, DATED)
    assert found(at) == {}
    assert at.understanding.effective_periods == ()


def test_a_literal_query_names_no_time(search_at: Search) -> None:
    at = search_at("last week", DATED, literal=True)
    assert (found(at), at.understanding.effective_periods) == ({}, ())


def test_the_clock_is_the_searchs_own(search_at: Search) -> None:
    at = search_at("last week", DATED, now=datetime(2026, 1, 21, tzinfo=UTC))
    assert found(at) == {"2026-01-15": 1.0}
