"""Shared collections: one search over the personal vault and every collection, no repeats."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, Recollect, StoreError
from recollect.demo import sample
from recollect.errors import NotFound
from recollect.present.response import as_json
from recollect.recipes.registry import BUILT_IN
from recollect.settings import CollectionSettings, Embedding, Rerank, Settings, VaultSettings
from recollect.types import Response, recompute

NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
QUERIES = (
    "how do we refresh tokens",
    "postgres index",
    "getUserByID",
    "carrier label outage",
    "What did we decide about sessions?",
)
NAMES = ("platform", "guild")


def open_memory(home: Path, *names: str, rerank: str = "none") -> Recollect:
    collections = tuple(CollectionSettings(name, f"{name}.db") for name in names)
    settings = Settings(rerank=Rerank(provider=rerank), collections=collections)  # type: ignore[arg-type]
    return Recollect(home=home, settings=settings, clock=lambda: NOW)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Recollect, Recollect]]:
    """The sample memories alone, and the same with every one also in two collections."""
    alone = tmp_path_factory.mktemp("alone")
    shared = tmp_path_factory.mktemp("shared")
    with ExitStack() as stack:
        bare = stack.enter_context(open_memory(alone))
        full = stack.enter_context(open_memory(shared, *NAMES))
        for memory in (bare, full):
            memory.save_all(list(sample(NOW)))
        ids = [one.id for one in full.export()]
        for name in NAMES:
            full.publish(ids, name)
        for memory in (bare, full):
            assert memory.embed_now() is None
        yield bare, full


def test_collections_and_vaults_that_are_replaced_are_read_and_written_anew(tmp_path: Path) -> None:
    (tmp_path / "vaults").mkdir()
    for name in ("old", "new"):
        with open_memory(tmp_path / name) as other:
            other.save(id=name, title=f"harbor {name}")
    for name in ("old", "new"):
        shutil.copyfile(tmp_path / "old" / "vault.db", tmp_path / "vaults" / f"{name}.db")
    team = VaultSettings(name="team", tier="team", path="new.db")
    settings = Settings(
        rerank=Rerank(provider="none"),
        embedding=Embedding(provider="none"),
        vaults=(team,),
        collections=(CollectionSettings("guild", "old.db"),),
    )
    with Recollect(home=tmp_path / "vaults", settings=settings, clock=lambda: NOW) as memory:
        memory.save(id="mine", title="harbor mine")
        assert every_id(memory.search("harbor")) == {"mine", "guild:old", "old"}
        for name in ("old", "new"):
            shutil.copyfile(tmp_path / "new" / "vault.db", tmp_path / "copy.db")
            (tmp_path / "copy.db").replace(tmp_path / "vaults" / f"{name}.db")
        memory.publish(["mine"], "guild")
        assert every_id(memory.search("harbor")) == {"mine", "guild:new", "new"}
    with Recollect(tmp_path / "vaults" / "old.db", home=tmp_path) as guild:
        assert {one.id for one in guild.export()} == {"new", "mine"}


def every_id(response: Response) -> set[str]:
    """Return the ids of the results and of their near duplicates."""
    return {memory.id for one in response for memory in (one.memory, *one.same)}


def as_told(memory: Recollect, query: str, **asked: Any) -> Any:
    response = as_json(memory.search(query, **asked), explain=True)
    return [response["results"], response["topics"], response["evidence"]]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("recipe", BUILT_IN)
def test_copies_in_two_collections_change_nothing(
    homes: tuple[Recollect, Recollect], recipe: str, query: str
) -> None:
    """Ids, scores, explanations and their order: the personal copy stays, the others are gone."""
    bare, full = homes
    assert as_told(full, query, recipe=recipe) == as_told(bare, query, recipe=recipe)


@pytest.mark.parametrize("more", [{"limit": 1}, {"limit": 3}, {"limit": 32}, {"deep": True}])
@pytest.mark.parametrize("filter", [Filter(), Filter(project="harbor-api"), Filter(tags=("auth",))])
def test_copies_change_no_limit_filter_or_deep_search(
    homes: tuple[Recollect, Recollect], more: dict[str, Any], filter: Filter
) -> None:
    bare, full = homes
    asked = {"recipe": "gnosis", "filter": filter} | more
    assert as_told(full, QUERIES[0], **asked) == as_told(bare, QUERIES[0], **asked)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Recollect, Recollect]]:
    """Two people who belong to one collection."""
    shared = str(tmp_path / "platform.db")
    settings = Settings(
        rerank=Rerank(provider="none"), collections=(CollectionSettings("platform", shared),)
    )
    with ExitStack() as stack:
        yield tuple(  # type: ignore[misc]
            stack.enter_context(
                Recollect(home=tmp_path / who, settings=settings, clock=lambda: NOW)
            )
            for who in ("ada", "ben")
        )


def test_what_one_publishes_the_other_finds(two: tuple[Recollect, Recollect]) -> None:
    ada, ben = two
    ada.save(id="keys", title="Signing keys", text="Signing keys rotate every ninety days.")
    assert not ben.search("signing keys rotate").results
    ada.publish(["keys"], "platform")
    [found] = ben.search("signing keys rotate").results
    assert (found.id, found.vault) == ("platform:keys", "platform")
    assert recompute(found.explain) == found.score
    [memory] = ben.show(["platform:keys"])
    assert memory.text == "Signing keys rotate every ninety days."
    [own] = ada.search("signing keys rotate").results
    assert (own.id, own.vault) == ("keys", "agent")


@pytest.mark.parametrize("recipe", BUILT_IN)
def test_every_recipe_searches_collections(two: tuple[Recollect, Recollect], recipe: str) -> None:
    ada, ben = two
    ada.save(id="keys", title="Signing keys rotate", text="Ninety days.", tags=["signing", "keys"])
    ben.save(id="own", title="Signing of parcels", text="At the door.", tags=["signing", "parcels"])
    ada.publish(["keys"], "platform")
    found = {one.id: one.vault for one in ben.search("signing keys rotate", recipe=recipe)}
    assert found["platform:keys"] == "platform"


def test_an_edit_is_a_second_statement_until_it_is_published(
    two: tuple[Recollect, Recollect],
) -> None:
    ada, ben = two
    ada.save(id="keys", title="Signing keys", text="Signing keys rotate every ninety days.")
    ada.publish(["keys"], "platform")
    ada.edit("keys", text="Signing keys rotate every thirty days.")
    assert "ninety" in ben.show(["platform:keys"])[0].text
    assert {one.id for one in ada.search("signing keys rotate")} == {"keys", "platform:keys"}
    ada.publish(["keys"], "platform")
    assert "thirty" in ben.show(["platform:keys"])[0].text


def test_what_is_unpublished_is_found_by_its_owner_alone(two: tuple[Recollect, Recollect]) -> None:
    ada, ben = two
    ada.save(id="keys", title="Signing keys", text="Signing keys rotate.")
    ada.publish(["keys"], "platform")
    ada.unpublish(["keys"], "platform")
    assert not ben.search("signing keys").results
    assert [one.id for one in ada.search("signing keys")] == ["keys"]
    with pytest.raises(NotFound, match="keys"):
        ada.unpublish(["keys"], "platform")


def test_a_collection_that_is_away_is_named_and_the_rest_answers(tmp_path: Path) -> None:
    with open_memory(tmp_path, "platform") as memory:
        memory.save(id="keys", title="Signing keys")
        found = memory.search("signing keys")
        assert [one.id for one in found] == ["keys"]
        [away] = [part for part in found.degraded if part.channel == "platform"]
        assert "not there" in away.reason
        assert not (tmp_path / "platform.db").exists()


def test_a_file_that_is_no_vault_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "platform.db").write_text("shopping list")
    with open_memory(tmp_path, "platform") as memory:
        memory.save(id="keys", title="Signing keys")
        found = memory.search("signing keys")
        assert "platform" in {part.channel for part in found.degraded}
        assert [one.id for one in found] == ["keys"]
        with pytest.raises(StoreError):
            memory.publish(["keys"], "platform")


def test_a_collection_that_is_not_named_is_refused(tmp_path: Path) -> None:
    with open_memory(tmp_path, "platform") as memory:
        memory.save(id="keys", title="Signing keys")
        with pytest.raises(NotFound, match="guild"):
            memory.publish(["keys"], "guild")
    with open_memory(tmp_path) as memory, pytest.raises(NotFound, match="platform"):
        memory.publish(["keys"], "platform")
