"""`rarest`: how rare the rarest word is that query and memory share."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import pytest

from recollect.context import SearchContext
from recollect.query.understanding import inverse_frequency as rarity
from recollect.signals.max_idf import MaxIdf

Search = Callable[..., SearchContext]
SIGNAL = MaxIdf(weight=1.0)


def test_rarity_by_hand() -> None:
    assert rarity(10, 1) == pytest.approx(log(1 + 9.5 / 1.5))
    assert rarity(10, 10) == pytest.approx(log(1 + 0.5 / 10.5))
    assert rarity(1, 1) > 0


def test_the_rarest_shared_word_decides(search_at: Search) -> None:
    """`zephyr` stands in one of four memories, `door` in two, `blue` in three."""
    memories = {
        "both": "The blue door of Zephyr.",
        "door": "A blue door.",
        "blue": "Something blue.",
        "none": "Something else.",
    }
    found = SIGNAL.values(search_at("blue door zephyr", memories), list(memories))
    one, two, three = (log(1 + (4.5 - n) / (n + 0.5)) for n in (1, 2, 3))
    assert {id: value.raw for id, value in found.items()} == pytest.approx(
        {"both": 1.0, "door": two / one, "blue": three / one}
    )
    assert found["door"].how == "rarest shared word: door"
    assert found["both"].how == "rarest shared word: zephyr"


def test_other_forms_of_a_word_are_the_word(search_at: Search) -> None:
    """`deploys` stands in the one memory, `deployed` in the other; the stem is the same."""
    at = search_at("deploys", {"a": "It deploys.", "b": "It deployed."})
    assert {id: value.raw for id, value in SIGNAL.values(at, ["a", "b"]).items()} == {
        "a": 1.0,
        "b": 1.0,
    }


@pytest.mark.parametrize("query", ["", "the of", "zebra", "?!"])
def test_a_query_without_known_words_says_nothing(search_at: Search, query: str) -> None:
    assert SIGNAL.values(search_at(query, {"a": "A door."}), ["a"]) == {}


def test_of_equally_rare_words_the_first_of_the_alphabet_is_named(search_at: Search) -> None:
    at = search_at("window door", {"a": "A window and a door."})
    assert SIGNAL.values(at, ["a"])["a"] == (1.0, "rarest shared word: door")
