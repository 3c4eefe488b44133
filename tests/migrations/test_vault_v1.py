"""A vault of version 1, committed as it was made: every later version opens it, losing nothing."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.engine import Recollect
from recollect.ingest.exchange import as_line
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.migration import VERSION
from recollect.types import Filter, Memory

HERE = Path(__file__).parent
VAULT = HERE / "vault-v1.db"
HELD: dict[str, Any] = json.loads((HERE / "vault-v1.json").read_text(encoding="utf-8"))
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
LIVE = [one for one in HELD["memories"] if one["id"] not in HELD["forgotten"]]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    """A copy of the vault, opened by today's code."""
    shutil.copyfile(VAULT, tmp_path / "vault.db")
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=OFF) as opened:
        yield opened


def as_held(memory: Memory) -> dict[str, Any]:
    """A memory as it is exported, without fields that version 1 did not know."""
    exported = json.loads(as_line(memory))
    return {name: exported[name] for name in LIVE[0]}


def vector_of(memory: Recollect, id: str) -> list[float] | None:
    """A memory's vector, read from its cosines with the axes."""
    parts = [
        memory.store.vectors.similarities(HELD["model"], axis, [id]).get(id)
        for axis in np.eye(4, dtype=np.float32)
    ]
    return None if None in parts else [part for part in parts if part is not None]


def test_the_migrated_schema_is_that_of_a_new_vault(memory: Recollect, tmp_path: Path) -> None:
    with Recollect(tmp_path / "new.db", home=tmp_path, settings=OFF) as new:
        assert schema(memory) == schema(new)


def schema(memory: Recollect) -> dict[str, str]:
    """Every table, index, view and trigger, white space, quotes and comments aside."""
    rows = memory.store.database.rows("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    plain = {str(name): re.sub(r"--[^\n]*", "", str(sql)) for name, sql in rows}
    words = {name: " ".join(sql.replace('"', "").split()) for name, sql in plain.items()}
    return {name: re.sub(r" ?([(),]) ?", r"\1", sql) for name, sql in words.items()}


def test_every_memory_is_there_with_every_field(memory: Recollect) -> None:
    assert {one.id: as_held(one) for one in memory.export()} == {one["id"]: one for one in LIVE}


def test_the_forgotten_memory_is_out_of_sight_and_comes_back(memory: Recollect) -> None:
    assert len(memory.search("lighthouse", recipe="router")) == 0
    memory.forget(HELD["forgotten"], undo=True)
    [found] = memory.search("lighthouse", recipe="router")
    assert as_held(found.memory) in HELD["memories"]


def test_every_vector_is_there(memory: Recollect) -> None:
    for id, row in HELD["vectors"].items():
        assert vector_of(memory, id) == pytest.approx(row, abs=1e-6)
    assert vector_of(memory, "bare") is None
    embedded, memories = memory.store.vectors.coverage(HELD["model"])
    assert (embedded, memories) == (len(HELD["vectors"]), len(LIVE))
    nearest = memory.store.vectors.nearest(
        HELD["model"], np.eye(4, dtype=np.float32)[0], 1, Filter()
    )
    assert [one.memory_id for one in nearest] == ["auth-jwt-001"]


def test_the_feedback_is_counted(memory: Recollect) -> None:
    counts = memory.store.feedback.counts()
    assert counts == (HELD["feedback"]["accepted"], HELD["feedback"]["dismissed"])


def test_words_and_tags_are_found(memory: Recollect) -> None:
    for word, ids in {
        "rotates": ["auth-jwt-001"],
        "postgres": ["pool-size"],
        "検索のメモ": ["日本語-メモ"],
    }.items():
        assert [one.id for one in memory.search(word, recipe="covalence")] == ids
    topics = memory.store.topics.carrying(["ops", "JWT", "über"], 9, Filter())
    assert [(one.memory_id, one.score) for one in topics] == [
        ("auth-jwt-001", 2), ("pool-size", 1), ("日本語-メモ", 1),
    ]  # fmt: skip
    assert memory.store.vocabulary.frequencies(["ops", "lighthouse"]) == {"ops": 2}


def test_the_doctor_finds_nothing(memory: Recollect) -> None:
    assert [finding for finding in memory.store.examine() if finding.problem] == []
    assert memory.store.database.connection().pragma("user_version") == VERSION


def test_it_can_be_written_and_rebuilt_like_any_vault(memory: Recollect) -> None:
    memory.save(id="new", title="A new lighthouse", tags=["ops"])
    memory.edit("pool-size", text="Twenty by now.", add_tags=["changed"])
    memory.store.rebuild()
    assert [one.id for one in memory.search("lighthouse", recipe="router")] == ["new"]
    assert vector_of(memory, "pool-size") is None, "Its text changed."
    assert [finding for finding in memory.store.examine() if finding.problem] == []


def test_opening_it_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    shutil.copyfile(VAULT, path)
    Recollect(path, home=tmp_path, settings=OFF).close()
    migrated = path.read_bytes()
    Recollect(path, home=tmp_path, settings=OFF).close()
    assert path.read_bytes() == migrated
