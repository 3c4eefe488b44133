"""Fusion: the order of its inputs does not matter, and a better place never hurts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.context import SearchContext
from recollect.fuse import Rrf, Union, WeightedMax, over_largest
from recollect.types import Hit, Ranking, Search, leaf, ranked, recompute

NOW = datetime(2026, 3, 1, tzinfo=UTC)
IDS = [f"m{n}" for n in range(12)]
NAMES = ("keyword", "vector", "topic")

scores = st.floats(-1.0, 30.0).map(lambda score: round(score, 4))
lists = st.dictionaries(st.sampled_from(IDS), scores, max_size=len(IDS))
channels = st.dictionaries(st.sampled_from(NAMES), lists, min_size=1)
fast = settings(max_examples=examples(150))


def at(found: Mapping[str, Mapping[str, float]]) -> SearchContext:
    """A search in which the channels found these."""
    nothing: Any = None
    made = SearchContext(
        recipe="r", search=Search(query="q"), limit=10, now=NOW, store=nothing, models=nothing
    )
    for name, scored in found.items():
        made.channels[name] = ranked(Hit(id, leaf(name, score, "")) for id, score in scored.items())
    return made


def fused(fusion: Rrf | WeightedMax | Union, found: Mapping[str, Mapping[str, float]]) -> Ranking:
    return fusion.fuse(at(found))


def by_id(ranking: Ranking) -> dict[str, float]:
    return {hit.memory_id: hit.score for hit in ranking}


def rrf(names: Sequence[str] = NAMES) -> Rrf:
    return Rrf(channels=tuple(names), k=60)


def weighted_max() -> WeightedMax:
    return WeightedMax(weights={"keyword": 0.3, "vector": 0.7, "topic": 0.1})


@pytest.mark.parametrize("fusion", [rrf(), weighted_max(), Union(channels=NAMES)])
@given(found=channels)
@fast
def test_fused_rankings_hold_each_memory_once_best_first_ties_by_id(
    fusion: Rrf | WeightedMax | Union, found: dict[str, dict[str, float]]
) -> None:
    ranking = fused(fusion, found)
    assert set(ranking.ids) == {id for scored in found.values() for id in scored}
    assert len(set(ranking.ids)) == len(ranking.ids)
    order = [(-hit.score, hit.memory_id) for hit in ranking]
    assert order == sorted(order)
    assert all(recompute(hit.why) == hit.score for hit in ranking)


@given(found=channels, order=st.permutations(NAMES))
@fast
def test_rrf_does_not_mind_the_order_of_channels(
    found: dict[str, dict[str, float]], order: list[str]
) -> None:
    expected = by_id(fused(rrf(), found))
    other = by_id(fused(rrf(order), dict(reversed(found.items()))))
    assert other == pytest.approx(expected, rel=1e-15)


@given(found=channels, order=st.permutations(IDS))
@fast
def test_weighted_fusion_does_not_mind_the_order_of_hits(
    found: dict[str, dict[str, float]], order: list[str]
) -> None:
    shuffled = {
        name: {id: scored[id] for id in order if id in scored} for name, scored in found.items()
    }
    assert fused(weighted_max(), shuffled) == fused(weighted_max(), found)
    assert fused(rrf(), shuffled) == fused(rrf(), found)


@given(found=channels)
@fast
def test_rrf_is_the_documented_sum(found: dict[str, dict[str, float]]) -> None:
    expected: dict[str, float] = {}
    for scored in found.values():
        place = sorted(scored, key=lambda id: (-scored[id], id))
        for rank, id in enumerate(place):  # from 0: 1/(rank + 60 + 1), the same number
            expected[id] = expected.get(id, 0.0) + 1 / (rank + 60 + 1)
    assert by_id(fused(rrf(), found)) == pytest.approx(expected)


@given(found=channels)
@fast
def test_weighted_fusion_is_the_documented_sum(found: dict[str, dict[str, float]]) -> None:
    weights = {"keyword": 0.3, "vector": 0.7, "topic": 0.1} if len(found) > 1 else {}
    expected: dict[str, float] = {}
    for name, scored in found.items():
        largest = max(scored.values(), default=0.0)
        for id, score in scored.items():
            share = score / largest if largest > 0 else score
            expected[id] = expected.get(id, 0.0) + weights.get(name, 1.0) * share
    assert by_id(fused(weighted_max(), found)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(found=channels, name=st.sampled_from(NAMES), id=st.sampled_from(IDS), data=st.data())
@fast
def test_a_better_place_never_lowers_an_rrf_score(
    found: dict[str, dict[str, float]], name: str, id: str, data: st.DataObject
) -> None:
    """Better: found by one more channel, or higher in a channel that found it already."""
    before = by_id(fused(rrf(), found)).get(id, 0.0)
    held = dict(found.get(name, {}))
    held[id] = data.draw(st.floats(held.get(id, -1.0), 31.0))
    assert by_id(fused(rrf(), {**found, name: held}))[id] >= before


@given(found=channels, id=st.sampled_from(IDS), data=st.data())
@fast
def test_a_better_score_never_lowers_a_weighted_score(
    found: dict[str, dict[str, float]], id: str, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(found)))
    if id not in found[name]:
        return
    before = by_id(fused(weighted_max(), found))[id]
    raised = {**found[name], id: data.draw(st.floats(found[name][id], 31.0))}
    after = by_id(fused(weighted_max(), {**found, name: raised}))[id]
    assert after >= before - 1e-12


@given(scored=lists)
@fast
def test_over_the_largest_keeps_the_order_and_ends_at_one(scored: dict[str, float]) -> None:
    shares = over_largest(scored)
    assert sorted(shares, key=lambda id: (-shares[id], -scored[id], id)) == sorted(
        scored, key=lambda id: (-scored[id], id)
    )
    if scored and max(scored.values()) > 0:
        assert max(shares.values()) == 1.0


@given(scored=lists)
@fast
def test_one_channel_alone_keeps_its_order(scored: dict[str, float]) -> None:
    alone = at({"keyword": scored})
    own = alone.channels["keyword"]
    assert Rrf(channels=NAMES, alone="scores").fuse(alone) == own
    assert rrf().fuse(alone).ids == own.ids
    shares = [hit.score for hit in weighted_max().fuse(alone)]
    assert shares == sorted(shares, reverse=True)


@given(scored=lists, size=st.integers(0, 15))
@fast
def test_ties_at_the_cut_go_by_id(scored: dict[str, float], size: int) -> None:
    """Whatever order hits arrive in, the same ones survive a cut."""
    equal = {id: float(int(score) % 2) for id, score in scored.items()}
    whole = ranked(Hit(id, leaf("x", score, "")) for id, score in equal.items())
    kept = whole.best(size, "limit")
    assert kept.ids == tuple(sorted(equal, key=lambda id: (-equal[id], id)))[:size]
    gone = len(equal) - len(kept)
    assert kept.dropped == ({"limit": gone} if gone else {})
