"""A vault of version 2, committed as it was made: opening it fills the index of subwords."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.engine import Recollect
from recollect.ingest.exchange import as_line
from recollect.query.subwords import subwords_query
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.base import COLUMNS, KeywordQuery
from recollect.store.sqlite.migration import VERSION
from recollect.types import Filter

HERE = Path(__file__).parent
VAULT = HERE / "vault-v2.db"
HELD: dict[str, Any] = json.loads((HERE / "vault-v2.json").read_text(encoding="utf-8"))
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
LIVE = {one["id"]: one for one in HELD["memories"] if one["id"] not in HELD["forgotten"]}
WEIGHTS = dict.fromkeys(COLUMNS["subwords"], 1.0)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    """A copy of the vault, opened by today's code."""
    shutil.copyfile(VAULT, tmp_path / "vault.db")
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=OFF) as opened:
        yield opened


def found(memory: Recollect, query: str) -> list[str]:
    match = memory.store.keyword.match(
        KeywordQuery("subwords", subwords_query(query), WEIGHTS, 9, Filter())
    )
    return [one.memory_id for one in match.matches]


def test_nothing_is_lost(memory: Recollect) -> None:
    exported = {one.id: json.loads(as_line(one)) for one in memory.export()}
    assert {id: {name: one[name] for name in LIVE[id]} for id, one in exported.items()} == LIVE
    assert memory.store.vectors.coverage(HELD["model"]) == (HELD["vectors"], len(LIVE))
    assert memory.store.feedback.counts() == tuple(HELD["feedback"])


@pytest.mark.parametrize(
    ("query", "id"),
    [
        ("file sync service", "sync"),
        ("FileSyncRetry", "sync"),
        ("UTF-8", "sync"),
        ("filesync", "sync"),
        ("HTTPServer", "sync"),
        ("東京タワー", "会議-メモ"),
        ("会議", "会議-メモ"),
        ("ภาษา", "会議-メモ"),
        ("검색", "korean"),
    ],
)
def test_parts_of_what_was_there_before_are_found(memory: Recollect, query: str, id: str) -> None:
    assert found(memory, query) == [id]


def test_prose_and_what_is_forgotten_have_no_row(memory: Recollect) -> None:
    rows = memory.store.database.rows(
        "SELECT m.id FROM parts_docsize p JOIN memories m ON m.key = p.id ORDER BY m.id"
    )
    assert [id for (id,) in rows] == ["korean", "sync", "会議-メモ"]
    memory.forget(HELD["forgotten"], undo=True)
    assert found(memory, "camel") == ["gone"]


def test_the_doctor_finds_nothing(memory: Recollect) -> None:
    assert [finding for finding in memory.store.examine() if finding.problem] == []
    assert memory.store.database.connection().pragma("user_version") == VERSION


def test_opening_it_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    shutil.copyfile(VAULT, path)
    Recollect(path, home=tmp_path, settings=OFF).close()
    migrated = path.read_bytes()
    Recollect(path, home=tmp_path, settings=OFF).close()
    assert path.read_bytes() == migrated
