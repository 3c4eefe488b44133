"""The exact channel: each literal thing by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.recall.keyword import Exact, Keyword
from recollect.recipes.blend import BLEND, DEPTH
from recollect.types import Filter, Ranking

Search = Callable[..., SearchContext]
CHANNEL = Exact(each=2)


def found(at: SearchContext, channel: Exact = CHANNEL) -> dict[str, tuple[float, str]]:
    return {hit.memory_id: (hit.score, hit.why.formula) for hit in channel.recall(at)}


def test_a_memory_counts_by_how_many_things_it_has(search_at: Search) -> None:
    at = search_at(
        "getUserByID in 1.4",
        {"both": "getUserByID came with 1.4.", "one": "1.4 is old.", "none": "get a user by hand"},
    )
    assert found(at) == {"both": (2.0, "holds getUserByID, 1.4"), "one": (1.0, "holds 1.4")}
    assert CHANNEL.recall(at).ids == ("both", "one")
    assert CHANNEL.applies(at)


def test_the_other_words_of_the_query_cannot_crowd_it_out(search_at: Search) -> None:
    crowd = {f"crowd-{n:03}": "The login page of the login server is slow." for n in range(60)}
    at = search_at("why is the login page slow with E1234", {**crowd, "rare": "E1234: no paper."})
    assert found(at) == {"rare": (1.0, "holds E1234")}


def test_the_words_of_a_thing_stand_one_behind_the_other(search_at: Search) -> None:
    at = search_at(
        '"the quick fix"', {"in-order": "Ship the quick fix.", "not": "The fix is the quick one."}
    )
    assert list(found(at)) == ["in-order"]


def test_a_piece_of_a_script_without_spaces_is_found_anywhere(search_at: Search) -> None:
    at = search_at("迁移失败", {"zh": "数据库迁移失败后需要回滚", "other": "数据库需要迁移"})
    assert list(found(at)) == ["zh"]


def test_each_thing_brings_so_many_memories_at_most(search_at: Search) -> None:
    """Of four that are equal, those with the smallest ids; a thing of its own brings its own."""
    at = search_at("v1 v2", {**{f"one-{n}": "v1" for n in range(4)}, "two": "v2"})
    assert sorted(found(at)) == ["one-0", "one-1", "two"]


@pytest.mark.parametrize("query", ["", "?", "plain words", "the of"])
def test_without_exact_things_it_finds_nothing(search_at: Search, query: str) -> None:
    at = search_at(query, {f"m{n}": "plain words" for n in range(5)})
    assert found(at) == {}


@pytest.mark.parametrize("query", ["--", "$$$", '"---"', '"?"'])
def test_a_thing_without_a_letter_or_digit_is_not_looked_for(search_at: Search, query: str) -> None:
    assert found(search_at(query, {"a": "plain --"})) == {}


def test_a_filter_holds_for_exact_things_too(search_at: Search) -> None:
    memories = {
        "in": {"text": "E1234", "project": "harbor"},
        "out": {"text": "E1234", "project": "tower"},
    }
    at = search_at("E1234", memories, filter=Filter(project="harbor"))
    assert list(found(at)) == ["in"]


def test_a_word_that_few_memories_have_is_exact(search_at: Search) -> None:
    at = search_at("Zephyr word", {"rare": "Zephyr", **{f"m{n}": "a word" for n in range(9)}})
    assert found(at) == {"rare": (1.0, "holds zephyr")}


def test_a_name_with_signs_is_found_among_many_that_hold_its_letters(search_at: Search) -> None:
    """Short texts have the letter more often, and stand before it in every index."""
    crowd = {f"crowd-{n:03}": "c c" for n in range(150)}
    at = search_at("C++", {**crowd, "name": "We chose C++ for the parser.", "other": "C#"})
    assert (BLEND.recall[0].recall(at) or Ranking()).ids == ("name",)
    assert found(at) == {"name": (1.0, "holds C++")}


def test_names_with_signs_change_nothing_in_a_channel_that_does_not_read_them(
    search_at: Search,
) -> None:
    at = search_at("C++ parser", {"name": "C++", "word": "The parser."})
    assert Keyword("stemmed", {"text": 1.0}, "keywords", DEPTH).recall(at).ids == ("word",)
    assert at.understanding.written_matches() == {}
