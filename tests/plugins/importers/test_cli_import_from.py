"""`recollect import --from TOOL PATH`: what eleven other tools have written, and the importer of
another package (docs/how-to/write-a-plugin.md)."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commandline import NOW, Home, check_error, check_usage_error
from docs_blocks import DOCS
from importer_fixtures import FIXTURES, build, script

from recollect.entry_points import entry_points_of
from recollect.ingest.exchange import GROUP, list_tools


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", RECOLLECT_NOW=NOW)


def copy_fixture(name: str, to: Path) -> Path:
    return shutil.copytree(FIXTURES / name, to)


def from_scripts(file: Path, *names: str) -> Path:
    """A database from the scripts of a fixture."""
    return build(file, *map(script, names))


def obsidian(folder: Path) -> Path:
    vault = copy_fixture("obsidian/vault", folder / "vault")
    copy_fixture("obsidian/settings", vault / ".obsidian")
    return vault


def write_notes(folder: Path) -> Path:
    (folder / "notes").mkdir()
    (folder / "notes/Lamp.md").write_text("---\ntags: [lamp]\n---\nThe lamp listens.\n")
    (folder / "notes/Quay.md").write_text("The quay is long.\n")
    return folder / "notes"


# What each tool left behind, and how many memories that is.
WRITTEN: dict[str, tuple[Callable[[Path], Path], int]] = {
    "echovault": (
        lambda to: from_scripts(to / "index.db", "echovault/schema.sql", "echovault/rows.sql"), 2,
    ),
    "soleri": (lambda to: from_scripts(to / "vault.db", "soleri/schema.sql", "soleri/rows.sql"), 3),
    "basic-memory": (lambda to: copy_fixture("basic-memory", to / "notes"), 2),
    "obsidian": (obsidian, 3),
    "claude-mem": (lambda to: from_scripts(to / "claude-mem.db", "claude-mem/claude-mem.sql"), 3),
    "mem0": (lambda to: FIXTURES / "mem0/get_all.json", 2),
    "mempalace": (lambda to: from_scripts(to / "chroma.sqlite3", "mempalace/chroma.sql"), 3),
    "mcp-memory": (lambda to: FIXTURES / "mcp-memory/memory.jsonl", 3),
    "chatgpt-export": (lambda to: FIXTURES / "chatgpt-export/conversations.json", 2),
    "claude-export": (lambda to: FIXTURES / "claude-export", 3),
    "markdown": (write_notes, 2),
}  # fmt: skip


def test_every_tool_is_tried_here() -> None:
    assert sorted(WRITTEN) == list_tools()


@pytest.mark.parametrize("tool", list_tools())
def test_what_a_tool_has_written_goes_in_once(home: Home, tmp_path: Path, tool: str) -> None:
    make, least = WRITTEN[tool]
    args = ("import", "--from", tool, str(make(tmp_path)))
    planned = home.json(*args, "--dry-run")
    assert planned["added"] >= least
    assert home.list_ids() == []

    done = home.call(*args, "--json")
    assert json.loads(done.out) == planned
    assert done.code == 0
    saved = home.list_ids()
    assert len(saved) == planned["added"]

    again = home.json(*args)
    assert (again["added"], again["updated"]) == (0, 0)
    assert again["unchanged"] == planned["added"]
    assert home.list_ids() == saved
    assert home.is_sound()


@pytest.mark.installed
def test_the_installed_command_says_what_was_done(home: Home, tmp_path: Path) -> None:
    path = str(write_notes(tmp_path))
    done = home.run("import", "--from", "markdown", path, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert done.out == "Dry run: 2 added, 0 updated, 0 unchanged.\n"
    assert home.list_ids() == []
    done = home.run("import", "--from", "markdown", path)
    assert (done.code, done.out, done.err) == (0, "2 added, 0 updated, 0 unchanged.\n", "")
    assert home.search("lamp")["results"]


def test_a_dry_run_of_what_is_there_already_says_so(home: Home, tmp_path: Path) -> None:
    path = write_notes(tmp_path)
    home.call("import", "--from", "markdown", str(path))
    before = home.call("export").out
    (path / "Lamp.md").write_text("---\ntags: [lamp]\n---\nThe lamp sleeps.\n")
    done = home.call("import", "--from", "markdown", str(path), "--dry-run")
    assert done.out == "Dry run: 0 added, 1 updated, 1 unchanged.\n"
    assert home.call("export").out == before


def test_a_dry_run_goes_with_lines_too(home: Home) -> None:
    done = home.call("import", "-", "--dry-run", stdin=b'{"title": "One"}\n{"title": 2}\n')
    assert done.code == 1
    assert done.out == "Dry run: 1 added, 0 updated, 0 unchanged, 1 bad line.\n"
    assert done.err.startswith("line 2: ")
    assert home.list_ids() == []


def test_what_is_not_imported_is_named(home: Home, tmp_path: Path) -> None:
    file = WRITTEN["claude-mem"][0](tmp_path)
    done = home.call("import", "--from", "claude-mem", str(file), "--dry-run")
    line = done.out.splitlines()[-1]
    assert line.startswith("Not imported: ")
    assert "discovery_tokens (" in line
    counts = home.json("import", "--from", "claude-mem", str(file))["not_imported"]
    assert all(f"{name} ({count})" in line for name, count in counts.items())
    assert home.list_ids() != []


def test_a_bad_piece_is_named_and_the_rest_goes_in(home: Home, tmp_path: Path) -> None:
    path = write_notes(tmp_path)
    (path / "torn\nname.md").write_bytes(b"\xff\xfe\xff")
    (path / "wrong.md").write_text("---\nseverity: dreadful\n---\nText.\n")
    args = ("import", "--from", "markdown", str(path))
    done = home.run(*args)
    assert done.code == 0
    assert done.out == "2 added, 0 updated, 0 unchanged, 2 not imported.\n"
    torn, wrong = done.err.splitlines()
    assert torn.startswith("torn name.md: ")
    assert wrong.startswith("wrong.md: ")
    assert "severity" in wrong
    assert torn.endswith(".")
    bad = home.json(*args)["bad"]
    assert [sorted(one) for one in bad] == [["reason", "where"]] * 2


def test_strict_takes_everything_or_nothing(home: Home, tmp_path: Path) -> None:
    path = write_notes(tmp_path)
    (path / "torn.md").write_bytes(b"\xff\xfe\xff")
    args = ("import", "--from", "markdown", str(path), "--strict")
    done = home.call(*args)
    assert done.code == 1
    assert done.err.startswith("torn.md: ")
    assert home.list_ids() == []
    (path / "torn.md").unlink()
    assert home.call(*args).code == 0
    assert len(home.list_ids()) == 2


def test_where_nothing_can_be_taken_the_exit_code_says_so(home: Home, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/torn.md").write_bytes(b"\xff\xfe\xff")
    done = home.call("import", "--from", "markdown", str(tmp_path / "notes"))
    assert done.code == 1
    assert done.err.startswith("torn.md: ")


@pytest.mark.parametrize("tool", list_tools())
def test_a_path_without_the_tools_files_is_refused(home: Home, tmp_path: Path, tool: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "nothing").touch()
    for name in ("nowhere", "empty", "noise.bin", "nothing"):
        check_error(home.call("import", "--from", tool, str(tmp_path / name)), name)
    assert home.list_ids() == []


@pytest.mark.parametrize("tool", ["echovault", "soleri", "claude-mem", "mempalace", "mcp-memory"])
def test_a_torn_database_is_named(home: Home, tmp_path: Path, tool: str) -> None:
    whole = from_scripts(tmp_path / "whole.db", "mcp-memory/service.sql").read_bytes()
    torn = tmp_path / "torn.db"
    torn.write_bytes(whole[: len(whole) // 2])
    before = torn.read_bytes()
    done = home.call("import", "--from", tool, str(torn))
    assert done.code in (0, 1)
    assert "Traceback" not in done.err
    assert done.err
    assert torn.read_bytes() == before
    assert not [*tmp_path.glob("torn.db-*")]


def test_an_unknown_tool_is_refused_and_the_known_are_named(home: Home, tmp_path: Path) -> None:
    check_error(home.call("import", "--from", "abacus", str(tmp_path)), "'abacus'", *list_tools())


def test_another_tools_files_are_not_read_from_standard_input(home: Home) -> None:
    check_usage_error(
        home.call("import", "--from", "mem0", "-", stdin=b"{}"), "Name a file or a folder"
    )


def test_secrets_stay_out_and_are_told(home: Home, tmp_path: Path) -> None:
    path = write_notes(tmp_path)
    secret = "ghp_" + "a1B2" * 9
    (path / "Key.md").write_text(f"The key is {secret} there.\n")
    done = home.call("import", "--from", "markdown", str(path))
    assert "Redacted 1 secret: github token" in done.err
    assert secret not in home.call("export").out


PAGE = (DOCS / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which the package is, as pip would leave it."""
    entry = block("ini").splitlines()[1].replace('"', "")
    information = tmp_path / "packages" / "recollect_todo-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Name: recollect-todo\nVersion: 1\n")
    entries = f"[{GROUP}]\n{entry}\ngone = gone.todo:IMPORTER\n"
    (information / "entry_points.txt").write_text(entries)
    (information.parent / "recollect_todo.py").write_text(block("python"))
    monkeypatch.syspath_prepend(information.parent)
    entry_points_of.cache_clear()
    yield information.parent
    entry_points_of.cache_clear()


@pytest.mark.usefixtures("other_package")
def test_an_importer_of_another_package_is_used_and_listed(home: Home, tmp_path: Path) -> None:
    todo = tmp_path / "todo.txt"
    todo.write_text("Renew the mooring\nx Order two buoys\n\n", encoding="utf-8")
    done = home.call("import", "--from", "todo", str(todo))
    assert "2 added" in done.out
    assert "line 3: It is empty." in done.out + done.err
    assert sorted(memory["tags"] for memory in home.json("list")) == [["done"], ["open"]]
    assert "todo" in check_error(home.call("import", "--from", "abacus", str(todo)))


@pytest.mark.usefixtures("other_package")
def test_a_plugin_whose_module_is_gone_is_left_out() -> None:
    assert "todo" in list_tools()
    assert "gone" not in list_tools()
