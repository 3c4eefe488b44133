"""`voice`: a question about oneself, and who speaks of oneself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.signals.first_person import SPEAKS, FirstPerson

Search = Callable[..., SearchContext]
SIGNAL = FirstPerson(weight=1.0)
MEMORIES = {
    "mine": "I left my bike at the station.",
    "ours": "We left it to us.",
    "friend": "A friend left the bike at the station.",
    "long": "I " + "walked past a house and " * 20,
}


@pytest.mark.parametrize("query", ["where did I leave my bike", "OUR bike", "it is mine", "we?"])
def test_who_asks_about_oneself_is_answered_in_the_first_person(
    search_at: Search, query: str
) -> None:
    """One `I` in a hundred words is not speaking of oneself."""
    found = SIGNAL.values(search_at(query, MEMORIES), list(MEMORIES))
    assert found == {"mine": SPEAKS, "ours": SPEAKS}
    assert SPEAKS == (1.0, "speaks in the first person, as the query does")


@pytest.mark.parametrize("query", ["", "where is the bike", "usage", "imine"])
def test_who_asks_about_something_else_is_not(search_at: Search, query: str) -> None:
    assert SIGNAL.values(search_at(query, MEMORIES), list(MEMORIES)) == {}


def test_the_share_decides(search_at: Search) -> None:
    at = search_at("my bike", MEMORIES)
    assert set(FirstPerson(weight=1.0, share=0.0).values(at, list(MEMORIES))) == {
        "mine",
        "ours",
        "long",
    }
    assert set(FirstPerson(weight=1.0, share=0.4).values(at, list(MEMORIES))) == {"ours"}


def test_a_memory_without_words_does_not_speak(search_at: Search) -> None:
    assert SIGNAL.values(search_at("my bike", {"a": {"title": "…"}}), ["a"]) == {}
