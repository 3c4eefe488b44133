"""MCP memory, both of them. `memory.jsonl` was written by `@modelcontextprotocol/server-memory`
2026.8.31; `service.sql` holds what mcp-memory-service 12.4.0 wrote, and a few rows more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from importer_fixtures import FIXTURES, build, fields, read_all, reasons

from recollect.plugins.importers.mcp_memory import IMPORTER

HERE = FIXTURES / "mcp-memory"
GRAPH = HERE / "memory.jsonl"
SERVICE = (HERE / "service.sql").read_text(encoding="utf-8")


@pytest.fixture
def service(tmp_path: Path) -> Path:
    return build(tmp_path / "sqlite_vec.db", SERVICE)


def written(folder: Path, *lines: object) -> Path:
    path = folder / "memory.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def entity(name: object, *observations: object) -> dict[str, object]:
    return {"type": "entity", "name": name, "entityType": "e", "observations": observations}


# --- the knowledge graph ------------------------------------------------------------------------


def test_every_entity_is_a_memory_with_its_observations_and_relations() -> None:
    ada, lighthouse, grace = fields(IMPORTER, GRAPH)
    assert ada == {
        "id": ada["id"],
        "title": "Ada Lovelace",
        "text": "Wrote the first program\nSpeaks French and English",
        "details": "Relations:\n- works on lighthouse",
        "kind": "person",
        "source": "mcp-memory",
    }
    assert lighthouse == {
        "id": "mcp-memory-lighthouse",
        "title": "lighthouse",
        "text": "Deploys on Fridays\nThe lamp listens on port 8080 – «night» only",
        "kind": "project",
        "source": "mcp-memory",
    }
    assert grace["details"] == "Relations:\n- knows Ada Lovelace"
    assert not any(one.unmapped for one in read_all(IMPORTER, GRAPH))


def test_an_entity_that_learned_more_keeps_its_id(tmp_path: Path) -> None:
    before = fields(IMPORTER, written(tmp_path, entity("a b", "one")))
    after = fields(IMPORTER, written(tmp_path, entity("x"), entity("a b", "one", "two")))
    assert before[0]["id"] == after[1]["id"]


def test_names_with_the_same_slug_are_different_memories(tmp_path: Path) -> None:
    path = written(
        tmp_path, entity("a b"), entity("a-b"), entity("a_b!"), entity("日本"), entity("日")
    )
    assert len(fields(IMPORTER, path)) == 5


def test_a_relation_that_begins_nowhere_is_a_memory_of_its_own(tmp_path: Path) -> None:
    relation = {"type": "relation", "from": "Grace", "to": "Ada", "relationType": "knows"}
    (only,) = fields(IMPORTER, written(tmp_path, relation))
    assert (only["title"], only["kind"]) == ("Grace knows Ada", "relation")


def test_bad_lines_are_named_and_the_rest_goes_in(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        entity("a", "one"),
        "{",
        "[]",
        "",
        {"type": "note", "name": "x"},
        {"type": "relation", "from": {}, "to": "a", "relationType": "r"},
        entity("", "one"),
        entity({}, "one"),
        entity("a", "again"),
        entity("b", "one", 2, {}, None),
    )
    with path.open("ab") as stream:
        stream.write(b'\n{"type": "entity", "name": "\xff"}')
    assert [where.rpartition(" ")[2] for where, _ in reasons(IMPORTER, path)] == [
        "2", "3", "5", "6", "7", "8", "9", "11",
    ]  # fmt: skip
    first, second = (one for one in read_all(IMPORTER, path) if one.fields)
    assert (first.fields or {})["text"] == "one"
    assert (second.fields or {})["text"] == "one\n2"
    assert second.unmapped == ("observations",)


def test_what_a_newer_server_adds_is_named(tmp_path: Path) -> None:
    newer = entity("a", "one") | {"createdAt": "2026-03-01", "empty": []}
    assert read_all(IMPORTER, written(tmp_path, newer))[0].unmapped == ("createdAt",)


# --- the service --------------------------------------------------------------------------------


def test_every_field_of_the_service_that_has_a_place_gets_it(service: Path) -> None:
    lamp, fridays, mondays, _ = fields(IMPORTER, service)
    assert lamp == {
        "id": "mcp-memory-2fc0580185caa77717e48052ecc680f05eb0caffe8cbf18184f22479535db930",
        "text": "The lamp listens on port 8080.\nAt night only.",
        "tags": ["lamp", "ops"],
        "kind": "decision",
        "project": "lighthouse",
        "source": "claude-code",
        "created_at": "2026-03-01T09:30:00.250000Z",
        "updated_at": "2026-03-02T09:30:00Z",
    }
    assert fridays["source"] == "mcp-memory"
    assert mondays == {
        "id": "mcp-memory-b4",
        "text": "Deploys happen on Mondays",
        "space": "harbour",
        "source": "mcp-memory",
        "created_at": "2026-03-01T09:30:00Z",
        "updated_at": "2026-03-02T09:30:00Z",
        "valid_until": "2026-03-02T09:30:00Z",
    }


def test_a_belief_is_a_memory_and_one_that_is_superseded_is_over(service: Path) -> None:
    belief = read_all(IMPORTER, service)[3]
    assert belief.fields == {
        "id": "mcp-memory-belief-be1",
        "text": "The week ends with a deploy",
        "kind": "belief",
        "source": "mcp-memory",
        "created_at": "2026-03-01T09:30:00Z",
        "updated_at": "2026-03-02T09:30:00Z",
        "valid_until": "2026-03-02T09:30:00Z",
    }
    assert set(belief.unmapped) == {"confidence", "status", "derived_from"}


def test_what_has_no_place_in_the_service_is_named(service: Path) -> None:
    unmapped = [set(one.unmapped) for one in read_all(IMPORTER, service)]
    assert unmapped[:2] == [{"metadata.hostname"}, {"memory_graph"}]
    versions = {"parent_id", "version", "confidence", "last_accessed", "superseded_by"}
    assert unmapped[2] == versions | {"memory_graph"}


def test_what_was_deleted_stays_deleted(service: Path) -> None:
    assert "An old wrong thing" not in {one.get("text") for one in fields(IMPORTER, service)}


def test_a_database_from_before_the_later_columns_is_read(tmp_path: Path) -> None:
    early = """
        CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT, content TEXT, tags TEXT,
            memory_type TEXT, metadata TEXT, created_at REAL, created_at_iso TEXT);
        INSERT INTO memories VALUES (1, 'h', 'C', '', NULL, '{"title": "T"}', 1772357400, NULL);
    """
    assert fields(IMPORTER, build(tmp_path / "sqlite_vec.db", early)) == [
        {
            "id": "mcp-memory-h",
            "title": "T",
            "text": "C",
            "source": "mcp-memory",
            "created_at": "2026-03-01T09:30:00Z",
        }
    ]


def test_odd_rows_are_named_and_the_rest_goes_in(service: Path) -> None:
    odd = """
        INSERT INTO memories (content_hash, content, metadata, created_at, tags) VALUES
            ('', 'C', '{}', 1, ''), ('e', ' ', '{}', 1, ''),
            ('f', 'C', 'not JSON', 'soon', CAST(x'ff' AS TEXT)),
            ('g', CAST(x'ff41' AS TEXT), '[]', 1e300, 'a,,a, b');
    """
    build(service, odd)
    found = read_all(IMPORTER, service)
    assert [one.reason for one in found if one.fields is None] == [
        "It has no content_hash.",
        "It has neither a title nor a text.",
        "It has neither a title nor a text.",
    ]
    (kept,) = [one for one in found if one.fields and one.fields["id"] == "mcp-memory-f"]
    assert set(kept.unmapped) == {"metadata", "created_at", "tags"}


def test_an_empty_graph_holds_nothing(tmp_path: Path) -> None:
    assert read_all(IMPORTER, written(tmp_path)) == []
