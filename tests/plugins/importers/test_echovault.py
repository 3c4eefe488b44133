"""EchoVault. Its package is not on PyPI (the name there is another tool's), so the tables and the
session are written after `src/memory/db.py` and `src/memory/markdown.py` of its repository, 0.5."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from importer_fixtures import FIXTURES, build, fields, first, read_all, reasons

from recollect.plugins.importers.echovault import IMPORTER

HERE = FIXTURES / "echovault"
SCHEMA, ROWS = (HERE / "schema.sql").read_text(), (HERE / "rows.sql").read_text()
PLAYBOOK = "echovault-0b0e8f1c-6f3e-4c43-9a7e-0c5f6d1f2a3b"
COLUMNS = "id, title, what, project, file_path, created_at, updated_at"
TIMES = "'2026-01-01', '2026-01-01'"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return build(tmp_path / "index.db", SCHEMA, ROWS)


def test_every_field_of_the_index_that_has_a_place_gets_it(index: Path) -> None:
    assert fields(IMPORTER, index)[0] == {
        "id": PLAYBOOK,
        "title": "Release playbook",
        "text": "How a release is made",
        "why": "Two releases went wrong",
        "impact": "No more hot fixes",
        "details": (
            "Context: the last two tags were wrong.\n\n"
            "Related files:\n- Makefile\n- docs/release.md\n\n"
            "Links:\n- https://example.org/release\n\n"
            "Steps:\n- bump version\n- run tests\n\nOpen questions:\n- who signs?"
        ),
        "tags": ["release", "ci"],
        "kind": "playbook",
        "project": "lighthouse",
        "source": "claude-code",
        "path": "Makefile",
        "created_at": "2026-03-01T09:30:00.123456Z",
        "updated_at": "2026-03-02T10:00:00Z",
        "valid_from": "2026-03-01T00:00:00Z",
        "valid_until": "2027-03-01T00:00:00Z",
    }


def test_what_has_no_place_is_named(index: Path) -> None:
    unmapped = [set(one.unmapped) for one in read_all(IMPORTER, index)]
    living = {"updated_count", "confidence", "commit_sha", "branch", "last_verified"}
    assert unmapped == [living | {"retrieved_count"}, {"archive_reason", "superseded_by"}]


def test_what_is_archived_was_valid_until_then(index: Path) -> None:
    assert fields(IMPORTER, index)[1] == {
        "id": "echovault-7d3c1b52-21f5-4c8e-8a63-55b6a1f0c9d4",
        "title": "Old port",
        "text": "The lamp listens on 8080",
        "project": "lighthouse",
        "source": "echovault",
        "path": "lamp/serve.py",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "valid_until": "2026-02-01T00:00:00Z",
    }


def test_an_index_of_the_first_version_is_read(tmp_path: Path) -> None:
    first = SCHEMA.partition("    updated_count")[0].rstrip(",\n ") + ")"
    row = f"INSERT INTO memories ({COLUMNS}) VALUES ('a', 'T', 'W', 'p', 'f', {TIMES})"
    path = build(tmp_path / "index.db", first, row)
    (only,) = fields(IMPORTER, path)
    assert (only["id"], only["title"], only["text"]) == ("echovault-a", "T", "W")


def test_odd_values_cost_their_field_and_not_the_memory(tmp_path: Path) -> None:
    row = (
        f"INSERT INTO memories ({COLUMNS}, tags, links, structured_data, why) VALUES "
        "('a b', 'T', 12, 'p', 'f', 'yesterday', '2026-01-01', '[\"x\", {}, 7, \" \"]', '{}', "
        "'[1]', CAST(x'ff41' AS TEXT))"
    )
    path = build(tmp_path / "index.db", SCHEMA, row)
    held, unmapped = first(IMPORTER, path)
    assert held["tags"] == ["x", "7"]
    assert held["text"] == "12"
    assert str(held["id"]).startswith("echovault-a-b-")
    assert set(unmapped) == {"created_at", "tags", "structured_data", "why"}


def test_rows_without_a_name_or_a_word_are_named_and_the_rest_goes_in(tmp_path: Path) -> None:
    script = f"""
        INSERT INTO memories ({COLUMNS}) VALUES ('', 'T', 'W', 'p', 'f', {TIMES});
        INSERT INTO memories ({COLUMNS}) VALUES ('b', ' ', '', 'p', 'f', {TIMES});
        INSERT INTO memories ({COLUMNS}) VALUES ('c', 'T', '', 'p', 'f', {TIMES});
    """
    path = build(tmp_path / "index.db", SCHEMA, script)
    assert reasons(IMPORTER, path) == [
        ("memories, row 1", "It has no id."),
        ("memories, row 2", "It has neither a title nor a text."),
    ]
    assert [one["id"] for one in fields(IMPORTER, path)] == ["echovault-c"]


def test_a_session_is_read_where_there_is_no_index() -> None:
    playbook, port = fields(IMPORTER, HERE / "vault")
    assert playbook == {
        "id": PLAYBOOK,
        "title": "Release playbook",
        "text": "How a release is made",
        "why": "Two releases went wrong",
        "impact": "No more hot fixes",
        "details": "## Context\n\nThe last two tags were wrong.\n\nSteps:\n- bump version",
        "kind": "playbook",
        "project": "lighthouse",
        "source": "claude-code",
        "created_at": "2026-03-01T09:30:00Z",
        "valid_until": "2027-03-01T00:00:00Z",
    }
    assert port["text"] == "The lamp listens on 8080\nand on 8081"
    assert (port["kind"], port["valid_until"]) == ("context", "2026-02-01T00:00:00Z")


def test_what_a_session_says_of_all_its_memories_is_named() -> None:
    first, second = read_all(IMPORTER, HERE / "vault" / "lighthouse")
    assert (set(first.unmapped), set(second.unmapped)) == (
        {"branch", "tags of the session"},
        {"archive_reason", "tags of the session"},
    )


def test_memories_of_older_sessions_keep_their_ids(tmp_path: Path) -> None:
    session = tmp_path / "p" / "2026-01-01-session.md"
    session.parent.mkdir()
    session.write_text("### A\n**What:** one\n\n### A\n**What:** two\n", encoding="utf-8")
    before = [one["id"] for one in fields(IMPORTER, tmp_path)]
    session.write_text(session.read_text() + "\n### B\n**What:** three\n", encoding="utf-8")
    assert [one["id"] for one in fields(IMPORTER, tmp_path)][:2] == before


def test_details_that_are_not_closed_swallow_no_other_memory(tmp_path: Path) -> None:
    session = tmp_path / "2026-01-01-session.md"
    session.write_text("### A\n**What:** one\n<details>\nx\n### B\n**What:** two\n")
    assert [one["text"] for one in fields(IMPORTER, session)] == ["one", "two"]


def test_sessions_that_cannot_be_read_are_named_and_the_rest_goes_in(tmp_path: Path) -> None:
    (tmp_path / "1-session.md").write_bytes(b"### A\n**What:** \xff\n")
    (tmp_path / "2-session.md").write_bytes(b"")
    (tmp_path / "3-session.md").write_bytes(
        b"\xef\xbb\xbf---\r\ntags: [a]\r\n---\r\n### A\r\nx\r\n"
    )
    bad = reasons(IMPORTER, tmp_path)
    assert [where for where, _ in bad] == ["1-session.md", "2-session.md"]
    assert [one["tags"] for one in fields(IMPORTER, tmp_path)] == [["a"]]


def test_a_database_in_use_is_read_or_said_to_be_in_use(index: Path) -> None:
    writer = apsw.Connection(str(index))
    writer.execute("PRAGMA journal_mode = wal; BEGIN IMMEDIATE; DELETE FROM memories").fetchall()
    assert len(read_all(IMPORTER, index)) == 2, "Another's unfinished transaction is not seen."
    writer.close()


def test_what_a_session_says_as_json_stays_in_its_place(tmp_path: Path) -> None:
    session = tmp_path / "2026-01-01-session.md"
    living = '{"title": "X", "confidence": 1}'
    session.write_text(
        f"---\n---\n### A\n**What:** one\n**Living Memory:** {living}\n\n"
        "### B\n**What:** two\n**Living Memory:** [1]\n"
    )
    first, second = read_all(IMPORTER, session)
    assert (first.fields or {})["title"] == "A"
    assert (first.unmapped, second.unmapped) == (("confidence",), ("living",))
