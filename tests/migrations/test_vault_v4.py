"""A vault of version 4, committed as it was made: opening it gives every memory a checksum."""

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
from recollect.store.sqlite.checksums import differing
from recollect.store.sqlite.schema import VERSION

HERE = Path(__file__).parent
VAULT = HERE / "vault-v4.db"
HELD: dict[str, Any] = json.loads((HERE / "vault-v4.json").read_text(encoding="utf-8"))
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


def test_every_memory_gets_a_checksum_of_what_it_is(memory: Recollect) -> None:
    connection = memory.store.database.connection()
    assert len(connection.execute("SELECT DISTINCT checksum FROM memories").fetchall()) == 3
    connection.execute("UPDATE memories SET severity = 'warning' WHERE id = 'jwt'")
    assert [(one.id, one.what) for one in differing(connection)] == [("jwt", "fields")]
