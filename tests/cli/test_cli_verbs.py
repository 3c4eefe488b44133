"""Small verbs: related, tags, projects, clip, open, supersede."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from commandline import NOW, Home, check_error, check_usage_error

from recollect.errors import UserError
from recollect.interfaces.cli import output
from recollect.interfaces.cli.desktop import line_arguments
from recollect.interfaces.cli.review import edit_text


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", RECOLLECT_NOW=NOW)
    home.save("--id", "a", "Deploys run on Buildkite", "--tag", "ci", "--project", "harbor")
    home.save("--id", "b", "The port of the page", "--tag", "net", "--tag", "web")
    home.save("--id", "c", "Buildkite agents restart", "--tag", "ops", "--project", "harbor")
    return home


def program(home: Home, name: str, script: str) -> Path:
    """A program of that name, first in the path."""
    file = home.folder.parent / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    home.environment["PATH"] = f"{file.parent}{os.pathsep}{os.environ['PATH']}"
    return file


def test_related_shows_other_memories_about_the_same(home: Home) -> None:
    assert [each["id"] for each in home.json("related", "a")["results"]] == ["c"]
    assert "Buildkite agents" in home.call("related", "a").out
    check_error(home.call("related", "nosuch"), "nosuch")


def test_tags_are_counted_renamed_and_merged(home: Home) -> None:
    assert home.json("tags") == {"ci": 1, "net": 1, "ops": 1, "web": 1}
    check_error(home.call("tags", "rename", "ops", "ci"), "1 memory will have 'ci' instead of ops")
    assert home.json("tags", "rename", "ops", "ci", "--yes") == {"changed": ["c"]}
    assert home.json("tags", "merge", "net", "web", "page", "--yes") == {"changed": ["b"]}
    assert home.json("tags") == {"ci": 2, "page": 1}
    check_error(
        home.call("tags", "rename", "nosuch", "ci", "--yes"), "No memory has the tag 'nosuch'."
    )
    check_usage_error(home.call("tags", "rename", "ci"), "recollect tag rename", "NEW")


def test_projects_are_counted(home: Home) -> None:
    assert home.json("projects") == {"harbor": 2}
    assert home.call("projects").out == "     2  harbor\n"


def test_tags_and_projects_are_all_listed(home: Home) -> None:
    names = [f"n{number:02}" for number in range(30)]
    home.import_memories(*({"title": name, "tags": [name], "project": name} for name in names))
    for command in ("tags", "projects"):
        assert set(names) <= set(home.json(command))
        assert set(names) <= set(home.call(command).out.split()[1::2])


def test_a_memory_is_copied_by_the_desktops_program(home: Home) -> None:
    copied = home.folder.parent / "copied"
    program(home, "wl-copy", f"cat > {copied}")
    home.environment["WAYLAND_DISPLAY"] = "x"
    assert home.call("clip", "a", "b").out == "2 memories copied.\n"
    assert copied.read_text() == "Deploys run on Buildkite\n\nThe port of the page"


def test_without_a_clipboard_the_command_says_what_to_use(home: Home) -> None:
    check_error(home.call("clip", "a"), "There is no clipboard", "recollect show ID")


def test_open_shows_the_file_of_a_document_in_the_editor(home: Home) -> None:
    folder = home.folder.parent / "notes"
    folder.mkdir()
    (folder / "note.md").write_text("# Ports\n\nThe port is 7117.\n")
    home.call("add", str(folder))
    [document] = [each for each in home.json("list") if each["tier"] == "file"]
    opened = home.folder.parent / "opened"
    home.environment["EDITOR"] = str(program(home, "ed", f'echo "$1" > {opened}'))
    assert home.call("open", document["id"]).code == 0
    assert opened.read_text().strip() == str(folder / "note.md")


def test_open_of_a_result_goes_to_the_line_that_matched(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_terminal_session", lambda terminal: 7)
    folder = home.folder.parent / "notes"
    folder.mkdir()
    (folder / "note.md").write_text("# Ports\n\nThe port is 7117.\n\nCranes need no port.\n")
    home.call("add", str(folder))
    opened = home.folder.parent / "opened"
    home.environment["EDITOR"] = str(program(home, "vim", f'echo "$@" > {opened}'))
    found = home.call("search", "cranes", "--ids").out.strip()
    for id, line in (("@1", ["+5"]), (found, [])):
        assert home.call("open", id).code == 0
        assert opened.read_text().split() == [*line, str(folder / "note.md")]


@pytest.mark.parametrize(
    ("editor", "args"),
    [
        ("/usr/bin/vim", ["+7", "a.md"]),
        ("code", ["--goto", "a.md:7"]),
        ("hx", ["a.md:7"]),
        ("acme", ["a.md"]),
    ],
)
def test_an_editor_is_told_the_line_in_its_own_way(editor: str, args: list[str]) -> None:
    assert line_arguments(editor, Path("a.md"), 7) == args


def test_related_and_clip_take_short_ids(home: Home) -> None:
    home.save("--id", "long-name", "Buildkite keys")
    assert home.json("related", "long")["results"]
    home.environment["WAYLAND_DISPLAY"] = "x"
    program(home, "wl-copy", "cat > /dev/null")
    assert home.call("clip", "long").out == "1 memory copied.\n"


def test_open_of_a_memory_needs_a_server(home: Home) -> None:
    assert "No server is running for this vault." in home.call("open", "a").err


@pytest.fixture
def deploys(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", RECOLLECT_NOW=NOW)
    home.import_memories(
        {"id": "old", "title": "Deploys run on Jenkins", "updated_at": "2025-01-01"},
        {"id": "new", "title": "Buildkite runs our pipelines", "updated_at": "2026-02-01"},
    )
    return home


def test_supersede_says_so_and_both_ends_show_it(deploys: Home) -> None:
    assert deploys.call("supersede", "old", "new").out == "new replaces old.\n"
    old, new = deploys.call("show", "old").out, deploys.call("show", "new").out
    assert "Replaced by new (2026-02-01): Buildkite runs our pipelines" in old
    assert "valid_until  just now" in old
    assert "Replaces old (2025-01-01): Deploys run on Jenkins" in new
    told = deploys.json("show", "old", "new")
    assert (told[0]["superseded_by"], told[1]["replaces"]) == ("new", ["old"])


def test_a_search_says_which_is_certain(deploys: Home) -> None:
    deploys.json("supersede", "old", "new")
    text = deploys.call("search", "Jenkins").out
    assert text.index("Buildkite") < text.index("Deploys run on Jenkins")
    assert "    replaces old (2025-01-01)" in text
    assert "    replaced by new (2026-02-01)" in text
    first, second = deploys.search("Jenkins")["results"]
    at = "2025-01-01T00:00:00Z"
    assert first["replaces"] == [{"id": "old", "updated_at": at}]
    assert second["superseded_by"]["id"] == "new"


def test_a_cycle_and_an_unknown_id_are_refused(deploys: Home) -> None:
    deploys.json("supersede", "old", "new")
    check_error(deploys.call("supersede", "new", "old"), "in a circle")
    check_error(deploys.call("save", "--title", "x", "--supersedes", "nothing"), "'nothing'")


def test_a_link_is_cleared_like_any_field(deploys: Home) -> None:
    deploys.json("supersede", "old", "new")
    deploys.json("edit", "old", "--clear", "superseded-by", "--clear", "valid-until")
    assert "superseded_by" not in deploys.json("show", "old")[0]
    assert deploys.search_ids("Jenkins") == ["old"]


def test_a_save_of_what_is_there_already_tells_what_it_replaces(deploys: Home) -> None:
    said = ("--id", "new", "--title", "Buildkite runs our pipelines")
    saved = deploys.json("save", *said, "--supersedes", "old")
    assert (saved["outcome"], saved["superseded"]) == ("unchanged", ["old"])


def test_the_review_keeps_the_text_if_the_editor_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "false")
    with pytest.raises(UserError) as refused:
        edit_text("what was typed")
    file = Path(str(refused.value).split("The file is ")[1].rstrip("."))
    assert file.read_text(encoding="utf-8") == "what was typed"
    shutil.rmtree(file.parent)
