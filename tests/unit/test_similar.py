"""Similar memories, reported after a save."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.auth.capabilities import SEARCH, WRITE, Caller
from recollect.engine import comparison
from recollect.errors import StoreError
from recollect.lifetime import Lifetime
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.keyword import SqliteKeyword

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODEL = Settings(rerank=Rerank(provider="none"))
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
LONG = "The harbour master closes the outer gate when the wind comes from the north east"


def open_vault(folder: Path, settings: Settings) -> Recollect:
    return Recollect(
        folder / "vault.db", home=folder, settings=settings, environment={}, clock=lambda: NOW
    )


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with open_vault(tmp_path, MODEL) as opened_vault:
        opened_vault.save(id="jenkins", title="Deploys run on Jenkins", project="site")
        opened_vault.save(id="cake", title="Grandmother's cake needs six eggs", project="site")
        opened_vault.save(id="elsewhere", title="Deploys run on Jenkins", project="shop")
        yield opened_vault


def similar_to(memory: Recollect, **fields: object) -> dict[str, str]:
    saved = memory.save(**{"project": "site", **fields})
    memory.embed_now()
    return {each.memory.id: each.why for each in memory.similar(saved)}


def test_what_a_save_seems_to_replace_is_named_even_on_the_same_day(memory: Recollect) -> None:
    assert similar_to(memory, title="Deploys run on Buildkite") == {"jenkins": "seems to replace"}


def test_a_command_that_ends_soon_can_wait_for_the_vector(tmp_path: Path) -> None:
    with open_vault(tmp_path, MODEL) as memory:
        memory.save(id="jenkins", title="Deploys run on Jenkins")
        memory.embed_now()
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=MODEL, environment={}, lifetime=Lifetime.ONCE
    ) as memory:
        saved = memory.save(title="Deploys run on Buildkite")
        [found] = memory.similar(saved, wait=True)
    assert (found.memory.id, found.why) == ("jenkins", "seems to replace")


def test_what_is_older_than_the_memory_alone_can_be_replaced_by_it(memory: Recollect) -> None:
    early = similar_to(memory, title="Deploys run on Buildkite", updated_at="2025-01-01")
    assert early == {}


def test_what_is_about_the_same_thing_is_named(memory: Recollect) -> None:
    memory.save(id="friday", title="We deploy on Fridays", project="site")
    assert similar_to(memory, title="We deploy on Mondays") == {"friday": "about the same thing"}


def test_what_has_a_successor_is_forgotten_or_in_another_project_is_not_named(
    memory: Recollect,
) -> None:
    memory.save(id="new", title="Releases go through Buildkite", project="site")
    memory.supersede("jenkins", "new")
    memory.forget(["new"])
    assert similar_to(memory, title="Deploys run on Buildkite") == {}


def test_without_a_model_the_same_words_are_named(tmp_path: Path) -> None:
    with open_vault(tmp_path, OFF) as memory:
        memory.save(id="a", text=LONG)
        memory.save(id="b", text=f"{LONG} again")
        saved = memory.save(id="c", text=LONG.upper())
        found = {each.memory.id: each.why for each in memory.similar(saved)}
    assert found == {"a": "same words", "b": "nearly the same words"}


def test_what_is_replaced_comes_first_and_a_few_are_named_in_all(memory: Recollect) -> None:
    for number in range(5):
        memory.save(id=f"n{number}", title="deploys run on buildkite", project="site")
    saved = memory.save(id="new", title="Deploys run on Buildkite", project="site")
    memory.embed_now()
    found = memory.similar(saved)
    assert len(found) == comparison.MOST
    assert (found[0].memory.id, found[0].why) == ("jenkins", "seems to replace")


def test_a_caller_who_may_not_read_is_told_nothing(memory: Recollect) -> None:
    writer = memory.acting_as(Caller(name="w", capabilities=frozenset({WRITE})))
    saved = writer.save(title="Deploys run on Buildkite", project="site")
    assert writer.similar(saved) == []
    reader = memory.acting_as(Caller(name="r", capabilities=frozenset({WRITE, SEARCH})))
    memory.embed_now()
    assert reader.similar(memory.show([saved.id])[0])


def test_a_failed_look_leaves_the_save_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object) -> None:
        raise StoreError("The disk is full.")

    with open_vault(tmp_path, OFF) as memory:
        memory.save(id="old", title="Deploys run on Jenkins")
        saved = memory.save(id="kept", title="deploys run on jenkins")
        assert memory.similar(saved)
        monkeypatch.setattr(SqliteKeyword, "match", broken)
        assert memory.similar(saved) == []
        assert memory.show(["kept"]) == [saved]
