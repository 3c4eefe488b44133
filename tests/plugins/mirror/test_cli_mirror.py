"""`recollect mirror` and `recollect export --format markdown`, as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import NOW, Home, check_error
from test_cli_import_export import FULL, ODD


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "notes").mkdir()
    return Home(tmp_path / "home", RECOLLECT_NOW=NOW)


@pytest.fixture
def notes(home: Home) -> Path:
    return home.folder.parent / "notes"


@pytest.mark.installed
def test_the_installed_command_mirrors_both_ways(home: Home, notes: Path) -> None:
    home.save("--id", "jwt", "--title", "Switched to JWT", "--project", "harbor")
    (notes / "Idea.md").write_text("An idea.\n", encoding="utf-8")
    holds = "holds 1 Markdown file, to become memories. Add --adopt to do it."
    check_error(home.run("mirror", str(notes)), holds)
    assert [file.name for file in notes.iterdir()] == ["Idea.md"], "Nothing was done."
    done = home.run("mirror", str(notes), "--adopt")
    assert (done.code, done.out, done.err) == (0, "1 written, 1 imported, 0 unchanged.\n", "")
    file = notes / "harbor" / "Switched to JWT.md"
    file.write_text(file.read_text("utf-8") + "\nTokens last 15 minutes.\n", encoding="utf-8")
    assert home.run("mirror", str(notes)).out == "1 edited, 1 unchanged.\n"
    assert home.json("show", "jwt")[0]["text"] == "Tokens last 15 minutes."
    assert home.run("mirror", str(notes)).out == "2 unchanged.\n"
    assert home.is_sound()


def test_a_conflict_is_told(home: Home, notes: Path) -> None:
    home.save("--id", "a", "--title", "A", "--text", "one")
    home.call("mirror", str(notes))
    home.call("edit", "a", "--text", "two")
    (notes / "A.md").write_text((notes / "A.md").read_text("utf-8").replace("one", "three"))
    done = home.call("mirror", str(notes))
    assert done.code == 0
    line, counts = done.out.splitlines()
    beside = "A (conflict 2026-03-01 12.00).md"
    assert line.startswith(f"in conflict: A.md (the file's version is now {beside}, and the memory")
    assert counts == "1 in conflict, 0 unchanged."
    assert home.list_ids("--tag", "conflict") == [line.rpartition(" ")[2].rstrip(")")]
    assert "three" in (notes / beside).read_text("utf-8")


def test_what_cannot_be_done_is_named_and_the_exit_code_says_so(home: Home, notes: Path) -> None:
    (notes / "bad\nname.md").write_bytes(b"\xff")
    (notes / "good.md").write_text("Text")
    done = home.call("mirror", str(notes), "--adopt")
    assert done.code == 1
    assert done.err == "bad name.md: It is not valid UTF-8 text (byte 0).\n"
    assert done.out == "1 imported, 1 skipped, 0 unchanged.\n"


def test_a_dry_run_names_every_step(home: Home, notes: Path) -> None:
    home.save("--id", "a", "--title", "A")
    (notes / "good.md").write_text("Text")
    done = home.call("mirror", str(notes), "--dry-run")
    assert done.out == (
        "written: A.md\nimported: good.md\nDry run: 1 written, 1 imported, 0 unchanged.\n"
    )
    assert [file.name for file in notes.iterdir()] == ["good.md"]


def test_json_holds_every_step_and_problem(home: Home, notes: Path) -> None:
    home.save("--id", "a", "--title", "A")
    (notes / "bad.md").write_bytes(b"\xff")
    done = home.call("mirror", str(notes), "--json")
    assert done.code == 1
    assert json.loads(done.out) == {
        "folder": str(notes),
        "dry_run": False,
        "steps": [{"action": "write", "id": "a", "path": "A.md", "note": ""}],
        "unchanged": 0,
        "problems": [{"path": "bad.md", "reason": "It is not valid UTF-8 text (byte 0)."}],
    }


def test_secrets_are_told(home: Home, notes: Path) -> None:
    (notes / "key.md").write_text("The key is ghp_" + "a1B2" * 9)
    done = home.call("mirror", str(notes), "--adopt")
    assert done.code == 0
    assert done.err.startswith("recollect: Redacted 1 secret: github token; only in the vault")


def test_the_settings_name_the_folder(home: Home, notes: Path) -> None:
    home.save("--id", "a", "--title", "A")
    check_error(home.call("mirror"), "Name a folder")
    environment = {"RECOLLECT_MIRROR__FOLDER": str(notes)}
    assert home.call("mirror", using=environment).out == "1 written, 0 unchanged.\n"


@pytest.mark.parametrize(
    ("args", "holding"),
    [
        (("mirror", "{folder}/nowhere"), ("There is no folder", "nowhere")),
        (("mirror", "{folder}/file"), ("is a file",)),
        (("export", "--format", "markdown", "{folder}"), ("is not empty",)),
        (("export", "--format", "markdown", "{folder}/file"), ("is a file",)),
        (("export", "--format", "markdown", "{folder}/file/below"), ("is a file",)),
    ],
)
def test_folders_that_cannot_be_used_are_named(
    home: Home, tmp_path: Path, args: tuple[str, ...], holding: tuple[str, ...]
) -> None:
    home.save("--title", "x")
    (tmp_path / "file").touch()
    check_error(home.call(*(part.format(folder=tmp_path) for part in args)), *holding)


@pytest.mark.parametrize("args", [(), ("-",)])
def test_markdown_needs_a_folder(home: Home, args: tuple[str, ...]) -> None:
    done = home.call("export", "--format", "markdown", *args)
    assert done.code == 2
    assert done.err == "recollect: Name a folder; --format markdown writes a file per memory.\n"


def test_markdown_brings_a_vault_to_another_home(home: Home, tmp_path: Path) -> None:
    """Out as files, into another vault, and out as JSON Lines: the very same bytes."""
    names = ("title", "text", "context", "why", "impact", "details", "domain", "source")
    odd = [{"id": f"odd-{n}", **dict.fromkeys(names, text + " x")} for n, text in enumerate(ODD)]
    bare = [{"id": f"bare-{n}", "title": "Same title", "text": text} for n, text in enumerate(ODD)]
    files = [{"id": "file-1", "title": "docs/a.md", "tier": "file", "path": "docs/a.md"}]
    assert home.import_memories(FULL, *odd, *bare, *files).code == 0
    folder = tmp_path / "new" / "export"
    done = home.call("export", "--format", "markdown", str(folder))
    count = 2 + 2 * len(ODD)
    assert (done.code, done.err) == (0, f"{count} memories written to {folder}.\n")

    other = Home(tmp_path / "other", RECOLLECT_NOW="2030-01-01")
    done = other.call("import", "--from", "markdown", str(folder))
    assert (done.code, done.out) == (0, f"{count} added, 0 updated, 0 unchanged.\n")
    assert other.call("export").out == home.call("export").out
    done = other.call("import", "--from", "markdown", str(folder))
    assert done.out == f"0 added, 0 updated, {count} unchanged.\n"
