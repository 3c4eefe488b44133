"""mem0: the fixtures were written by mem0ai 2.2.1 with qdrant-client 1.20.0 (vectors of 4 numbers
and no language model): `Memory.get_all()` as JSON, `history.db` and `storage.sqlite` as SQL."""

from __future__ import annotations

import json
import pickle
import sqlite3
from functools import partial
from pathlib import Path

import pytest
from taking import read_all

from recollect.errors import UserError
from recollect.ingest.exchange import ImportedRecord
from recollect.plugins.importers.mem0 import IMPORTER

FIXTURES = Path(__file__).parent / "fixtures" / "mem0"
TEA, BOILER, NOTED = (
    "mem0-d7b7f839-6bbe-4ab9-ba97-a8d92835b8bb",
    "mem0-e59f91b6-1735-480c-a80a-08780b83c440",
    "mem0-41fb6714-8a1d-4a24-a741-4f10b479b8cf",
)


def build(file: Path, name: str, *more: str, blobs: tuple[bytes, ...] = ()) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(file) as connection:
        connection.executescript((FIXTURES / name).read_text())
        for statement in more:
            connection.execute(statement)
        for number, blob in enumerate(blobs):
            connection.execute("INSERT INTO points VALUES (?, ?)", (f"more{number}", blob))
    connection.close()
    return file


def store(folder: Path, *blobs: bytes) -> Path:
    build(folder / "collection" / "mem0" / "storage.sqlite", "storage.sql", blobs=blobs)
    return folder


def write_json(folder: Path, value: object) -> Path:
    file = folder / "all.json"
    file.write_text(json.dumps(value))
    return file


read = partial(read_all, IMPORTER)


def by_id(found: list[ImportedRecord]) -> dict[object, ImportedRecord]:
    return {taken.fields["id"]: taken for taken in found if taken.fields is not None}


FULL = {
    "id": TEA,
    "source": "kitchen",
    "text": "Ada prefers green tea",
    "space": "ada",
    "tags": ["food", "drink"],
    "created_at": "2026-11-15T15:02:22.613260Z",
    "updated_at": "2026-11-15T15:02:22.636671Z",
}


def test_a_memory_of_get_all_keeps_every_field() -> None:
    found = by_id(read(FIXTURES / "get_all.json"))
    assert set(found) == {TEA, BOILER, NOTED}
    assert found[TEA] == ImportedRecord("memory 2", FULL, "", ("metadata.n", "run_id", "role"))
    assert found[BOILER].unmapped == ("actor_id", "role")


def test_a_point_of_the_vector_store_keeps_every_field(tmp_path: Path) -> None:
    found = by_id(read(store(tmp_path)))
    assert set(found) == {TEA, BOILER, NOTED}
    assert found[TEA] == ImportedRecord("mem0, row 3", FULL, "", ("n", "run_id", "role"))


def test_the_history_gives_what_each_memory_says_last_and_nothing_deleted(tmp_path: Path) -> None:
    found = by_id(read(build(tmp_path / "history.db", "history.sql")))
    assert set(found) == {TEA, BOILER, NOTED}
    fields = {name: FULL[name] for name in FULL if name not in ("space", "tags")}
    assert found[TEA] == ImportedRecord(
        "history, row 4", fields | {"source": "mem0"}, "", ("role",)
    )


def test_all_three_give_the_same_ids_so_that_none_makes_twins_of_another(tmp_path: Path) -> None:
    store(tmp_path / "qdrant")
    build(tmp_path / "history.db", "history.sql")
    ways = [tmp_path, tmp_path / "history.db", tmp_path / "qdrant", FIXTURES / "get_all.json"]
    assert [set(by_id(read(way))) for way in ways] == [{TEA, BOILER, NOTED}] * 4
    assert read(tmp_path) == read(tmp_path / "qdrant"), "The store knows more than the history."


def test_what_the_platform_gives_is_mapped_as_well(tmp_path: Path) -> None:
    """Field names of https://docs.mem0.ai/api-reference/memory/v1-get-memories."""
    one = {
        "id": "m1",
        "memory": "Grace flies on Friday",
        "app_id": "travel",
        "categories": ["plans"],
        "expiration_date": "2026-12-31",
        "immutable": False,
        "owner": "o",
        "metadata": {"category": "plans"},
    }
    (taken,) = read(write_json(tmp_path, [one]))
    assert taken.fields == {
        "id": "mem0-m1",
        "source": "mem0",
        "text": "Grace flies on Friday",
        "project": "travel",
        "tags": ["plans"],
        "valid_until": "2027-01-01T00:00:00Z",
    }
    assert taken.unmapped == ("immutable", "owner")


def test_bad_memories_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = {"id": 7, "memory": "Good", "created_at": "yesterday", "metadata": "odd"}
    found = read(write_json(tmp_path, {"results": [1, {"memory": "No id"}, {"id": "x"}, good]}))
    assert [taken.reason for taken in found] == [
        "It is not a JSON object.", "It has no id.", "It has neither a title nor a text.", "",
    ]  # fmt: skip
    assert found[3].fields == {"id": "mem0-7", "source": "mem0", "text": "Good"}
    assert found[3].unmapped == ("created_at", "metadata")


def test_a_point_that_is_a_program_is_named_and_not_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.write_text, (tmp_path / "ran", "x"))

    trap = pickle.dumps(Trap())
    found = read(store(tmp_path, trap, b"junk", b"\xff\xfe", pickle.dumps({"payload": 1})))
    assert [taken.reason for taken in found if taken.fields is None] == [
        "It is not a point of qdrant.",
        "It is not a point of qdrant.",
        "It cannot be read: It is not a pickle that holds only data.",
        "It is not a point of qdrant.",
    ]
    assert len(by_id(found)) == 3
    assert not (tmp_path / "ran").exists()


def test_collections_beside_the_memories_are_left_out(tmp_path: Path) -> None:
    store(tmp_path)
    for name in ("mem0_entities", "mem0migrations"):
        build(tmp_path / "collection" / name / "storage.sqlite", "storage.sql")
    assert len(read(tmp_path)) == 3


def test_a_linked_store_is_not_followed(tmp_path: Path) -> None:
    store(tmp_path / "elsewhere")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "storage.sqlite").symlink_to(
        tmp_path / "elsewhere" / "collection" / "mem0" / "storage.sqlite"
    )
    with pytest.raises(UserError, match="holds neither"):
        read(tmp_path / "here")


def test_a_change_of_no_memory_is_named(tmp_path: Path) -> None:
    nameless = "UPDATE history SET memory_id = NULL WHERE rowid = 2"
    found = read(build(tmp_path / "history.db", "history.sql", nameless))
    assert [taken.reason for taken in found] == ["It has no memory_id.", "", ""]


def test_what_mem0_did_not_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text('{"a": 1}')
    (tmp_path / "bad.json").write_bytes(b"{oops")
    (tmp_path / "folder").mkdir()
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE other (id)")
    connection.close()
    for name, reason in {
        "list.json": "holds no list of memories",
        "bad.json": "is not valid JSON",
        "folder": "holds neither history.db nor a local vector store",
        "other.db": "neither a table 'history' nor 'points'",
        "missing": "There is no file or folder",
    }.items():
        with pytest.raises(UserError, match=reason):
            read(tmp_path / name)
