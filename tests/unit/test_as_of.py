"""The vault as of an earlier time: searched, listed, shown, counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import Recollect, Response
from recollect.engine import searching
from recollect.errors import NotFound, StoreError, UserError
from recollect.pipeline import run
from recollect.settings import (
    CollectionSettings,
    Embedding,
    Rerank,
    SearchSettings,
    Settings,
    VaultSettings,
)
from recollect.vaults import past_store
from toy_models import embed

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def later(self, by: timedelta = DAY) -> datetime:
        """Go on, and return when it was."""
        before, self.now = self.now, self.now + by
        return before


def open_vault(home: Path, clock: Clock, **settings: Any) -> Recollect:
    made = Settings(
        embedding=Embedding(provider="none"),
        rerank=Rerank(provider="none"),
        search=SearchSettings(vault_deadline_ms=20_000),
        **settings,
    )
    return Recollect(home=home, settings=made, environment={}, clock=clock)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Recollect]:
    with open_vault(tmp_path / "home", clock) as engine:
        yield engine


def ids(found: Response | Sequence[Any]) -> list[str]:
    return [each.id for each in found]


def test_what_changed_since_is_found_as_it_was(memory: Recollect, clock: Clock) -> None:
    memory.save(id="port", title="Gateway port", text="The gateway listens on 8443.")
    memory.save(id="pager", title="Pager", text="The pager of the gateway goes round.")
    then = clock.later()
    memory.edit("port", text="The gateway listens on 9443.")
    memory.forget(["pager"])
    memory.save(id="proxy", title="Proxy", text="A proxy stands before the gateway.")
    assert sorted(ids(memory.search("gateway 8443"))) == ["port", "proxy"]
    found = memory.search("gateway 8443", as_of=then)
    assert ids(found) == ["port", "pager"]
    assert found.results[0].memory.text == "The gateway listens on 8443."
    assert ids(memory.list(as_of=then)) == ["pager", "port"]
    assert ids(memory.context("gateway", as_of=then).memories) == ["port", "pager"]
    [shown] = memory.show(["pager"], as_of=then)
    assert shown.title == "Pager"
    with pytest.raises(NotFound, match="There was no memory 'proxy' as of 2026-03-01 12:00 UTC"):
        memory.show(["proxy"], as_of=then)


def test_validity_and_ages_are_those_of_then(memory: Recollect, clock: Clock) -> None:
    memory.save(id="code", title="Door code", text="4711", valid_until=START + DAY)
    then = clock.later(3 * DAY)
    [result] = memory.search("door code")
    assert result.validity.startswith("expired")
    [result] = memory.search("door code", as_of=then)
    assert not result.validity
    [result] = memory.search("door code", as_of=then, now=clock.now)
    assert result.validity.startswith("expired")
    assert memory.facets(as_of=then).age["1d"] == 1
    assert memory.facets().age["1d"] == 0


def test_the_answer_and_the_explanation_say_as_of_when(memory: Recollect, clock: Clock) -> None:
    memory.save(id="code", title="Door code")
    then = clock.later()
    found = memory.search("door code", as_of=then)
    assert found.as_of == then
    assert found.results[0].explain.how == "As of 2026-03-01 12:00 UTC"
    assert memory.search("door code").as_of is None
    assert memory.context("door", as_of=then).as_of == then


def test_a_time_to_come_or_before_the_vault_is_refused(memory: Recollect, clock: Clock) -> None:
    memory.save(id="code", title="Door code")
    with pytest.raises(UserError, match="2026-03-02 12:00 UTC: that is in the future; it is 2026"):
        memory.search("door", as_of=START + DAY)
    for asked in (memory.list, memory.facets, memory.context):
        with pytest.raises(UserError, match="begins later, at 2026-03-01 12:00 UTC"):
            asked(as_of=START - DAY)


def test_what_was_purged_is_not_there_in_any_past(memory: Recollect, clock: Clock) -> None:
    for id in ("code", "key"):
        memory.save(id=id, title=f"Door {id}")
    then = clock.later()
    memory.edit("code", title="Front door code")
    memory.edit("key", title="Front door key")
    assert ids(memory.search("door", as_of=then)) == ["code", "key"]
    memory.forget(["code"], purge=True)
    assert ids(memory.search("door", as_of=then)) == ["key"]
    assert ids(memory.list(as_of=then)) == ["key"]


class CountingEmbedder:
    """Hashed bags of words, and which texts were embedded."""

    identity = "toy"
    local = True
    dimensions = 64

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def warm(self) -> bool:
        return True

    def queries(self, texts: Sequence[str]) -> Any:
        rows = np.array([embed(text, self.dimensions) for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def documents(self, texts: Sequence[str]) -> Any:
        self.embedded += texts
        return self.queries(texts)


def test_only_wordings_that_have_changed_are_embedded_and_only_once(
    memory: Recollect, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CountingEmbedder()
    memory.models.__dict__["_embedder"] = model
    for number in range(8):
        memory.save(id=f"m{number}", title=f"Harbor {number}")
    memory.embed_now()
    then = clock.later()
    for number in range(3):
        memory.edit(f"m{number}", title=f"Port {number}")
    memory.edit("m3", kind="bug")
    memory.embed_now()
    model.embedded.clear()
    monkeypatch.setattr(past_store, "MOST_EMBEDDED", 0)
    found = memory.search("harbor", as_of=then)
    assert not model.embedded
    [part] = found.degraded
    assert part.reason == (
        "3 of 8 memories have no vector yet; the same search again makes more, of wordings that "
        "have changed since"
    )
    monkeypatch.setattr(past_store, "MOST_EMBEDDED", 200)
    for _ in range(2):
        assert not memory.search("harbor", as_of=then).degraded
    assert sorted(model.embedded) == ["Harbor 0", "Harbor 1", "Harbor 2"]


def test_other_vaults_and_collections_answer_as_of_then(tmp_path: Path, clock: Clock) -> None:
    for name in ("team", "guild"):
        with open_vault(tmp_path / name, clock) as other:
            other.save(id=name, title=f"Harbor of the {name}")
    vaults = (VaultSettings(name="team", tier="team", path=str(tmp_path / "team" / "vault.db")),)
    shared = (CollectionSettings("guild", str(tmp_path / "guild" / "vault.db")),)
    with open_vault(tmp_path / "home", clock, vaults=vaults, collections=shared) as memory:
        memory.save(id="own", title="Harbor of my own")
        then = clock.later()
        for name in ("team", "guild"):
            with open_vault(tmp_path / name, clock) as other:
                other.edit(name, title="Port")
                other.save(id=f"{name}-new", title=f"Harbor, later, by the {name}")
        assert len(memory.search("harbor")) == 3
        found = memory.search("harbor", as_of=then)
        assert sorted(ids(found)) == ["guild:guild", "own", "team"]
        assert {part.channel for part in found.degraded} <= {"vector", "team/vector"}
        assert memory.show(["team"], as_of=then)[0].title == "Harbor of the team"
        for recipe in ("vault", "blend"):
            with pytest.raises(StoreError, match="history begins later"):
                memory.search("harbor", recipe=recipe, as_of=then - DAY, vaults=("team",))


def test_a_vault_whose_history_is_shorter_is_left_out_and_named(
    tmp_path: Path, clock: Clock
) -> None:
    vaults = (VaultSettings(name="team", tier="team", path=str(tmp_path / "team" / "vault.db")),)
    with open_vault(tmp_path / "home", clock, vaults=vaults) as memory:
        memory.save(id="own", title="Harbor of my own")
        then = clock.later()
        with open_vault(tmp_path / "team", clock) as other:
            other.save(id="team", title="Harbor of the team")
        for recipe in ("vault", "blend"):
            found = memory.search("harbor", recipe=recipe, as_of=then)
            assert ids(found) == ["own"]
            [part] = [part for part in found.degraded if part.channel == "team"]
            assert "the vault's history begins later" in part.reason


def test_what_somebody_writes_during_a_search_of_the_past_is_not_missed_in_it(
    memory: Recollect, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.save(id="a", title="Anchor", text="Drop the anchor.")
    then = clock.later()

    def writing_first(*args: Any, **more: Any) -> Response:
        monkeypatch.setattr(searching, "run", run)
        with open_vault(tmp_path / "home", clock) as another:
            another.edit("a", text="Weigh the anchor.")
        return run(*args, **more)

    monkeypatch.setattr(searching, "run", writing_first)
    [found] = memory.search("anchor", as_of=then)
    assert found.memory.text == "Drop the anchor."
