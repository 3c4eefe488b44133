"""Filters hold before any limit: what a channel finds within a filter is what it finds of all
memories, those that do not pass left out, cut at its depth afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from corpora import NOW, RECIPES, Pair, filters, passes, vaults, words
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from examples import examples
from recollect import Filter, Recollect
from recollect.context import SearchContext
from recollect.recall.keyword import Details, Exact
from recollect.recall.lists import Accepted, Listed, Recent
from recollect.recipes.base import AnyChannel
from recollect.recipes.ranges import Depth
from recollect.recipes.registry import BUILT_IN
from recollect.times import validity
from recollect.types import Memory, Ranking, Search

fast = settings(max_examples=examples(60))
ALL = 100_000
CHANNELS = [
    (name, channel.name)
    for name in RECIPES
    for channel in BUILT_IN[name].recall
    # Exact cuts for each exact thing by itself; a list has no topic; accepted is what was said so.
    # Details are cut by BM25 and then scored otherwise.
    if not isinstance(channel, Accepted | Exact | Listed | Details)
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with vaults(tmp_path_factory.mktemp("vault"), seed=4, size=100) as opened:
        yield opened


@pytest.fixture(scope="module")
def every(pair: Pair) -> dict[str, Memory]:
    return {memory.id: memory for memory in pair.every()}


def found(
    memory: Recollect, channel: AnyChannel, text: str, limit: int, filter: Filter | None = None
) -> Ranking:
    """What one channel finds, before anything else happens to it."""
    search = Search(query=text, limit=limit, filter=filter or Filter())
    at = SearchContext(
        recipe="r", search=search, limit=limit, now=NOW, store=memory.store, models=memory.models
    )
    return channel.recall(at) or Ranking()


def deep(channel: AnyChannel) -> AnyChannel:
    """The channel with room for everything."""
    return replace(channel, depth=Depth(at_least=ALL))


@pytest.mark.parametrize(("recipe", "name"), CHANNELS)
@given(text=words, limit=st.integers(1, 40), filter=filters)
@fast
def test_a_channel_filters_before_it_cuts(
    pair: Pair,
    every: dict[str, Memory],
    recipe: str,
    name: str,
    text: str,
    limit: int,
    filter: Filter,
) -> None:
    [channel] = [one for one in BUILT_IN[recipe].recall if one.name == name]
    assert not isinstance(channel, Accepted | Exact | Listed | Details)
    asked = "" if isinstance(channel, Recent) else text
    whole = found(pair.dense, deep(channel), asked, limit)
    expected = [hit for hit in whole if passes(every[hit.memory_id], filter)]
    narrowed = found(pair.dense, channel, asked, limit, filter)
    cut = expected[: channel.depth.at(limit)]
    assert list(narrowed.ids) == [hit.memory_id for hit in cut]
    if not isinstance(channel, Recent):  # its score is the place
        assert [hit.score for hit in narrowed] == pytest.approx(
            [hit.score for hit in cut], abs=1e-6
        )


@given(text=words, each=st.integers(1, 5), filter=filters)
@fast
def test_exact_things_are_filtered_before_each_is_cut(
    pair: Pair, every: dict[str, Memory], text: str, each: int, filter: Filter
) -> None:
    """`id_42` and the like stand in many memories; each thing brings `each` that pass."""
    asked = f"{text} id_42"
    whole = [
        id for id in found(pair.bare, Exact(each=ALL), asked, 10).ids if passes(every[id], filter)
    ]
    narrowed = found(pair.bare, Exact(each=ALL), asked, 10, filter)
    assert list(narrowed.ids) == whole
    cut = found(pair.bare, Exact(each=each), asked, 10, filter)
    assert set(cut.ids) <= set(whole)
    holding = [hit.memory_id for hit in narrowed if "id_42" in hit.why.formula]
    assert len(set(cut.ids) & set(holding)) >= min(each, len(holding))


@pytest.mark.parametrize("recipe", RECIPES)
@given(
    text=words.map(lambda some: f"{some} alpha deploy"), limit=st.integers(1, 40), filter=filters
)
@fast
def test_an_answer_passes_the_filter_and_is_as_long_as_it_can_be(
    pair: Pair, every: dict[str, Memory], recipe: str, text: str, limit: int, filter: Filter
) -> None:
    """With vectors every memory that passes is a candidate, so that an answer is short only where
    the filter leaves few, or where the recipe says what it dropped."""
    passing = {id for id, memory in every.items() if passes(memory, filter)}
    for memory in pair:
        response = memory.search(text, recipe=recipe, limit=limit, filter=filter)
        assert {one.id for one in response} <= passing
    if recipe in ("vault", "covalence"):
        sessions = {id for id in passing if every[id].kind == "session"}
        least = len(passing - sessions) if recipe == "vault" else len(passing)
        assert len(response) >= min(limit, least)


@given(filter=filters, limit=st.integers(1, 40))
@fast
def test_browsing_and_context_filter_before_they_cut(
    pair: Pair, every: dict[str, Memory], filter: Filter, limit: int
) -> None:
    passing = [memory for memory in every.values() if passes(memory, filter)]
    tiers = ("core", "capture", "file")
    browsed = sorted(
        passing, key=lambda one: (tiers.index(one.tier), -one.updated_at.timestamp(), one.id)
    )
    response = pair.bare.search("", recipe="covalence", filter=filter, limit=limit)
    assert [one.id for one in response] == [one.id for one in browsed][:limit]
    held = [memory for memory in passing if not validity(memory, pair.bare.now())]
    newest = sorted(held, key=lambda one: (-one.updated_at.timestamp(), one.id))
    general = replace(filter, project="") if filter.project else filter
    core = [one for one in every.values() if one.tier == "core" and passes(one, general)]
    core = [one for one in core if one not in newest and not validity(one, pair.bare.now())]
    core.sort(key=lambda one: (-one.updated_at.timestamp(), one.id))
    pinned = [*(one for one in newest if one.tier == "core"), *core]
    if not filter.project:
        pinned.sort(key=lambda one: one.project != "")
    wanted = [*pinned, *(one for one in newest if one.tier == "capture")]
    if filter.kind is None:  # sessions only where they are asked for
        wanted = [one for one in wanted if one.kind != "session"]
    context = pair.bare.context(filter=filter, limit=limit)
    assert [one.id for one in context.memories] == [one.id for one in wanted][:limit]
