"""Fusion by absolute features, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import pytest
from planned_search import ranking

from recollect.context import SearchContext
from recollect.fuse import FeatureSum, FeatureWeights
from recollect.recipes.ranges import Depth
from recollect.types import Ranking, recompute

Search = Callable[..., SearchContext]
WEIGHTS = FeatureWeights(base=-4.0, keyword=5.0, vector=3.0)
FUSE = FeatureSum(weights=WEIGHTS, alone=FeatureWeights(base=-3.0, keyword=6.0))
SHARE = FeatureWeights(base=0.0, keyword=1.0)
# Nine memories, of which two hold "kayak": idf ln((9 − 2 + ½) / (2 + ½)) = ln 3.
NINE = {f"m{n}": "kayak" if n < 2 else f"word{n}" for n in range(9)}
LARGEST = 2.2 * log(3)


def parts(fused: Ranking, id: str) -> dict[str, float]:
    [hit] = [hit for hit in fused if hit.memory_id == id]
    return {part.name: part.raw if part.raw is not None else part.value for part in hit.why.parts}


def test_words_alone_count_as_a_share_of_the_most_possible(search_at: Search) -> None:
    at = search_at("kayak", NINE, channels={"keyword": {"m0": LARGEST / 2, "m1": LARGEST / 4}})
    fused = FUSE.fuse(at)
    assert {hit.memory_id: hit.score for hit in fused} == pytest.approx({"m0": 0.0, "m1": -1.5})
    assert parts(fused, "m0") == pytest.approx({"keyword": 0.5, "base": -3.0})
    assert fused.hits[0].why.parts[1].how == "matching words, 50% of the maximum"
    assert [recompute(hit.why) for hit in fused] == [hit.score for hit in fused]


def test_a_word_that_no_memory_holds_counts_as_the_rarest(search_at: Search) -> None:
    """ln(9½ / ½) for the unknown word: what holds the other word alone has less than half."""
    at = search_at("kayak zanzibar", NINE, channels={"keyword": {"m0": 2.2 * log(3)}})
    share = log(3) / (log(3) + log(19))
    assert parts(FUSE.fuse(at), "m0")["keyword"] == pytest.approx(share)


def test_a_share_is_never_more_than_one(search_at: Search) -> None:
    """Subwords and details come on top of BM25."""
    fuse = FeatureSum(weights=WEIGHTS, alone=SHARE, added=("subwords",))
    found = {"keyword": {"m0": LARGEST}, "subwords": {"m0": 5.0, "m1": LARGEST / 2}}
    fused = fuse.fuse(search_at("kayak", NINE, channels=found))
    assert {hit.memory_id: hit.score for hit in fused} == pytest.approx({"m0": 1.0, "m1": 0.5})


def test_bm25_counts_by_itself_up_to_a_bound(search_at: Search) -> None:
    """20 counts 1, whatever the query could get, and 40 or more 2."""
    fuse = FeatureSum(weights=WEIGHTS, alone=FeatureWeights(base=1.0, bm25=3.0))
    at = search_at("kayak", NINE, channels={"keyword": {"m0": 5.0, "m1": 99.0}})
    fused = fuse.fuse(at)
    assert {hit.memory_id: hit.score for hit in fused} == pytest.approx({"m0": 1.75, "m1": 7.0})
    assert parts(fused, "m0") == pytest.approx({"base": 1.0, "bm25": 0.25})


def test_a_cosine_counts_by_its_lead(search_at: Search) -> None:
    """With fewer than fifteen memories the missing ones count 0.55: the lead is 0.7 − 0.55, of
    0.2."""
    at = search_at(
        "kayak",
        NINE,
        asked=(1.0, 0.0),
        vectors={"m0": (0.7, 0.714142842854285)},
        channels={"vector": {"m0": 0.7}},
    )
    fused = FUSE.fuse(at)
    assert parts(fused, "m0") == pytest.approx({"keyword": 0.0, "vector": 0.75, "base": -4.0})
    assert fused.hits[0].score == pytest.approx(3 * 0.75 - 4)


def test_what_is_usual_for_a_query_is_what_rarely_answers_it(search_at: Search) -> None:
    """The eighth to the fifteenth nearest have 0.6, so 0.6 leads by nothing."""
    many = {f"m{n:02}": f"text {n}" for n in range(16)}
    cosines = dict.fromkeys(many, 0.6) | {"m00": 0.8}
    at = search_at(
        "kayak", many, asked=(1.0, 0.0),
        vectors={id: (cosine, (1 - cosine**2) ** 0.5) for id, cosine in cosines.items()},
        channels={"vector": dict(sorted(cosines.items(), key=lambda pair: -pair[1]))},
    )  # fmt: skip
    fused = FUSE.fuse(at)
    assert parts(fused, "m00")["vector"] == pytest.approx(1.0)
    assert parts(fused, "m05")["vector"] == pytest.approx(0.0, abs=1e-6)


def test_a_score_does_not_depend_on_the_other_candidates(search_at: Search) -> None:
    at = search_at("kayak", NINE, channels={"keyword": {"m0": 1.0}})
    alone = FUSE.fuse(at).hits[0].score
    at.channels["keyword"] = ranking("keyword", {"m0": 1.0, "m1": 0.9, "m2": 0.1})
    assert FUSE.fuse(at).hits[0].score == alone == pytest.approx(6.0 / LARGEST - 3.0)


def test_the_best_stay_and_what_a_kept_channel_found(search_at: Search) -> None:
    fuse = FeatureSum(weights=WEIGHTS, alone=SHARE, kept=("exact",), pool=Depth(at_least=1))
    found = {"keyword": {"m0": 1.0, "m1": 0.5}, "exact": {"m5": 1.0}}
    fused = fuse.fuse(search_at("kayak", NINE, channels=found))
    assert fused.ids == ("m0", "m5")
    assert fused.dropped == {"pool": 1}


def test_nothing_found_is_an_empty_ranking(search_at: Search) -> None:
    assert FUSE.fuse(search_at("kayak", NINE)) == Ranking()


@pytest.mark.parametrize("query", ["the of and", "", "!!", "航空", "a" * 10_000])
def test_no_query_divides_by_nothing(search_at: Search, query: str) -> None:
    found = {"keyword": {"m0": 1.0}}
    [hit] = FUSE.fuse(search_at(query, {"m0": "one memory"}, channels=found))
    assert -3.0 <= hit.score <= 3.0
