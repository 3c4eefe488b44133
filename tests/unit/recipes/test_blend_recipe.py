"""`blend` as declared: the default, and what it is made of."""

from __future__ import annotations

import msgspec
import pytest

from recollect.errors import UserError
from recollect.recipes.base import check, recipe_of
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Settings

BLEND = BUILT_IN["blend"]


def test_it_is_the_default_and_the_first_that_is_listed() -> None:
    assert Settings().search.recipe == "blend"
    assert next(iter(BUILT_IN)) == "blend"


def test_it_hangs_together() -> None:
    check(BLEND)
    assert [channel.name for channel in BLEND.recall] == [
        "keyword",
        "subwords",
        "exact",
        "details",
        "vector",
        "listed",
        "accepted",
    ]
    stages = [
        "bonus",
        "rerank",
        "supersede",
        "near_duplicates",
        "exact_floor",
        "validity",
        "browsed",
        "dismissed",
        "neighbours",
        "cut",
        "verdict",
    ]
    assert [stage.name for stage in BLEND.stages] == stages
    fused = {"keyword", "subwords", "exact", "details", "vector", "accepted"}
    assert set(BLEND.fuse.channels) == fused


def test_it_survives_being_written_down() -> None:
    written = recipe_of(msgspec.json.decode(msgspec.json.encode(BLEND)))
    assert written == BLEND
    assert written.fingerprint == BLEND.fingerprint


@pytest.mark.parametrize("lost", ["subwords", "exact", "vector"])
def test_a_channel_that_fusion_names_must_be_there(lost: str) -> None:
    recall = tuple(channel for channel in BLEND.recall if channel.name != lost)
    with pytest.raises(UserError, match=f"fuse names the channel '{lost}'"):
        check(msgspec.structs.replace(BLEND, recall=recall))
