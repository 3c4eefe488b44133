"""The query path: what it reports with the results, and what it refuses."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from suites.stores.samples import CHANGE

from model_server import ModelServer
from recollect import Filter, Memory, Recollect, UserError
from recollect.checks import LARGEST_LIMIT
from recollect.context import SearchContext
from recollect.errors import ProviderError, StoreError
from recollect.pipeline import run
from recollect.present.response import as_json, summary
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Hit, Ranking, Search, leaf

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    """Eight memories about otters, and no model."""
    with open_vault(tmp_path, NO_MODELS) as held:
        for number in range(8):
            held.save(id=f"otter-{number}", title=f"Otter {number}", tags=["otter", f"n{number}"])
        yield held


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def dense(tmp_path: Path, memory: Recollect, server: ModelServer) -> Iterator[Recollect]:
    """The same vault with an embedder and a reranker."""
    settings = Settings(
        embedding=Embedding(provider="openai", model="toy", base_url=server.openai_url),
        rerank=Rerank(provider="http", model="toy", base_url=server.url, budget_ms=60_000),
    )
    with open_vault(tmp_path, settings) as held:
        assert held.embed_now() is None
        yield held
    for open_model in (held.models.embedder, held.models.reranker):
        with suppress(ProviderError):
            getattr(open_model(), "close", lambda: None)()


def open_vault(folder: Path, settings: Settings) -> Recollect:
    return Recollect(
        folder / "vault.db", home=folder, settings=settings, environment={}, clock=lambda: NOW
    )


# Limits


@pytest.mark.parametrize("limit", [0, -1, -(10**9)])
@pytest.mark.parametrize("recipe", BUILT_IN)
def test_a_limit_below_one_is_refused(memory: Recollect, recipe: str, limit: int) -> None:
    with pytest.raises(UserError, match=f"limit must be at least 1, not {limit}"):
        memory.search("otter", recipe=recipe, limit=limit)


@pytest.mark.parametrize("limit", [10**9, 10**12, 2**63])
@pytest.mark.parametrize("recipe", BUILT_IN)
def test_any_large_limit_means_everything(
    memory: Recollect, dense: Recollect, recipe: str, limit: int
) -> None:
    for held in (memory, dense):
        response = held.search("otter", recipe=recipe, limit=limit)
        assert len(response) == 8
        most = BUILT_IN[recipe].limits.most
        assert response.notes == (
            (f"Recipe {recipe} returns at most {most} results.",) if most else ()
        )
    assert LARGEST_LIMIT >= 10**9


def test_the_recipe_has_a_limit_of_its_own(memory: Recollect) -> None:
    assert len(memory.search("otter", recipe="echovault")) == 5
    assert len(memory.search("otter", recipe="router")) == 8
    capped = memory.search("otter", recipe="gnosis", limit=33)
    assert capped.notes == ("Recipe gnosis returns at most 32 results.",)
    assert memory.search("otter", recipe="gnosis", limit=32).notes == ()


# Names


def test_an_unknown_recipe_view_or_filter_is_refused_with_the_known_ones(
    memory: Recollect,
) -> None:
    with pytest.raises(UserError, match="no recipe 'best'; there are: blend, vault, echovault"):
        memory.search("otter", recipe="best")
    with pytest.raises(UserError, match="view cannot be 'all'; allowed are: scan, full"):
        memory.search("otter", view="all")
    with pytest.raises(UserError, match="'colour' is not a filter; filters are: project, source"):
        memory.search("otter", colour="blue")


@pytest.mark.parametrize("view", ["scan", "full", "pointer", "preview", "snippet"])
def test_every_recipe_has_every_view(memory: Recollect, view: str) -> None:
    shapes = {
        tuple(memory.search("otter", recipe=recipe, view=view).results[0].fields)
        for recipe in BUILT_IN
    }
    assert len(shapes) == 1


def test_each_recipe_has_its_own_view() -> None:
    assert {name: recipe.view for name, recipe in BUILT_IN.items()} == {
        "blend": "scan",
        "vault": "scan",
        "echovault": "pointer",
        "gnosis": "preview",
        "router": "snippet",
        "covalence": "scan",
    }


# What could not take part


def test_what_could_not_take_part_is_named_with_the_reason(
    memory: Recollect, dense: Recollect, server: ModelServer
) -> None:
    none = memory.search("otter", recipe="gnosis").degraded
    assert [(entry.channel, entry.reason) for entry in none] == [
        ("vector", 'embedding.provider is "none"'),
        ("rerank", 'rerank.provider is "none"'),
    ]
    assert dense.search("otter", recipe="gnosis").degraded == ()
    server.fail_next(1, status=400)
    [lost] = dense.search("otter", recipe="gnosis").degraded
    assert lost.channel == "vector"
    assert "answered 400" in lost.reason
    assert "127.0.0.1" in lost.reason


def test_what_is_not_wanted_or_found_nothing_is_not_degraded(memory: Recollect) -> None:
    assert memory.search("otter", recipe="echovault").degraded == ()  # enough by keyword
    assert memory.search("otter", recipe="router").degraded == ()  # keyword intent
    assert memory.search("", recipe="covalence").degraded == ()  # browsing
    assert memory.search("", recipe="vault").degraded == ()
    nothing = memory.search("zebra stripes here", recipe="router")
    assert (len(nothing), [entry.channel for entry in nothing.degraded]) == (0, ["vector"])


def test_memories_without_a_vector_are_counted(dense: Recollect) -> None:
    with dense.store.writing(CHANGE) as write:
        before = write.find(["otter-0"])["otter-0"]
        from msgspec.structs import replace

        write.replace(before, replace(before.memory, text="changed"))
    [entry] = dense.search("otter", recipe="covalence").degraded
    assert entry.channel == "vector"
    assert entry.reason.startswith("1 of 8 memories have no vector yet")
    assert "recollect reindex" in entry.reason


def test_a_reason_is_logged_once_and_told_every_time(
    memory: Recollect, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.context._logged", set())
    with caplog.at_level(logging.WARNING, logger="recollect"):
        for _ in range(3):
            response = memory.search("otter", recipe="vault")
            assert len(response.degraded) == 1
    assert [record.getMessage() for record in caplog.records] == [
        'vector: embedding.provider is "none"'
    ]


def test_a_vault_that_cannot_compare_vectors_answers_by_keyword(
    dense: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise StoreError("The vault is damaged.")

    monkeypatch.setattr(dense.store.vectors, "nearest", broken)
    for recipe in ("vault", "covalence"):
        response = dense.search("otter", recipe=recipe)
        assert len(response) == 8
        assert [entry.reason for entry in response.degraded] == ["The vault is damaged."]


# Counts, times, notes


def test_timings_are_there_and_the_models_time_is_its_own(
    dense: Recollect, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that stands still but while the model is asked."""
    before = len(server.requests)
    clock = SimpleNamespace(perf_counter=lambda: 0.05 * (len(server.requests) - before))
    for module in ("context", "pipeline"):
        monkeypatch.setattr(f"recollect.{module}.time", clock)
    response = dense.search("otter", recipe="vault")
    told = response.timings_ms
    assert {"embed", "keyword", "vector", "session", "fuse", "load", "stages", "present"} <= set(
        told
    )
    assert all(spent >= 0 for spent in told.values())
    assert told["embed"] == 50
    assert told["vector"] == 0
    assert told["total"] == 50


