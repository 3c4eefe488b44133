"""`proximity`: pairs of words that stand together in the query and in a memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.signals.proximity import Proximity, following

Search = Callable[..., SearchContext]
NEAR = Proximity(weight=1.0, within=3)


@pytest.mark.parametrize(
    ("words", "so"),
    [("a b", True), ("a x x b", True), ("a x x x b", False), ("b a", False), ("a", False),
     ("a x x x x a x b", True), ("b", False), ("b x a a", False)],
)  # fmt: skip
def test_the_second_follows_the_first_by_so_many_words(words: str, so: bool) -> None:
    places = [(at, word) for at, word in enumerate(words.split()) if word != "x"]
    assert (("a", "b") in following(places, 3)) is so


def values(at: SearchContext, *ids: str) -> dict[str, tuple[float, str]]:
    return {id: (value.raw, value.how) for id, value in NEAR.values(at, ids).items()}


def test_the_share_of_pairs_that_stand_together(search_at: Search) -> None:
    """Three pairs: signing keys, keys rotate, rotate yearly; stems, so that forms do not matter."""
    at = search_at(
        "signing keys rotate yearly",
        {
            "all": "The signing key rotates and is made yearly.",
            "one": "Signing keys are kept in a safe; they are not to be lent, and rotate.",
            "backwards": "Yearly, rotate keys for signing.",
        },
    )
    assert values(at, "all", "one", "backwards") == {
        "all": (2 / 3, "2 of 3 word pairs stand together: signing keys, keys rotate"),
        "one": (1 / 3, "1 of 3 word pairs stand together: signing keys"),
        "backwards": (0.0, "0 of 3 word pairs stand together"),
    }


def test_stop_words_between_do_not_part_a_pair_of_the_query(search_at: Search) -> None:
    at = search_at("the colour of the door", {"a": "The colour of that door is blue."})
    assert values(at, "a")["a"][0] == 1.0


def test_a_word_that_no_candidate_holds_is_left_out(search_at: Search) -> None:
    at = search_at("blue door zebra", {"a": "The blue door.", "b": "Doors that are blue."})
    assert values(at, "a", "b") == {
        "a": (1.0, "1 of 1 word pairs stand together: blue door"),
        "b": (0.0, "0 of 1 word pairs stand together"),
    }


@pytest.mark.parametrize("query", ["", "door", "the of", "door door", "zebra stripes", "?"])
def test_where_there_is_no_pair_there_is_nothing_to_say(search_at: Search, query: str) -> None:
    assert values(search_at(query, {"a": "A door, another door."}), "a") == {}


def test_a_memory_without_text_has_its_title_and_tags(search_at: Search) -> None:
    at = search_at("blue door", {"a": {"title": "Blue doors"}, "b": {"title": "x", "tags": ["y"]}})
    assert {id: raw for id, (raw, _) in values(at, "a", "b").items()} == {"a": 1.0, "b": 0.0}
