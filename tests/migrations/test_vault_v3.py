"""A vault of version 3, committed as it was made: opening it makes room for folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.engine import Recollect
from recollect.ingest.jsonl import as_line
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.schema import VERSION

HERE = Path(__file__).parent
VAULT = HERE / "vault-v3.db"
HELD: dict[str, Any] = json.loads((HERE / "vault-v3.json").read_text(encoding="utf-8"))
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
LIVE = {one["id"]: one for one in HELD["memories"] if one["id"] not in HELD["forgotten"]}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    """A copy of the vault, opened by today's code."""
    shutil.copyfile(VAULT, tmp_path / "vault.db")
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=OFF) as opened:
        yield opened


def test_nothing_is_lost(memory: Recollect) -> None:
    exported = {one.id: json.loads(as_line(one)) for one in memory.export()}
    assert {id: {name: one[name] for name in LIVE[id]} for id, one in exported.items()} == LIVE
    assert memory.store.vectors.coverage(HELD["model"]) == (HELD["vectors"], len(LIVE))
    assert memory.store.feedback.counts() == tuple(HELD["feedback"])
    assert memory.store.database.connection().pragma("user_version") == VERSION
    assert [finding for finding in memory.store.examine() if finding.problem] == []


def test_a_folder_can_be_added(memory: Recollect, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tides.md").write_text("# Tides\n\nThe tables are in the harbour office.\n")
    assert memory.folders() == []
    memory.add_folder(notes)
    [found] = memory.search("tide tables", limit=1)
    assert (found.memory.title, found.memory.tier) == ("tides.md", "file")


def test_a_file_memory_of_before_is_no_part_of_a_folder(memory: Recollect) -> None:
    [found] = memory.search("roadmap", limit=1)
    assert (found.id, found.file) == ("roadmap", None)
