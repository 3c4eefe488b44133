"""Signals of words: exact terms, the first person, the title."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.settings import Embedding, Rerank, Settings
from recollect.signals.words import ExactMatch, Person, holds_all
from recollect.types import Hit, Ranking, leaf

Search = Callable[..., SearchContext]
SIGNAL = ExactMatch(weight=1.0)
FILLED = {f"other-{number}": "a plain word" for number in range(18)}


def test_the_share_of_exact_terms_that_a_memory_holds(search_at: Search) -> None:
    memories = {
        "both": "getUserByID is in 1.4.",
        "one": "getUserByID is in 1.4.2.",
        "none": "Users have ids.",
    }
    found = SIGNAL.values(search_at("getUserByID 1.4", memories), list(memories))
    assert found == {
        "both": (1.0, "holds 2 of 2 exact terms: getUserByID, 1.4"),
        "one": (0.5, "holds 1 of 2 exact terms: getUserByID"),
        "none": (0.0, "holds 0 of 2 exact terms"),
    }


def test_a_rare_word_is_no_name(search_at: Search) -> None:
    at = search_at("plain zephyr", {"a": "Zephyr is here.", "b": "Zephyrs are not.", **FILLED})
    assert SIGNAL.values(at, ["a", "b", "other-1"]) == {}


@pytest.mark.parametrize("query", ["", "plain word", "zebra", "?"])
def test_a_query_without_exact_terms_scores_nothing(search_at: Search, query: str) -> None:
    assert SIGNAL.values(search_at(query, FILLED), list(FILLED)) == {}


def test_title_context_and_tags_count_and_case_does_not(search_at: Search) -> None:
    memories = {
        "title": {"title": "CAFÉ_CENTRAL"},
        "context": {"title": "x", "context": "cafe_central"},
        "tag": {"title": "x", "tags": ["Café_Central"]},
    }
    at = search_at("café_central", memories)
    assert {value.raw for value in SIGNAL.values(at, list(memories)).values()} == {1.0}


@pytest.mark.parametrize("query", ["file_sync_service", "file-sync-service", "fileSyncService"])
def test_an_identifier_in_another_spelling_is_the_same_name(search_at: Search, query: str) -> None:
    memories = {"name": "FileSyncService retries.", "longer": "FileSyncServiceTest is flaky."}
    at = search_at(query, memories)
    at.channels["subwords"] = Ranking(
        tuple(Hit(id, leaf("subwords", 1.0, "bm25")) for id in memories)
    )
    found = SIGNAL.values(at, list(memories))
    assert {id: value.raw for id, value in found.items()} == {"name": 1.0, "longer": 0.0}


PERSON = Person(weight=1.0, share=0.1)
MEMORIES = {
    "mine": "I parked my bike behind the station.",
    "ours": "The long report that we wrote in spring has ten pages and two maps of it.",
    "country": "The US office may use it.",
    "other": "Kim parked a bike there.",
}


def test_it_counts_words_of_the_first_person_up_to_a_share(search_at: Search) -> None:
    """Two of seven words are more than a tenth; one of sixteen is less."""
    found = PERSON.values(search_at("where did I leave my bike", MEMORIES), list(MEMORIES))
    raw = {id: value.raw for id, value in found.items()}
    assert raw == pytest.approx({"mine": 1.0, "ours": 1 / 1.6, "country": 0.0, "other": 0.0})


@pytest.mark.parametrize("query", ["where is the bike", "US offices", "how to use it", ""])
def test_a_query_about_something_else_says_nothing(search_at: Search, query: str) -> None:
    assert PERSON.values(search_at(query, MEMORIES), list(MEMORIES)) == {}


OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@pytest.mark.parametrize(
    ("title", "query", "held"),
    [
        ("docs/v1.4-ROADMAP.md", "roadmap 1.4", True),
        ("docs/v1.5-ROADMAP.md", "roadmap 1.4", False),
        ("Clock drift", "", False),
    ],
)
def test_every_word_may_be_within_a_word_of_the_title(title: str, query: str, held: bool) -> None:
    assert holds_all(title, query) is held
