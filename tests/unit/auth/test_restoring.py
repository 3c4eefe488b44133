"""Forgotten memories are restored only for a caller that may delete, however they are saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.auth.access import HomeAccess
from recollect.auth.audit import Audit
from recollect.auth.capabilities import DELETE, SEARCH, WRITE, Caller
from recollect.errors import Forbidden
from recollect.ingest.draft import make_draft
from recollect.ingest.exchange import raw_lines

WITH_ID = {"id": "tides", "title": "Tides", "text": "High water at noon"}
WITHOUT_ID = {"title": "Moored", "text": "The ferry lies at berth two"}
WAYS: dict[str, Callable[[Recollect], Any]] = {
    "save": lambda memory: memory.save(**WITH_ID),
    "save with other words": lambda memory: memory.save(id="tides", text="Taken over"),
    "save without an id": lambda memory: memory.save(**WITHOUT_ID),
    "save many": lambda memory: memory.save_all(
        [make_draft({"title": "New"}), make_draft(WITH_ID)]
    ),
    "import": lambda memory: memory.import_lines(
        raw_lines([json.dumps(each).encode() + b"\n" for each in ({"title": "New"}, WITH_ID)])
    ),
    "publish": lambda memory: memory.publish(["shared"], "harbour"),
}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Recollect]:
    """A vault in which everything that the ways save was forgotten."""
    (tmp_path / "config.toml").write_text(
        '[embedding]\nprovider = "none"\n[rerank]\nprovider = "none"\n'
        f'[[collections]]\nname = "harbour"\npath = "{tmp_path / "harbour.db"}"\n'
    )
    with Recollect(home=tmp_path, environment={}) as opened:
        opened.save(id="shared", title="Shared with the harbour")
        opened.publish(["shared"], "harbour")
        opened.unpublish(["shared"], "harbour")
        opened.forget([opened.save(**fields).id for fields in (WITH_ID, WITHOUT_ID)])
        yield opened


def acting(engine: Recollect, *capabilities: str) -> Recollect:
    return engine.acting_as(Caller(name="agent", capabilities=frozenset(capabilities)))


@pytest.mark.parametrize("way", WAYS)
def test_writing_alone_does_not_bring_back_what_was_forgotten(engine: Recollect, way: str) -> None:
    before = [*engine.export_all()]
    with pytest.raises(Forbidden, match=r"forgotten.*memory:delete"):
        WAYS[way](acting(engine, SEARCH, WRITE))
    assert [*engine.export_all()] == before
    refused = [
        line for line in Audit(HomeAccess(engine.home)).entries() if line["caller"] == "agent"
    ]
    assert [(line["action"], line["outcome"]) for line in refused] == [("restore", "refused")]


@pytest.mark.parametrize("way", WAYS)
def test_who_may_delete_saves_again_what_was_forgotten(engine: Recollect, way: str) -> None:
    WAYS[way](acting(engine, SEARCH, WRITE, DELETE))
    if way == "publish":
        assert engine.show(["harbour:shared"])
    else:
        assert {memory.title for memory in engine.list()} & {"Tides", "Moored"}


def test_writing_alone_saves_what_is_new_and_what_is_there(engine: Recollect) -> None:
    writer = acting(engine, WRITE)
    writer.save(id="shared", text="More of it")
    assert writer.save(title="Another").id
