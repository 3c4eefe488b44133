"""MemPalace: the fixtures were written by mempalace 3.11.0 with chromadb 1.5.9 (vectors of four
numbers, because no model was there), as SQL: a drawer, a long one, a diary and a graph through its
tools, and a file that was mined into the backend sqlite_exact. What ChromaDB keeps of collections
beside their names is left out."""

from __future__ import annotations

from pathlib import Path

from importer_fixtures import FIXTURES, build, fields, first, read_all, reasons

from recollect.ingest.exchange import ImportedRecord
from recollect.plugins.importers.mempalace import IMPORTER

HERE = FIXTURES / "mempalace"
CHROMA, EXACT, GRAPH = (
    (HERE / f"{name}.sql").read_text() for name in ("chroma", "sqlite_exact", "knowledge_graph")
)
META = "INSERT INTO embedding_metadata (id, key, string_value) VALUES"


def palace(folder: Path, *more: str) -> Path:
    (folder / "palace").mkdir()
    build(folder / "palace" / "chroma.sqlite3", CHROMA, *more)
    build(folder / "knowledge_graph.sqlite3", GRAPH)
    return folder


def chroma(folder: Path, *more: str) -> Path:
    return build(folder / "any name.db", CHROMA, *more)


def test_a_drawer_keeps_every_field_that_has_a_place(tmp_path: Path) -> None:
    assert read_all(IMPORTER, chroma(tmp_path))[0] == ImportedRecord(
        "embeddings, row 1",
        {
            "id": "mempalace-drawer_harbour_deploys_a2d901cc6951b339ba513507",
            "source": "ada",
            "text": "Deploys go out on Tuesdays, never on Fridays.",
            "project": "harbour",
            "domain": "deploys",
            "path": "/home/ada/harbour.md",
            "created_at": "2026-11-15T15:06:50.150628Z",
            "updated_at": "2026-11-15T15:06:50.150628Z",
        },
    )


def test_a_diary_entry_is_its_agents(tmp_path: Path) -> None:
    assert fields(IMPORTER, chroma(tmp_path))[1] == {
        "id": "mempalace-diary_wing_grace_20261115_150650204598_b92aa669ea33",
        "source": "grace",
        "text": "Learned how the locks work.",
        "kind": "diary_entry",
        "project": "wing_grace",
        "domain": "diary",
        "tags": ["diary", "locks"],
        "created_at": "2026-11-15T15:06:50.204598Z",
        "updated_at": "2026-11-15T15:06:50.204598Z",
    }


def test_a_long_drawer_is_whole_again_whatever_the_order_of_its_rows(tmp_path: Path) -> None:
    swapped = "UPDATE embedding_metadata SET int_value = 2 - int_value WHERE key = 'chunk_index'"
    long = fields(IMPORTER, chroma(tmp_path))[2]
    assert long["id"] == "mempalace-drawer_harbour_long_0b6a075d0e8208f427f002cf"
    assert long["text"] == "A long drawer. " * 120
    assert "context" not in long
    other = build(tmp_path / "swapped.db", CHROMA, swapped)
    assert str(fields(IMPORTER, other)[2]["text"]).startswith("wer. A long drawer.")


def test_a_mined_drawer_says_which_part_of_its_file_it_is(tmp_path: Path) -> None:
    first, second = read_all(IMPORTER, build(tmp_path / "sqlite_exact.sqlite3", EXACT))
    assert first.fields is not None
    assert second.fields is not None
    assert dict(second.fields) | {"text": ""} == {
        "id": "mempalace-drawer_harbour_general_61c85ba200f4b76e6548bffa",
        "source": "mempalace",
        "text": "",
        "project": "harbour",
        "domain": "general",
        "path": "/home/ada/notes.md",
        "tags": ["Grace", "Hopper"],
        "context": "Part 2 of 2\n\nLines 3 to 5",
        "created_at": "2026-11-15T00:00:00Z",
        "updated_at": "2026-11-15T15:16:23.482903Z",
    }


