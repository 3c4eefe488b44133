"""A part of an id that only one memory has is that id, in whatever takes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.auth.capabilities import DELETE, SEARCH, WRITE, Caller
from recollect.errors import NotFound, UserError
from recollect.ingest.draft import make_draft
from recollect.settings import Embedding, Rerank, Settings

pytestmark = pytest.mark.usefixtures("each_store")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
TOKENS = "session-tokens-5fps2b"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(home=tmp_path, settings=OFF, environment={}, clock=lambda: NOW) as opened:
        for id in (TOKENS, "session-rooms-xq71ab", "tides-9mm2ab", "friday-deploys-77aa"):
            opened.save(id=id, title=f"About {id}")
        yield opened


READ: list[Callable[[Recollect, str], Any]] = [
    lambda memory, id: memory.show([id])[0].id,
    lambda memory, id: memory.locate([id])[0].memory.id,
    lambda memory, id: memory.retrieve([id, "nobody"]).found[0].memory.id,
    lambda memory, id: memory.history(id)[0].memory.id,
    lambda memory, id: memory.timeline(id).around.id,  # type: ignore[union-attr]
    lambda memory, id: memory.edit(id, title="Changed").id,
    lambda memory, id: memory.pin([id])[0].id,
    lambda memory, id: memory.supersede(id, "tides").id,
    lambda memory, id: memory.merge(["tides", id], into=id).id,
    lambda memory, id: memory.save_all([make_draft({"title": "x"}, supersedes=[id])])[0].superseded[
        0
    ],
    lambda memory, id: memory.edit("tides", superseded_by=id).superseded_by,
    lambda memory, id: memory.save(title="old", superseded_by=id).superseded_by,
]


@pytest.mark.parametrize("part", ["session-t", "5fps2b", "tokens-5fps2b", TOKENS])
@pytest.mark.parametrize("ask", READ)
def test_the_beginning_and_the_end_of_an_id_are_that_id(
    memory: Recollect, ask: Callable[[Recollect, str], Any], part: str
) -> None:
    assert ask(memory, part) == TOKENS


def test_what_was_forgotten_comes_back_by_a_part_of_its_id(memory: Recollect) -> None:
    memory.forget(["5fps2b"])
    with pytest.raises(NotFound, match="There is no memory '5fps2b'"):
        memory.show(["5fps2b"])
    memory.restore(["5fps2b"])
    assert memory.show(["5fps2b"])[0].id == TOKENS


def test_several_are_named_and_nothing_is_done(memory: Recollect) -> None:
    for part, how, ids in (
        ("session", "begin", "session-rooms-xq71ab, session-tokens-5fps2b"),
        ("ab", "", ""),
        ("1ab", "", "session-rooms-xq71ab"),
        ("2ab", "", "tides-9mm2ab"),
    ):
        if how:
            with pytest.raises(UserError, match=f"Several ids {how} with '{part}': {ids}. Type"):
                memory.forget([part])
        elif ids:
            assert memory.show([part])[0].id == ids
        else:
            with pytest.raises(NotFound):
                memory.show([part])
    assert len(memory.list()) == 4


def test_a_whole_id_is_never_a_part(memory: Recollect) -> None:
    memory.save(id="session", title="The whole id")
    assert memory.show(["session"])[0].id == "session"
    memory.forget(["session-tokens-5fps2b"])
    memory.save(id="session-tokens-5fps2b-2", title="Another that begins so")
    with pytest.raises(NotFound):
        memory.forget(["session-tokens-5fps2b"])
    assert memory.show(["session-tokens-5fps2b-2"])


def test_a_day_is_a_day_and_no_part_of_an_id(memory: Recollect) -> None:
    assert memory.timeline("friday").around is None
    assert memory.timeline("friday-d").around is not None


def test_a_purge_needs_the_whole_id(memory: Recollect) -> None:
    with pytest.raises(NotFound):
        memory.forget(["5fps2b"], purge=True)
    assert memory.show([TOKENS])


def test_a_caller_who_may_not_read_learns_no_id(memory: Recollect) -> None:
    writer = memory.acting_as(Caller(name="w", capabilities=frozenset({WRITE, DELETE})))
    for part in ("5fps2b", "session"):
        with pytest.raises(NotFound, match=f"There is no memory '{part}'"):
            writer.forget([part])
    reader = memory.acting_as(Caller(name="r", capabilities=frozenset({SEARCH})))
    assert reader.show(["5fps2b"])[0].id == TOKENS
    memory.forget([TOKENS])
    with pytest.raises(NotFound, match="There is no memory '5fps2b'"):
        reader.show(["5fps2b"])
