"""Whole memories by id, where some ids name none."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.auth.capabilities import SEARCH, Caller
from recollect.errors import NotFound
from recollect.settings import Embedding, Rerank, Settings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=OFF, environment={}, clock=lambda: NOW
    ) as opened:
        for id in ("auth-jwt-001", "auth-jwt-002", "deploy-1", "deploy-2", "gone-1"):
            opened.save(id=id, title=f"About {id}")
        opened.merge(["deploy-1", "deploy-2"])
        opened.forget(["gone-1"])
        yield opened


def test_what_is_there_is_given_and_what_is_not_is_named(memory: Recollect) -> None:
    found = memory.retrieve(["auth-jwt-001", "auth-jwt-01", "gone-1", "deploy-2", "nobody"])
    assert [each.memory.id for each in found.found] == ["auth-jwt-001", "deploy-1"]
    assert found.found[1].asked == "deploy-2"
    near, gone, nobody = found.missing
    assert near.nearest[0] == "auth-jwt-001"
    assert near.sentence.startswith("There is no memory 'auth-jwt-01'; the nearest: auth-jwt-001")
    assert gone.sentence == "The memory 'gone-1' was forgotten on 2026-03-01 by library."
    assert (nobody.nearest, nobody.forgotten) == ((), None)
    assert nobody.sentence == "There is no memory 'nobody'."


def test_only_where_none_is_there_it_is_an_error(memory: Recollect) -> None:
    with pytest.raises(NotFound, match=r"was forgotten on 2026-03-01 .* the nearest: deploy-1"):
        memory.retrieve(["gone-1", "deploy-11"])
    with pytest.raises(NotFound, match=r"There is no memory 'nobody'\.$"):
        memory.retrieve(["nobody"])


def test_a_caller_who_may_not_bring_it_back_is_not_told_that_it_was_forgotten(
    memory: Recollect,
) -> None:
    reader = memory.acting_as(Caller(name="r", capabilities=frozenset({SEARCH})))
    [missing] = reader.retrieve(["auth-jwt-001", "gone-1"]).missing
    assert missing.forgotten is None
    assert missing.sentence == "There is no memory 'gone-1'."
