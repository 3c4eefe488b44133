"""Questions about what was before."""

from __future__ import annotations

import pytest

from recollect.query.intent import asks_before, asks_for_successor, without_past


@pytest.mark.parametrize(
    "query",
    [
        "where was the office before", "which editor did I use to use",
        "which database did ledger use previously",
        "our former bank", "wo war das Büro früher", "l'ancien loyer", "qué usábamos antes",
        "где был офис раньше", "以前的办公室", "以前の会議", "예전 회의",
    ],
)  # fmt: skip
def test_a_question_about_the_past_is_recognised(query: str) -> None:
    assert asks_before(query)


@pytest.mark.parametrize(
    "query",
    [
        "where is our office", "how old is the cache", "what did we decide", "editor", "",
        "who was our contact", "how much was the rent", "what database did ledger use",
        "run the tests before pushing",
        "what replaced the previous queue", "are we still on the former host",
    ],
)  # fmt: skip
def test_the_past_tense_and_a_question_for_a_successor_are_not_about_the_past(query: str) -> None:
    assert not asks_before(query)


@pytest.mark.parametrize(
    ("query", "searched"),
    [
        ("where was the office before?", "where was the office ?"),
        ("which terminal did I use to use", "which terminal did I use"),
        ("what did we use before NATS", "what did we use before NATS"),
        ("before", "before"),
    ],
)
def test_words_that_only_ask_about_the_past_are_not_searched_for(query: str, searched: str) -> None:
    assert without_past(query).split() == searched.split()


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("what replaced Redis", True),
        ("are we still on Python 3.11", True),
        ("which bank do we use nowadays", True),
        ("was nehmen wir jetzt", True),
        ("which cache do we use", False),
        ("", False),
    ],
)
def test_a_question_about_the_present_is_recognised(query: str, wanted: bool) -> None:
    assert asks_for_successor(query) is wanted