def test_counts_tell_each_channel_and_what_was_dropped(dense: Recollect) -> None:
    response = dense.search("otter", recipe="gnosis", limit=3)
    assert response.counts == {
        "vector": 8,
        "topic": 8,
        "pool": 8,
        "reranked": 8,
        "returned": 3,
        "dropped": {"limit": 5},
    }
    assert summary(response) == "Reranked 8 of 8, returned 3"
    assert response.topics["otter"] == 3
    assert next(iter(response.topics)) == "otter"


def test_the_response_is_json_as_documented(memory: Recollect) -> None:
    response = memory.search("otter", recipe="vault", limit=2)
    told = as_json(response, explain=True)
    assert set(told) >= {
        "query", "recipe", "view", "intent", "results", "counts", "degraded", "timings_ms",
    }  # fmt: skip
    first = told["results"][0]
    assert first["explain"]["value"] == first["score"]
    assert first["explain"]["name"] == "vault"
    assert "explain" not in as_json(response)["results"][0]
    assert (first["id"], first["vault"]) == ("otter-0", "agent")


def test_the_same_loss_is_told_once() -> None:
    at = at_nowhere()
    for reason in ("It is off.", "It is off.", "It is broken."):
        at.degrade("vector", reason)
    assert [entry.reason for entry in at.degraded] == ["It is off.", "It is broken."]


def test_a_note_is_told_once(memory: Recollect) -> None:
    at = at_nowhere()
    at.note("It is so.")
    at.note("It is so.")
    assert at.notes == ["It is so."]
    assert memory.search("otter", recipe="vault", limit=1).notes == (
        "Small corpus: all 8 candidates are returned, not 1.",
    )


# Other processes


def test_a_memory_forgotten_during_the_search_is_not_in_the_answer(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process forgets it after the channels have found it and before it is read."""
    real = memory.store.memories.get

    def get(ids: Sequence[str]) -> dict[str, Memory]:
        return {id: found for id, found in real(ids).items() if id != "otter-3"}

    monkeypatch.setattr(memory.store.memories, "get", get)
    for recipe in BUILT_IN:
        response = memory.search("otter", recipe=recipe, limit=30)
        assert len(response) == 7
        assert "otter-3" not in {one.id for one in response}


def test_a_memory_that_two_channels_found_comes_once(memory: Recollect) -> None:
    """Its kind changes to `session` between two channels of one search: both have it."""
    from recollect.stages.adjustments import FixedScore

    at = at_nowhere()
    hit = Hit("m", leaf("score", 0.8, ""))
    at.channels["session"] = Ranking((Hit("m", leaf("session", 1.0, "")),))
    stage = FixedScore(channel="session", score=0.5)
    assert stage.apply(Ranking((hit,)), at).hits == (hit,)


# The clock


def test_now_is_the_one_that_is_told(memory: Recollect) -> None:
    """The same search, seen from a year later."""
    year = NOW.replace(year=2027)
    today, later = (memory.search("otter", recipe="vault", now=now) for now in (None, year))
    decays = [
        next(term for term in one.results[0].explain.parts if term.name == "temporal_decay").raw
        for one in (today, later)
    ]
    assert decays == pytest.approx([1.0, 0.5])


def test_run_needs_no_engine(memory: Recollect) -> None:
    response = run(
        BUILT_IN["router"],
        Search(query="otter", filter=Filter(tags=("n3",)), now=NOW),
        store=memory.store,
        models=memory.models,
        vault="team",
    )
    assert [(one.id, one.vault) for one in response] == [("otter-3", "team")]


def at_nowhere() -> SearchContext:
    nothing: Any = None
    return SearchContext(
        recipe="r", search=Search(query="q"), limit=5, now=NOW, store=nothing, models=nothing
    )
