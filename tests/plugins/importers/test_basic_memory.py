"""Basic Memory. The two notes of the fixture were written by `bm tool write-note` of basic-memory
0.24.1."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from importer_fixtures import FIXTURES, fields, first, read_all, reasons, set_dates

from recollect.plugins.importers.basic_memory import IMPORTER


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return set_dates(shutil.copytree(FIXTURES / "basic-memory", tmp_path / "notes"))


def test_a_note_is_a_memory_with_its_observations_and_relations(project: Path) -> None:
    decisions, _ = fields(IMPORTER, project)
    assert decisions == {
        "id": decisions["id"],
        "title": "Lamp decisions",
        "text": (
            "The lamp is old.\n\n## Observations\n"
            "- [decision] The lamp listens on port 8080 #lamp #ops (agreed in March)\n"
            "- [fact] It turns @effective[2026-06-10,2026-07-27) only at night\n\n"
            "## Relations\n- part_of [[Lighthouse]]\n"
            '- "depends on" [[Old motor]] (until replaced)\n\nSee also [[Harbour]].'
        ),
        "kind": "note",
        "tags": ["lamp", "ops"],
        "source": "basic-memory",
        "path": "decisions/Lamp decisions.md",
        "updated_at": "2026-04-01T12:00:00Z",
    }


def test_front_matter_gives_type_and_times_and_the_rest_is_named(project: Path) -> None:
    _, guide = read_all(IMPORTER, project)
    assert guide.fields == {
        "id": (guide.fields or {})["id"],
        "title": "Guide: the lamp",
        "text": "# Guide to the lamp\n\nTurn it on.",
        "kind": "guide",
        "tags": ["lamp"],
        "source": "basic-memory",
        "path": "guides/Guide- the lamp.md",
        "created_at": "2026-03-01T09:30:00Z",
        "updated_at": "2026-03-02T00:00:00Z",
    }
    assert guide.unmapped == ("status", "id")


def test_a_note_keeps_its_id_when_its_file_moves(project: Path) -> None:
    before = {one["id"] for one in fields(IMPORTER, project)}
    (project / "guides" / "Guide- the lamp.md").rename(project / "lamp.md")
    assert {one["id"] for one in fields(IMPORTER, project)} == before


def test_a_note_without_front_matter_is_named_after_its_file(tmp_path: Path) -> None:
    (tmp_path / "My lamp.md").write_text("# my LAMP\nIt turns.\n- a #tag #bm:links_to [[x]]\n")
    (only,) = fields(IMPORTER, tmp_path)
    assert (only["title"], only["text"]) == ("My lamp", "It turns.\n- a #tag #bm:links_to [[x]]")
    assert only["tags"] == ["tag"]


def test_only_tags_in_lists_are_tags(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x #no\n```\n- y #no\n```\n- `z #no` #yes #12\n")
    assert fields(IMPORTER, tmp_path)[0]["tags"] == ["yes"]


def test_odd_front_matter_costs_its_field_and_not_the_note(tmp_path: Path) -> None:
    head = "title: [a]\ntype: {b: c}\ntags: 'x, #y'\ncreated: '{{date}}'\npermalink: null\nbody: z"
    (tmp_path / "a.md").write_text(f"---\n{head}\n---\nText")
    held, unmapped = first(IMPORTER, tmp_path)
    assert (held["title"], held["tags"], held["text"]) == ("a", ["x", "y"], "Text")
    assert set(unmapped) == {"title", "type", "created", "body"}


def test_bad_notes_are_named_and_the_rest_goes_in(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xff\xfe")
    (tmp_path / "b.md").write_bytes(b"")
    (tmp_path / "c.md").write_text("---\n- [\n---\nText")
    (tmp_path / "d.md").write_text("---\ntitle: x\npermalink: p\n---\nText")
    (tmp_path / "e.md").write_text("---\ntitle: y\npermalink: p\n---\nText")
    bad = reasons(IMPORTER, tmp_path)
    assert [where for where, _ in bad] == ["a.md", "b.md", "e.md"]
    assert [one.unmapped for one in read_all(IMPORTER, tmp_path) if one.fields] == [
        ("front matter",),
        (),
    ]
