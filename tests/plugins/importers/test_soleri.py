"""Soleri. It could not be run here, so the tables and the bundle are written after
`packages/core/src/vault/vault-schema.ts` and `packages/core/src/intelligence/types.ts` of its
repository, vault version 1."""

from __future__ import annotations

from pathlib import Path

import pytest
from importer_fixtures import FIXTURES, build, fields, read_all, reasons

from recollect.plugins.importers.soleri import IMPORTER

HERE = FIXTURES / "soleri"
SCHEMA, ROWS = (HERE / "schema.sql").read_text(), (HERE / "rows.sql").read_text()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return build(tmp_path / "vault.db", SCHEMA, ROWS)


def test_every_field_of_an_entry_that_has_a_place_gets_it(vault: Path) -> None:
    assert fields(IMPORTER, vault)[0] == {
        "id": "soleri-arch-001",
        "title": "Shared mutable settings",
        "text": "Parts that change the settings of others break at a distance.",
        "context": "Whenever a setting is added",
        "why": "Nobody finds who changed it.",
        "details": (
            "Example:\nPass a frozen value.\n\nCounter-example:\nsettings.debug = True\n\n"
            "Applies to:\n- src/**\n- tools/**"
        ),
        "tags": ["settings", "state"],
        "kind": "anti-pattern",
        "severity": "critical",
        "domain": "architecture",
        "source": "soleri",
        "created_at": "2026-03-01T09:30:00Z",
        "updated_at": "2026-03-02T09:30:00Z",
        "valid_from": "2026-03-01T00:00:00Z",
        "valid_until": "2027-03-01T00:00:00Z",
    }


def test_every_field_of_a_session_that_has_a_place_gets_it(vault: Path) -> None:
    assert fields(IMPORTER, vault)[2] == {
        "id": "soleri-mem-1772357400000-abc123",
        "text": "The lamp turns again.",
        "context": "Fixing the lamp",
        "why": "Make the lamp turn",
        "details": (
            "Current state:\nIt turns.\n\nDecisions:\n- Use the old motor\n\n"
            "Next steps:\n- Order a new motor\n\n"
            "Files modified:\n- lamp/turn.py\n- lamp/stop.py"
        ),
        "tags": ["lamp", "motor"],
        "kind": "session",
        "project": "lighthouse",
        "source": "soleri",
        "path": "lamp/turn.py",
        "created_at": "2026-03-01T09:30:00Z",
    }


def test_what_is_archived_was_valid_until_then(vault: Path) -> None:
    _, entry, _, preference = fields(IMPORTER, vault)
    assert (entry["id"], entry["valid_until"]) == ("soleri-arch-000", "2025-10-09T08:53:20Z")
    assert preference["valid_until"] == "2026-03-02T09:30:00Z"


def test_a_project_without_a_name_is_called_after_its_folder(vault: Path) -> None:
    assert fields(IMPORTER, vault)[3]["project"] == "harbour"


def test_what_has_no_place_is_named(vault: Path) -> None:
    unmapped = [set(one.unmapped) for one in read_all(IMPORTER, vault)]
    assert unmapped[0] == {"origin", "tier", "links"}
    assert unmapped[1] == {"archive_reason"}
    assert unmapped[2] == {"tools_used", "vault_entries_referenced"}
    assert unmapped[3] == set()


def test_chats_are_said_to_be_left_out(tmp_path: Path) -> None:
    chat = "INSERT INTO transcript_messages VALUES ('1', 's', 1, 'user', 'hello')"
    path = build(tmp_path / "vault.db", SCHEMA, chat)
    ((where, reason),) = reasons(IMPORTER, path)
    assert where == "transcript_messages"
    assert "not imported" in reason


def test_an_early_vault_without_the_later_columns_is_read(tmp_path: Path) -> None:
    early = """
        CREATE TABLE entries (id TEXT, type TEXT, title TEXT, description TEXT, tags TEXT);
        INSERT INTO entries VALUES ('a', 'rule', 'T', 'D', '["x"]');
    """
    assert fields(IMPORTER, build(tmp_path / "vault.db", early)) == [
        {
            "id": "soleri-a",
            "title": "T",
            "text": "D",
            "kind": "rule",
            "tags": ["x"],
            "source": "soleri",
        }
    ]


def test_an_entry_that_is_archived_and_restored_is_taken_once(vault: Path, tmp_path: Path) -> None:
    copied = "INSERT INTO entries_archive SELECT *, 1, '' FROM (SELECT id, type, domain, title, "
    copied += "severity, description, context, example, counter_example, why, tags, applies_to, "
    copied += "created_at, updated_at, valid_from, valid_until FROM entries)"
    build(vault, copied)
    assert reasons(IMPORTER, vault) == [
        (
            "entries_archive, row 2",
            "A record before it has the same id, 'soleri-arch-001'.",
        )
    ]


def test_odd_values_cost_their_field_and_not_the_memory(tmp_path: Path) -> None:
    odd = """
        CREATE TABLE entries (id, title, description, severity, tags, example, created_at, why);
        INSERT INTO entries VALUES (7, 'T', 'D', 'huge', '{"a": 1}', x'ff00', 'soon', '[]');
        INSERT INTO entries VALUES (NULL, 'T', 'D', NULL, NULL, NULL, NULL, NULL);
        INSERT INTO entries VALUES ('x', ' ', NULL, NULL, NULL, NULL, NULL, 'because');
    """
    path = build(tmp_path / "vault.db", odd)
    assert [one.unmapped for one in read_all(IMPORTER, path) if one.fields] == [
        ("severity", "created_at", "example", "tags")
    ]
    assert fields(IMPORTER, path) == [
        {"id": "soleri-7", "title": "T", "text": "D", "source": "soleri"}
    ]
    assert {reason for _, reason in reasons(IMPORTER, path)} == {
        "It has no id.",
        "It has neither a title nor a text.",
    }


def test_a_bundle_is_read_and_its_bad_entries_are_named(tmp_path: Path) -> None:
    first, second = fields(IMPORTER, HERE / "bundle.json")
    assert first == {
        "id": "soleri-test-001",
        "title": "Real parts in tests",
        "text": "Test with a real database.",
        "details": "Counter-example:\nA mock of every table\n\nApplies to:\n- tests/**",
        "tags": ["tests"],
        "kind": "pattern",
        "severity": "warning",
        "domain": "testing",
        "source": "soleri",
        "valid_until": "2027-03-01T00:00:00Z",
    }
    assert (second["domain"], second["tags"]) == ("testing", ["one", "two"])
    assert reasons(IMPORTER, HERE / "bundle.json") == [
        ("bundle.json, entry 2", "It is not a JSON object.")
    ]


def test_a_folder_of_bundles_is_read_past_files_that_are_broken(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_bytes((HERE / "bundle.json").read_bytes())
    (tmp_path / "soleri-pack.json").write_text('{"name": "pack"}')
    assert len(fields(IMPORTER, tmp_path)) == 2
    assert [where for where, _ in reasons(IMPORTER, tmp_path)] == ["a.json", "b.json, entry 2"]
