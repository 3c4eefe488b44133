"""Archived memories: out of every answer, unless they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.settings import Rerank, Settings
from recollect.types import Filter

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = Settings(rerank=Rerank(provider="none"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=SETTINGS, environment={}, clock=lambda: NOW
    ) as opened:
        for id in ("anchor", "chain"):
            opened.save(id=id, title=f"The {id} of the anchor", tags=["bow"], project="boat")
        opened.embed_now()
        yield opened


def archive(memory: Recollect, id: str) -> None:
    with memory.session.writing("tidy") as write:
        before = write.find([id])[id]
        write.replace(before, replace(before.memory, archived_at=NOW))


@pytest.mark.parametrize("recipe", ["blend", "vault", "gnosis", "router", "echovault", "covalence"])
def test_no_recipe_finds_what_is_archived_unless_it_is_asked_for(
    memory: Recollect, recipe: str
) -> None:
    archive(memory, "chain")
    named = {"recipe": recipe, "tags": ("bow",)}
    assert {result.id for result in memory.search("anchor", recipe=recipe)} == {"anchor"}
    assert {result.id for result in memory.search("anchor", **named)} == {"anchor"}
    every = memory.search("anchor", recipe=recipe, archived=True)
    assert {result.id for result in every} == {"anchor", "chain"}


def test_lists_counts_and_context_leave_it_out_and_show_has_it(memory: Recollect) -> None:
    archive(memory, "chain")
    everything = Filter(archived=True)
    assert [one.id for one in memory.list()] == ["anchor"]
    assert [one.id for one in memory.list(everything)] == ["anchor", "chain"]
    assert memory.facets().project == {"boat": 1}
    assert memory.facets(everything).project == {"boat": 2}
    assert sum(memory.dates().made.values()) == 1
    assert [one.id for one in memory.context().memories] == ["anchor"]
    assert [one.archived_at for one in memory.show(["chain"])] == [NOW]
    assert memory.stats()["archived"] == 1


def test_nothing_is_asked_of_memories_where_none_is_archived(memory: Recollect) -> None:
    lookup = memory.store.topics
    assert lookup.resolve_archived(Filter()) == Filter()
    assert lookup.resolve_archived(Filter(kind="bug")) == Filter(kind="bug")
    archive(memory, "chain")
    assert lookup.resolve_archived(Filter()) == Filter(archived=False)
    memory.forget(["chain"])
    assert lookup.resolve_archived(Filter()) == Filter()


def test_a_filter_that_only_takes_archived_ones_in_narrows_nothing() -> None:
    assert not Filter(archived=True).narrows()
    assert Filter(archived=True, kind="bug").narrows()
