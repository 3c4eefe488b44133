"""`person`: questions in the first person are answered in the first person."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.signals.words import Person

Search = Callable[..., SearchContext]
SIGNAL = Person(weight=1.0, share=0.1)
MEMORIES = {
    "mine": "I parked my bike behind the station.",
    "ours": "The long report that we wrote in spring has ten pages and two maps of it.",
    "country": "The US office may use it.",
    "other": "Kim parked a bike there.",
}


def test_it_counts_words_of_the_first_person_up_to_a_share(search_at: Search) -> None:
    """Two of seven words are more than a tenth; one of sixteen is less."""
    found = SIGNAL.values(search_at("where did I leave my bike", MEMORIES), list(MEMORIES))
    raw = {id: value.raw for id, value in found.items()}
    assert raw == pytest.approx({"mine": 1.0, "ours": 1 / 1.6, "country": 0.0, "other": 0.0})


@pytest.mark.parametrize("query", ["where is the bike", "US offices", "how to use it", ""])
def test_a_query_about_something_else_says_nothing(search_at: Search, query: str) -> None:
    assert SIGNAL.values(search_at(query, MEMORIES), list(MEMORIES)) == {}
