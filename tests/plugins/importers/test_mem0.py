"""mem0: the fixtures were written by mem0ai 2.2.1 with qdrant-client 1.20.0 (vectors of 4 numbers
and no language model): `Memory.get_all()` as JSON, `history.db` and `storage.sqlite` as SQL."""

from __future__ import annotations

import json
import pickle
from functools import partial
from pathlib import Path

from importer_fixtures import FIXTURES, build, read_all, script

from recollect.ingest.exchange import ImportedRecord
from recollect.plugins.importers.mem0 import IMPORTER

GET_ALL = FIXTURES / "mem0" / "get_all.json"
HISTORY, STORAGE = script("mem0/history.sql"), script("mem0/storage.sql")
TEA, BOILER, NOTED = (
    "mem0-d7b7f839-6bbe-4ab9-ba97-a8d92835b8bb",
    "mem0-e59f91b6-1735-480c-a80a-08780b83c440",
    "mem0-41fb6714-8a1d-4a24-a741-4f10b479b8cf",
)


def store(folder: Path, *blobs: bytes) -> Path:
    more = (f"INSERT INTO points VALUES ('{n}', x'{blob.hex()}')" for n, blob in enumerate(blobs))
    build(folder / "collection" / "mem0" / "storage.sqlite", STORAGE, *more)
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
    found = by_id(read(GET_ALL))
    assert set(found) == {TEA, BOILER, NOTED}
    assert found[TEA] == ImportedRecord("memory 2", FULL, "", ("metadata.n", "run_id", "role"))
    assert found[BOILER].unmapped == ("actor_id", "role")


def test_a_point_of_the_vector_store_keeps_every_field(tmp_path: Path) -> None:
    found = by_id(read(store(tmp_path)))
    assert set(found) == {TEA, BOILER, NOTED}
    assert found[TEA] == ImportedRecord("mem0, row 3", FULL, "", ("n", "run_id", "role"))


def test_the_history_gives_what_each_memory_says_last_and_nothing_deleted(tmp_path: Path) -> None:
    found = by_id(read(build(tmp_path / "history.db", HISTORY)))
    assert set(found) == {TEA, BOILER, NOTED}
    fields = {name: FULL[name] for name in FULL if name not in ("space", "tags")}
    assert found[TEA] == ImportedRecord(
        "history, row 4", fields | {"source": "mem0"}, "", ("role",)
    )


def test_all_three_give_the_same_ids_so_that_none_makes_twins_of_another(tmp_path: Path) -> None:
    store(tmp_path / "qdrant")
    build(tmp_path / "history.db", HISTORY)
    ways = [tmp_path, tmp_path / "history.db", tmp_path / "qdrant", GET_ALL]
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
        build(tmp_path / "collection" / name / "storage.sqlite", STORAGE)
    assert len(read(tmp_path)) == 3


def test_a_change_of_no_memory_is_named(tmp_path: Path) -> None:
    nameless = "UPDATE history SET memory_id = NULL WHERE rowid = 2"
    found = read(build(tmp_path / "history.db", HISTORY, nameless))
    assert [taken.reason for taken in found] == ["It has no memory_id.", "", ""]
