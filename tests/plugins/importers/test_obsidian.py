"""Obsidian. It has no command line, so the vault is written by hand after its help pages on
properties, tags, aliases and templates, and after JSON Canvas 1.0. `settings` stands for the folder
`.obsidian`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from importer_fixtures import FIXTURES, fields, first, read_all, reasons, set_dates

from recollect.plugins.importers.obsidian import IMPORTER

HERE = FIXTURES / "obsidian"
LAMP = "Projects/Lighthouse lamp.md"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    whole = shutil.copytree(HERE / "vault", tmp_path / "vault")
    shutil.copytree(HERE / "settings", whole / ".obsidian")
    return set_dates(whole)


def by_path(path: Path) -> dict[object, dict[str, object]]:
    return {one["path"]: dict(one) for one in fields(IMPORTER, path)}


def test_every_property_that_has_a_place_gets_it(vault: Path) -> None:
    lamp = by_path(vault)[LAMP]
    assert str(lamp.pop("id")).startswith("obsidian-vault-projects-lighthouse-lamp-")
    assert lamp == {
        "title": "Lighthouse lamp",
        "text": (
            "The lamp listens on port 8080, see [[Harbour#Ports|ports]] and ![[lamp.png]]. "
            "#decided, not #42\n\n> [!note] At night only\n\n"
            "```python\nx = 1  # not #a-tag\n```\n\nRun `make #lamp2` ^block-1"
        ),
        "context": "What was decided in March",
        "details": "Also called:\n- The lamp\n- Lamp 1",
        "tags": ["lamp", "ops/night", "decided"],
        "kind": "decision",
        "project": "lighthouse",
        "source": "https://example.org/lamp",
        "path": LAMP,
        "created_at": "2026-03-01T09:30:00Z",
        "updated_at": "2026-03-02T00:00:00Z",
        "valid_until": "2027-03-01T00:00:00Z",
    }


def test_properties_without_a_place_are_named(vault: Path) -> None:
    (lamp,) = [one for one in read_all(IMPORTER, vault) if one.where == LAMP]
    assert lamp.unmapped == ("cssclasses", "publish")


def test_a_daily_note_was_made_on_its_day(vault: Path) -> None:
    daily = by_path(vault)["Daily/2026-04-02.md"]
    del daily["id"]
    assert daily == {
        "title": "2026-04-02",
        "text": "Turned the lamp on. #lamp/turned",
        "tags": ["lamp/turned"],
        "source": "obsidian",
        "path": "Daily/2026-04-02.md",
        "created_at": "2026-04-02T00:00:00Z",
        "updated_at": "2026-04-01T12:00:00Z",
    }


def test_a_canvas_is_read_from_top_to_bottom(vault: Path) -> None:
    (plan,) = [one for one in read_all(IMPORTER, vault) if one.where == "Plan.canvas"]
    held = plan.fields or {}
    assert held["text"] == (
        "Summer\n\nFirst repair the lamp\n\nThen paint it\n\nhttps://example.org/paint"
    )
    assert held["details"] == f"On the canvas:\n- {LAMP}"
    assert (held["title"], held["kind"]) == ("Plan", "canvas")
    assert plan.unmapped == ("edges",)


def test_templates_and_drawings_are_said_to_be_left_out(vault: Path) -> None:
    assert reasons(IMPORTER, vault) == [
        ("Drawings/Tower.excalidraw.md", "It is a drawing."),
        ("Templates/Note.md", "It is a template."),
    ]


def test_a_part_of_the_vault_has_the_ids_of_the_whole(vault: Path) -> None:
    whole = by_path(vault)[LAMP]
    assert by_path(vault / "Projects") == {LAMP: whole}
    assert by_path(vault / LAMP) == {LAMP: whole}
    assert by_path(vault)[LAMP] == whole, "Again, it is the same."


def test_older_spellings_of_tags_and_aliases_are_understood(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntag: '#one two,three'\nalias: Other\n---\nText #One\n")
    (only,) = fields(IMPORTER, tmp_path)
    assert only["tags"] == ["one", "two", "three", "One"]
    assert only["details"] == "Also called:\n- Other"


def test_odd_properties_cost_their_field_and_not_the_note(tmp_path: Path) -> None:
    head = (
        "title: {a: b}\ntags: [x, {y: z}]\naliases: [{a: b}]\nseverity: huge\ncreated: soon\n"
        "date: 2026-03-01\nCreated_At: 2026-03-02\nproject: ~\nkind: a\ntype: b\ntext: c"
    )
    (tmp_path / "a.md").write_text(f"---\n{head}\n---\nText")
    held, unmapped = first(IMPORTER, tmp_path)
    assert (held["title"], held["tags"], held["kind"]) == ("a", ["x"], "a")
    assert held["created_at"] == "2026-03-02T00:00:00Z"
    assert set(unmapped) == {
        "title", "tags", "aliases", "severity", "created", "date", "type", "text",
    }  # fmt: skip


def test_bad_files_are_named_and_the_rest_goes_in(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xff\xfe")
    (tmp_path / "b.md").write_bytes(b" \n")
    (tmp_path / "c.canvas").write_bytes(b"")
    (tmp_path / "d.canvas").write_bytes(b"{")
    (tmp_path / "e.canvas").write_bytes(b"[]")
    (tmp_path / "f.canvas").write_bytes(b'{"nodes": 7}')
    (tmp_path / "g.canvas").write_bytes(b'{"nodes": [1, {"text": [], "y": "x"}, {"text": "T"}]}')
    (tmp_path / "h.md").write_text("---\na: *b\n---\nText")
    assert [where for where, _ in reasons(IMPORTER, tmp_path)] == [
        "a.md", "b.md", "c.canvas", "d.canvas", "e.canvas", "f.canvas",
    ]  # fmt: skip
    canvas, note = (one for one in read_all(IMPORTER, tmp_path) if one.fields)
    assert (canvas.fields or {})["text"] == "T"
    assert note.unmapped == ("front matter",)


def test_settings_that_cannot_be_read_cost_nothing(vault: Path) -> None:
    (vault / ".obsidian" / "templates.json").write_bytes(b"\xff")
    assert "Templates/Note.md" in by_path(vault)