def test_a_fact_of_the_graph_holds_as_long_as_it_is_said_to(tmp_path: Path) -> None:
    source = "UPDATE triples SET source_file = '/a.md', confidence = 0.5, adapter_name = 'x'"
    found = read_all(IMPORTER, build(tmp_path / "graph.db", GRAPH, f"{source} WHERE valid_to > ''"))
    assert found[1] == ImportedRecord(
        "triples, row 2",
        {
            "id": "mempalace-t_ada_lives_in_bergen_ab8b5ef39c32",
            "source": "mempalace",
            "text": "Ada lives in Bergen",
            "kind": "relation",
            "tags": ["Ada", "Bergen"],
            "path": "/a.md",
            "created_at": "2026-11-15T15:06:50Z",
            "valid_from": "2020-05-01T00:00:00Z",
            "valid_until": "2026-02-16T00:00:00Z",
        },
        unmapped=("confidence", "adapter_name"),
    )


def test_an_entity_of_which_something_is_known_is_a_memory(tmp_path: Path) -> None:
    known = "UPDATE entities SET type = 'person', properties = '{\"port\": 7, \"odd\": []}'"
    path = build(tmp_path / "graph.db", GRAPH, f"{known} WHERE id = 'ada'")
    first = read_all(IMPORTER, path)[0]
    assert first.fields == {
        "id": "mempalace-entity-ada",
        "source": "mempalace",
        "kind": "entity",
        "title": "Ada",
        "text": "type: person\n\nport: 7",
        "created_at": "2026-11-15T15:06:50Z",
    }
    assert first.unmapped == ("properties.odd",)


def test_the_whole_folder_is_read_and_again_gives_the_same(tmp_path: Path) -> None:
    palace(tmp_path)
    found = read_all(IMPORTER, tmp_path)
    assert [one.where.split(",")[0] for one in found] == ["embeddings"] * 3 + ["triples"] * 2
    assert read_all(IMPORTER, tmp_path) == found
    assert len(read_all(IMPORTER, tmp_path / "palace")) == 3


def test_closets_and_notes_of_the_miner_are_left_out(tmp_path: Path) -> None:
    path = chroma(
        tmp_path,
        "INSERT INTO collections (id, name, database_id) VALUES ('c', 'mempalace_closets', 'd')",
        "INSERT INTO segments VALUES ('s', 'sqlite', 'METADATA', 'c')",
        "INSERT INTO embeddings (id, segment_id, embedding_id, seq_id) VALUES (9, 's', 'x', 9)",
        f"{META} (9, 'chroma:document', 'An index')",
        "INSERT INTO embedding_metadata (id, key, bool_value) VALUES (1, 'is_sentinel', 1)",
        "UPDATE embedding_metadata SET string_value = '_registry' WHERE id = 5 AND key = 'room'",
    )
    assert len(read_all(IMPORTER, path)) == 1


def test_when_it_was_written_counts_and_what_is_unknown_is_named(tmp_path: Path) -> None:
    path = chroma(
        tmp_path,
        f"{META} (1, 'authored_at', '2024-05-01T10:00:00Z'), (1, 'ingest_mode', 'convos')",
        "INSERT INTO embedding_metadata (id, key, float_value) VALUES (1, 'importance', 0.5)",
    )
    held, unmapped = first(IMPORTER, path)
    assert held["created_at"] == "2024-05-01T10:00:00Z"
    assert unmapped == ("ingest_mode", "importance")


def test_odd_values_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = chroma(
        tmp_path,
        "UPDATE embedding_metadata SET string_value = CAST(x'ff' AS TEXT)"
        " WHERE id = 5 AND key = 'chroma:document'",
        "UPDATE embedding_metadata SET string_value = 'soon' WHERE id = 1 AND key = 'filed_at'",
    )
    assert reasons(IMPORTER, path) == [("embeddings, row 5", "It has neither a title nor a text.")]
    held, unmapped = first(IMPORTER, path)
    assert "created_at" not in held
    assert unmapped == ("filed_at",)


def test_a_fact_without_an_object_is_named(tmp_path: Path) -> None:
    path = build(tmp_path / "graph.db", GRAPH, "UPDATE triples SET object = '' WHERE rowid = 1")
    ((_, reason),) = reasons(IMPORTER, path)
    assert reason == "It lacks its subject, its predicate or its object."


def test_an_older_chromadb_is_read(tmp_path: Path) -> None:
    older = "ALTER TABLE embedding_metadata DROP COLUMN bool_value"
    assert fields(IMPORTER, chroma(tmp_path, older)) == fields(
        IMPORTER, build(tmp_path / "new.db", CHROMA)
    )
