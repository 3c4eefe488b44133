"""The built-in recipes: the default one, and what each part needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest
from msgspec import structs
from msgspec.structs import replace

from recollect.context import SearchContext
from recollect.errors import UserError
from recollect.fuse import Rrf, Union
from recollect.recall.keyword import Keyword
from recollect.recall.vector import Vector
from recollect.recipes.base import Recipe, check, part_infos, recipe_of
from recollect.recipes.ranges import Depth
from recollect.recipes.registry import BUILT_IN
from recollect.recipes.related import RELATED
from recollect.settings import Settings
from recollect.signals import AnySignal
from recollect.signals.words import Cosine, VectorRank
from recollect.stages.adjustments import KeywordFloor, KindAdjust, ScoreFloor
from recollect.stages.ending import ConfidenceVerdict, Cut, Neighbours
from recollect.stages.rerank import CrossEncoder
from recollect.stages.signal_sums import Bonus, WeightedSum
from recollect.stages.supersede import Supersede
from recollect.types import Ranking
from recollect_evaluation.evaluation import BASELINES

BLEND = BUILT_IN["blend"]


def test_it_is_the_default_and_the_first_that_is_listed() -> None:
    assert Settings().search.recipe == "blend"
    assert next(iter(BUILT_IN)) == "blend"


def test_its_channels_and_stages() -> None:
    channels = "keyword subwords exact details vector listed accepted".split()
    assert [channel.name for channel in BLEND.recall] == channels
    assert [stage.name for stage in BLEND.stages] == (
        "bonus rerank supersede near_duplicates exact_floor validity browsed dismissed neighbours "
        "cut verdict"
    ).split()
    assert set(BLEND.fuse.channels) == {*channels} - {"listed"}


def test_it_is_the_same_read_back_from_json() -> None:
    written = recipe_of(msgspec.json.decode(msgspec.json.encode(BLEND)))
    assert written == BLEND
    assert written.fingerprint == BLEND.fingerprint


@pytest.mark.parametrize("lost", ["subwords", "exact", "vector"])
def test_a_channel_that_fusion_names_must_be_there(lost: str) -> None:
    recall = tuple(channel for channel in BLEND.recall if channel.name != lost)
    with pytest.raises(UserError, match=f"fuse names the channel '{lost}'"):
        check(msgspec.structs.replace(BLEND, recall=recall))


Search = Callable[..., SearchContext]
WORDS = Keyword(index="stemmed", columns={"text": 1.0}, reading="words", depth=Depth(at_least=10))
VECTORS = Vector(depth=Depth(at_least=10))


def recipe(*stages: Any, recall: Any = (WORDS,), fuse: Any = None) -> Recipe:
    fuse = fuse or Rrf(channels=("keyword",))
    return Recipe(
        name="mine", about="", source="", view="scan", recall=recall, fuse=fuse, stages=stages
    )


@pytest.mark.parametrize("name", [*BUILT_IN, *BASELINES, "related"])
def test_every_recipe_is_consistent_and_joins_neighbours_before_the_cut(name: str) -> None:
    ours = {**BUILT_IN, **BASELINES, "related": RELATED}[name]
    for one in filter(None, (ours, ours.deep)):
        check(one)
        kinds = [type(stage) for stage in one.stages]
        assert kinds.index(Cut) == kinds.index(Neighbours) + 1


@pytest.mark.parametrize("stage", [KeywordFloor(), ScoreFloor(), KindAdjust("a", 2.0, "a")])
def test_a_stage_that_needs_a_reranker_before_it_is_refused_without_one(stage: Any) -> None:
    wanted = rf"stages\.{stage.name} needs reranking; .*cross_encoder, rerank_interpolation"
    for stages in ((stage, Cut()), (stage, CrossEncoder(), Cut())):
        with pytest.raises(UserError, match=wanted):
            check(recipe(*stages))
    check(recipe(CrossEncoder(), stage, Cut()))


def test_scores_by_ranks_are_what_an_unread_candidate_is_judged_by() -> None:
    with pytest.raises(UserError, match=r"stages\.rerank needs rrf; .*: rrf\."):
        check(recipe(CrossEncoder(), Cut(), fuse=Union(channels=("keyword",))))


def test_a_verdict_needs_log_odds_and_what_is_returned() -> None:
    verdict = ConfidenceVerdict(strong=0.9, weak=0.1)
    with pytest.raises(
        UserError, match=r"verdict needs log_odds; put one of these before it: feat"
    ):
        check(recipe(Cut(), verdict))
    with pytest.raises(UserError, match=r"stages\.verdict needs limit; .*: cut\."):
        check(structs.replace(BUILT_IN["blend"], stages=(verdict, Cut())))


@pytest.mark.parametrize(
    "stage", [Supersede(), Bonus(signals=(Cosine(weight=1.0),)), WeightedSum((Cosine(weight=1.0),))]
)
def test_a_stage_that_compares_vectors_needs_a_vector_channel(stage: Any) -> None:
    with pytest.raises(UserError, match=rf"stages\.{stage.name} needs a vector channel"):
        check(recipe(stage, Cut()))
    both = Rrf(channels=("keyword", "near"))
    check(recipe(stage, Cut(), recall=(WORDS, replace(VECTORS, name="near")), fuse=both))


def test_a_signal_by_rank_names_its_channel() -> None:
    with pytest.raises(UserError, match=r"stages\.bonus names the channel 'vector'"):
        check(recipe(Bonus(signals=(VectorRank(weight=1.0),)), Cut()))


def test_a_channel_looks_only_at_those_before_it() -> None:
    sparse = replace(VECTORS, when="sparse")
    both = Rrf(channels=("keyword", "vector"))
    check(recipe(Cut(), recall=(WORDS, sparse), fuse=both))
    with pytest.raises(UserError, match=r"recall\.vector names the channel 'keyword'"):
        check(recipe(Cut(), recall=(sparse, WORDS), fuse=both))


def test_one_channel_searches_by_vectors() -> None:
    with pytest.raises(UserError, match="two channels of recall search by vector"):
        check(recipe(Cut(), recall=(WORDS, VECTORS, replace(VECTORS, name="again"))))


def test_an_unread_candidate_is_judged_by_the_k_of_the_fusion(search_at: Search) -> None:
    """First in both lists is the best there is, whatever k: x is 1, and the score the same."""
    found = {"vector": {"a": 1.0}, "topic": {"a": 1.0}}
    context = search_at("anything", {"a": "text"}, channels=found)
    scores = []
    for k in (10, 60):
        context.fused = Rrf(channels=("vector", "topic"), k=k).fuse(context)
        [hit] = CrossEncoder(skip_below=5).apply(context.fused, context)
        scores.append(hit.score)
    assert scores[0] == pytest.approx(scores[1])


def test_every_signal_says_what_it_is_about() -> None:
    known = part_infos()
    assert get_args(AnySignal)
    for signal in get_args(AnySignal):
        assert known[signal.__struct_config__.tag].about == signal.about != ""


def test_a_ranking_keeps_what_is_known_of_it(search_at: Search) -> None:
    ranking = replace(Ranking(dropped={"pool": 2}), reranked=7)
    for stage in (Cut(), Neighbours(), KindAdjust("a", 2.0, "a")):
        assert stage.apply(ranking, search_at("q")) == ranking
