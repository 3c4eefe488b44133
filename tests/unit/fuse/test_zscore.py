"""Fusion by how far a candidate stands out, worked out by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import sqrt

import pytest

from recollect.context import SearchContext
from recollect.fuse.zscore import Spread, ZScoreFusion, spread
from recollect.recipes.ranges import Depth
from recollect.types import Ranking, recompute

Search = Callable[..., SearchContext]
BOTH = ZScoreFusion(weights={"keyword": 1.0, "vector": 2.0})
THREE = {"a": "one", "b": "two", "c": "three"}


def scores(ranking: Ranking) -> dict[str, float]:
    return {hit.memory_id: hit.score for hit in ranking}


def test_a_spread_is_the_least_and_the_deviation_of_the_whole_list() -> None:
    """2, 4, 4, 4, 5, 5, 7, 9: mean 5, variance 32/8 = 4."""
    held = spread([2, 4, 4, 4, 5, 5, 7, 9])
    assert held == Spread(least=2, deviation=2, mean=5)
    assert [held.share(score) for score in (2, 5, 9)] == [0, 1.5, 3.5]


@pytest.mark.parametrize("score", [0.1, 3.0])
def test_where_all_are_equal_each_counts_one(score: float) -> None:
    """Three times 0.1 has a mean that is not quite 0.1; that is no deviation."""
    held = spread([score] * 3)
    assert held == Spread(score, 0.0, score)
    assert held.share(score) == 1.0


def test_where_none_was_found_none_counts() -> None:
    assert spread([0.0, 0.0]).share(0.0) == 0.0


def test_what_hardly_differs_is_not_made_much_of(search_at: Search) -> None:
    """A word in most memories scores a millionth; the deviation counts as 0.2 all the same."""
    assert spread([1e-6, 3e-6], 0.2) == Spread(1e-6, 0.2, 2e-6)
    assert spread([1.0, 3.0], 0.2) == Spread(1.0, 1.0, 2.0)
    assert spread([2.0, 2.0], 0.2) == Spread(2.0, 0.0, 2.0), "Equal is equal."
    at = search_at("anything", THREE, channels={"keyword": {"a": 3e-6, "b": 1e-6}})
    fuse = ZScoreFusion(weights={"keyword": 1.0}, least_deviation={"keyword": 0.2})
    assert scores(fuse.fuse(at)) == pytest.approx({"a": 1e-5, "b": 0.0})


def test_two_channels_by_hand(search_at: Search) -> None:
    """Keyword scores 4, 2 and, for c, which it did not find, 0: least 0, deviation √(8/3).
    Cosines 1, 0.8 and 0: least 0, mean 0.6, deviation √(0.56/3)."""
    at = search_at(
        "anything",
        THREE,
        asked=(1.0, 0.0),
        vectors={"a": (0.8, 0.6), "b": (0.0, 1.0), "c": (1.0, 0.0)},
        channels={"keyword": {"a": 4.0, "b": 2.0}, "vector": {"c": 1.0, "a": 0.8, "b": 0.0}},
    )
    fused = BOTH.fuse(at)
    words, near = sqrt(8 / 3), sqrt(0.56 / 3)
    assert scores(fused) == pytest.approx(
        {"a": 4 / words + 2 * 0.8 / near, "c": 2 / near, "b": 2 / words}
    )
    assert fused.ids == ("a", "c", "b")
    assert fused.dropped == {}
    [first, second] = fused.hits[0].why.parts
    assert (first.name, first.weight) == ("keyword", 1.0)
    assert first.raw == pytest.approx(4 / words)
    assert (second.name, second.weight) == ("vector", 2.0)
    assert first.how == "matching words, above average (BM25 4)"
    assert [recompute(hit.why) for hit in fused] == [hit.score for hit in fused]


def test_a_cosine_is_looked_up_for_what_only_keywords_found(search_at: Search) -> None:
    """The vector channel was cut before b; its cosine of 0.6 counts all the same. Of c, which has
    no vector, nothing is known: it counts as the mean of both."""
    at = search_at(
        "anything",
        THREE,
        asked=(1.0, 0.0),
        vectors={"a": (1.0, 0.0), "b": (0.6, 0.8)},
        channels={"keyword": {"b": 1.0, "c": 1.0}, "vector": {"a": 1.0}},
    )
    parts = {hit.memory_id: hit.why.parts[1].how for hit in BOTH.fuse(at)}
    cosines = {id: re.findall(r"\d\.\d\d", how)[0] for id, how in parts.items()}
    assert cosines == {"a": "1.00", "b": "0.60", "c": "0.80"}
    assert parts["c"] == "no vector here: counts as the average, 0.80"


def test_a_channel_that_took_no_part_has_no_share(search_at: Search) -> None:
    at = search_at("anything", THREE, channels={"keyword": {"a": 3.0, "b": 1.0}})
    fused = BOTH.fuse(at)
    assert scores(fused) == {"a": 2.0, "b": 0.0}  # deviation 1
    assert [[part.name for part in hit.why.parts] for hit in fused] == [["keyword"]] * 2


def test_one_candidate_counts_one_deviation(search_at: Search) -> None:
    at = search_at("anything", THREE, channels={"keyword": {"b": 0.003}})
    assert scores(BOTH.fuse(at)) == {"b": 1.0}


def test_nothing_found_is_an_empty_ranking(search_at: Search) -> None:
    assert BOTH.fuse(search_at("", THREE, channels={})) == Ranking()
    assert BOTH.fuse(search_at("", channels={"keyword": {}, "vector": {}})) == Ranking()


def test_equal_candidates_come_by_id(search_at: Search) -> None:
    at = search_at("anything", THREE, channels={"keyword": {"c": 1.0, "a": 1.0, "b": 1.0}})
    assert BOTH.fuse(at).ids == ("a", "b", "c")


def test_an_added_channel_adds_to_the_scores_of_another(search_at: Search) -> None:
    """a has 1 + 3 = 4, b 2, c only the added 1: mean 7/3, deviation √(14/9), least 1."""
    at = search_at(
        "anything",
        THREE,
        channels={"keyword": {"b": 2.0, "a": 1.0}, "subwords": {"a": 3.0, "c": 1.0}},
    )
    fuse = ZScoreFusion(weights={"keyword": 1.0}, added={"subwords": "keyword"})
    deviation = sqrt(14 / 9)
    assert scores(fuse.fuse(at)) == pytest.approx({"a": 3 / deviation, "b": 1 / deviation, "c": 0})


def test_the_pool_holds_the_best_and_what_is_kept(search_at: Search) -> None:
    many = {f"m{number:02}": float(number) for number in range(20)}
    at = search_at(
        "anything",
        dict.fromkeys(many, "text"),
        channels={"keyword": many, "exact": {"m03": 1.0, "m19": 1.0}},
        limit=2,
    )
    fuse = ZScoreFusion(weights={"keyword": 1.0}, kept=("exact",), pool=Depth(2, 3))
    fused = fuse.fuse(at)
    assert fused.ids == ("m19", "m18", "m17", "m16", "m03")
    assert fused.dropped == {"pool": 15}
    wide = ZScoreFusion(weights={"keyword": 1.0}, kept=("exact",), pool=Depth(2, 30)).fuse(at)
    assert (len(wide), wide.dropped) == (20, {})


def test_a_passage_is_named_where_the_vector_channel_named_it(search_at: Search) -> None:
    from msgspec.structs import replace

    at = search_at(
        "anything",
        THREE,
        asked=(1.0, 0.0),
        vectors={"a": (1.0, 0.0), "b": (0.0, 1.0)},
        channels={"vector": {"a": 1.0, "b": 0.0}},
    )
    first, second = at.channels["vector"].hits
    passage = replace(first, why=replace(first.why, how="(passage 2: characters 9–20)"))
    at.channels["vector"] = Ranking((passage, second))
    hows = [hit.why.parts[0].how for hit in BOTH.fuse(at)]
    assert hows == [
        "similar meaning 1.00, above average (passage 2: characters 9–20)",
        "similar meaning 0.00, below average",
    ]
