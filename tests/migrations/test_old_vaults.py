"""Vaults of earlier versions, committed as they were made: today's code opens each, and nothing of
it is lost."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.engine import Recollect
from recollect.ingest.exchange import as_line
from recollect.query.subwords import subwords_query
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.base import COLUMNS, KeywordQuery
from recollect.store.sqlite.checksums import find_altered
from recollect.store.sqlite.migration import VERSION
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.merging import Merger
from recollect.types import Filter

HERE = Path(__file__).parent
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
AXES = np.eye(4, dtype=np.float32)
Open = Callable[[int], Recollect]


def read_content(version: int) -> dict[str, Any]:
    """Return what the vault of that version held when it was made."""
    found: dict[str, Any] = json.loads((HERE / f"vault-v{version}.json").read_text("utf-8"))
    return found


@pytest.fixture
def open_vault(tmp_path: Path) -> Iterator[Open]:
    """Open a copy of the vault of a version; a second call opens the same copy again."""
    opened: list[Recollect] = []

    def open_copy(version: int) -> Recollect:
        if not (tmp_path / "vault.db").exists():
            shutil.copyfile(HERE / f"vault-v{version}.db", tmp_path / "vault.db")
        opened.append(Recollect(tmp_path / "vault.db", home=tmp_path / "home", settings=OFF))
        return opened[-1]

    yield open_copy
    for memory in opened:
        memory.close()


def check_nothing_is_lost(memory: Recollect, version: int) -> None:
    content = read_content(version)
    live = {one["id"]: one for one in content["memories"] if one["id"] not in content["forgotten"]}
    exported = {one.id: json.loads(as_line(one)) for one in memory.export()}
    assert {id: {name: one[name] for name in live[id]} for id, one in exported.items()} == live
    vectors, feedback = content["vectors"], content["feedback"]
    count = vectors if isinstance(vectors, int) else len(vectors)
    given = feedback.values() if isinstance(feedback, dict) else feedback
    assert memory.store.vectors.coverage(content["model"]) == (count, len(live))
    assert memory.store.feedback.counts() == tuple(given)
    assert memory.store.database.connection().pragma("user_version") == VERSION
    assert problems(memory) == []


def problems(memory: Recollect) -> list[object]:
    return [finding for finding in memory.store.examine() if finding.problem]


def search_ids(memory: Recollect, query: str, recipe: str = "router") -> list[str]:
    return [result.id for result in memory.search(query, recipe=recipe)]


def schema(memory: Recollect) -> dict[str, str]:
    """Every table, index, view and trigger, white space, quotes and comments aside."""
    rows = memory.store.database.rows("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    plain = {str(name): re.sub(r"--[^\n]*", "", str(sql)) for name, sql in rows}
    words = {name: " ".join(sql.replace('"', "").split()) for name, sql in plain.items()}
    return {name: re.sub(r" ?([(),]) ?", r"\1", sql) for name, sql in words.items()}


@pytest.mark.parametrize("version", range(1, VERSION))
def test_nothing_is_lost_and_opening_again_changes_nothing(
    version: int, open_vault: Open, tmp_path: Path
) -> None:
    memory = open_vault(version)
    check_nothing_is_lost(memory, version)
    memory.close()
    migrated = (tmp_path / "vault.db").read_bytes()
    open_vault(version).close()
    assert (tmp_path / "vault.db").read_bytes() == migrated


def test_the_migrated_schema_is_that_of_a_new_vault(open_vault: Open, tmp_path: Path) -> None:
    with Recollect(tmp_path / "new.db", home=tmp_path, settings=OFF) as new:
        assert schema(open_vault(1)) == schema(new)


def test_v1_a_forgotten_memory_is_not_found_and_comes_back(open_vault: Open) -> None:
    memory, content = open_vault(1), read_content(1)
    assert search_ids(memory, "lighthouse") == []
    memory.forget(content["forgotten"], undo=True)
    [found] = memory.search("lighthouse", recipe="router")
    exported = json.loads(as_line(found.memory))
    assert {name: exported[name] for name in content["memories"][0]} in content["memories"]


def test_v1_every_vector_is_there(open_vault: Open) -> None:
    vectors, content = open_vault(1).store.vectors, read_content(1)
    for id, row in content["vectors"].items():
        cosines = [vectors.similarities(content["model"], axis, [id])[id] for axis in AXES]
        assert cosines == pytest.approx(row, abs=1e-6)
    assert vectors.similarities(content["model"], AXES[0], ["bare"]) == {}
    nearest = vectors.nearest(content["model"], AXES[0], 1, Filter())
    assert [one.memory_id for one in nearest] == ["auth-jwt-001"]


def test_v1_words_and_tags_are_found(open_vault: Open) -> None:
    memory = open_vault(1)
    for word, ids in {
        "rotates": ["auth-jwt-001"],
        "postgres": ["pool-size"],
        "検索のメモ": ["日本語-メモ"],
    }.items():
        assert search_ids(memory, word, "covalence") == ids
    topics = memory.store.topics.carrying(["ops", "JWT", "über"], 9, Filter())
    assert [(one.memory_id, one.score) for one in topics] == [
        ("auth-jwt-001", 2), ("pool-size", 1), ("日本語-メモ", 1),
    ]  # fmt: skip
    assert memory.store.vocabulary.frequencies(["ops", "lighthouse"]) == {"ops": 2}


def test_v1_can_be_written_and_rebuilt_like_any_vault(open_vault: Open) -> None:
    memory = open_vault(1)
    memory.save(id="new", title="A new lighthouse", tags=["ops"])
    memory.edit("pool-size", text="Twenty by now.", add_tags=["changed"])
    memory.store.rebuild()
    assert search_ids(memory, "lighthouse") == ["new"]
    similar = memory.store.vectors.similarities(read_content(1)["model"], AXES[0], ["pool-size"])
    assert similar == {}, "Its text changed."
    assert problems(memory) == []


def test_v2_opening_fills_the_index_of_subwords(open_vault: Open) -> None:
    memory = open_vault(2)

    def found(query: str) -> list[str]:
        weights = dict.fromkeys(COLUMNS["subwords"], 1.0)
        asked = KeywordQuery("subwords", subwords_query(query), weights, 9, Filter())
        return [one.memory_id for one in memory.store.keyword.match(asked).matches]

    for id, queries in {
        "sync": ("file sync service", "FileSyncRetry", "UTF-8", "filesync", "HTTPServer"),
        "会議-メモ": ("東京タワー", "会議", "ภาษา"),
        "korean": ("검색",),
    }.items():
        assert [found(query) for query in queries] == [[id]] * len(queries)
    rows = memory.store.database.rows(
        "SELECT m.id FROM parts_docsize p JOIN memories m ON m.key = p.id ORDER BY m.id"
    )
    assert [id for (id,) in rows] == ["korean", "sync", "会議-メモ"], "Not prose, nor forgotten."
    memory.forget(read_content(2)["forgotten"], undo=True)
    assert found("camel") == ["gone"]


def test_v3_a_folder_can_be_added_and_earlier_file_memories_belong_to_none(
    open_vault: Open, tmp_path: Path
) -> None:
    memory, notes = open_vault(3), tmp_path / "notes"
    notes.mkdir()
    (notes / "tides.md").write_text("# Tides\n\nThe tables are in the harbour office.\n")
    assert memory.folders() == []
    memory.add_folder(notes)
    [found] = memory.search("tide tables", limit=1)
    assert (found.memory.title, found.memory.tier) == ("tides.md", "file")
    [found] = memory.search("roadmap", limit=1)
    assert (found.id, found.file) == ("roadmap", None)


def test_v4_every_memory_gets_its_checksum(open_vault: Open) -> None:
    connection = open_vault(4).store.database.connection()
    assert len(connection.execute("SELECT DISTINCT checksum FROM memories").fetchall()) == 3
    connection.execute("UPDATE memories SET severity = 'warning' WHERE id = 'jwt'")
    assert [(one.id, one.what) for one in find_altered(connection)] == [("jwt", "fields")]


def test_v5_the_next_merge_makes_a_segment_of_the_words_in_fts5(
    open_vault: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_vault(5)
    monkeypatch.setattr(buffer, "FIRST", 3)
    Merger(memory.store.database).run()
    assert memory.store.database.rows("SELECT ready, last FROM segments") == [(1, 3)]
    assert search_ids(memory, "sessions", "blend") == ["jwt"]
    check_nothing_is_lost(memory, 5)


def test_v6_words_of_a_segment_without_a_checksum_are_found(open_vault: Open) -> None:
    memory = open_vault(6)
    assert memory.store.database.rows("SELECT * FROM segments") == []
    assert search_ids(memory, "sessions", "blend") == ["jwt"]
    memory.save(id="new", title="Counted as well")
    assert problems(memory) == []


def test_v7_history_begins_and_a_backup_is_made(open_vault: Open, tmp_path: Path) -> None:
    memory = open_vault(7)
    assert search_ids(memory, "sessions", "blend") == ["jwt"]
    assert memory.store.database.rows("SELECT action FROM writes") == [("migrate",)]
    assert memory.store.database.rows("SELECT * FROM versions") == []
    [(begun, began)] = memory.store.database.rows(
        "SELECT m.value, w.at FROM meta m, writes w WHERE m.key = 'history_from'"
    )
    assert begun == str(began)
    assert len(list(tmp_path.glob("backups/vault-v7-*.db"))) == 1


def test_v8_the_schema_can_be_read_by_sqlite_before_3_44(open_vault: Open, tmp_path: Path) -> None:
    memory = open_vault(8)
    assert len(memory.history("jwt")) == 2
    assert memory.store.candidates.waiting() == []
    assert search_ids(memory, "sessions", "blend") == ["jwt"]
    memory.save(id="new", title="Indexed by the new view", tags=["z", "a"])
    assert search_ids(memory, "z a") == ["new"]
    memory.close()
    other = sqlite3.connect(tmp_path / "vault.db")
    tags = other.execute("SELECT tags FROM indexed WHERE id = 'jwt'").fetchall()
    other.close()
    assert tags == [("tokens auth zeal again",)]


def test_v9_memories_are_counted_without_kept_counts(open_vault: Open) -> None:
    memory = open_vault(9)
    assert memory.facets().project == {"harbor": 2}
    assert memory.facets().tags["Gate"] == 1
    assert memory.stats()["forgotten"] == 1
    memory.save(id="new", title="Another", project="harbor", tags=["gate"])
    assert memory.facets().project == {"harbor": 3}
    assert memory.facets().tags["Gate"] == 2


def test_v10_vectors_without_tokens_serve(open_vault: Open) -> None:
    memory = open_vault(10)
    identity = memory.store.vectors.model()
    assert identity is not None
    stored = memory.store.vectors.read_vectors(identity, [one.id for one in memory.export()])
    assert stored
    assert not any(one.tokens for each in stored.values() for one in each)


def test_v11_each_vector_gets_a_code(open_vault: Open) -> None:
    memory = open_vault(11)
    vectors, identity = memory.store.vectors, memory.store.vectors.model()
    assert identity is not None
    stored = vectors.read_vectors(identity, [one.id for one in memory.export()])
    assert len(stored) > 1
    for id, [one] in stored.items():
        best = vectors.nearest(identity, one.vector, 1, Filter())
        assert [near.memory_id for near in best] == [id]
