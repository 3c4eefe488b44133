"""`feedback`: what people said of a memory when they asked something like this."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.signals.feedback import Feedback

Search = Callable[..., SearchContext]
MEMORIES = {"a": "one", "b": "two", "c": "three"}


def said(at: SearchContext, *given: tuple[str, str, bool]) -> dict[str, tuple[float, str]]:
    for query, id, accepted in given:
        at.store.feedback.add(query, id, accepted, at.now)
    return dict(Feedback(weight=1.0).values(at, list(MEMORIES)))


def test_each_word_of_praise_counts_by_how_alike_the_questions_are(search_at: Search) -> None:
    """`login page` and `login server` share one keyword of three."""
    at = search_at("the login page", MEMORIES)
    assert said(at, ("login server", "a", True), ("page login", "b", False)) == {
        "a": (pytest.approx(1 / 3), "accepted"),
        "b": (-1.0, "dismissed"),
    }


def test_many_words_of_praise_are_bounded_and_opposites_cancel(search_at: Search) -> None:
    at = search_at("login page", MEMORIES)
    praise = [("login page", "a", True)] * 5
    assert said(at, *praise, ("login page", "b", True), ("login page", "b", False)) == {
        "a": (1.0, "accepted")
    }


@pytest.mark.parametrize("query", ["", "the of", "kettle"])
def test_what_was_said_of_another_question_does_not_count(search_at: Search, query: str) -> None:
    assert said(search_at(query, MEMORIES), ("login page", "a", False)) == {}
