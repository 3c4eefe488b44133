"""`recollect import --from instructions`: core memories of a project, which follow their files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from commandline import Home, check_error

from recollect.folders.chunk_writing import Synced
from recollect.folders.scan import Scan
from recollect.folders.watch import Follower
from recollect.store.folders import Folder

RULE = "---\ndescription: API rules\nglobs: src/**\n---\n# API\n\nReturn problem documents.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "harbor-api"
    for name, text in {
        "CLAUDE.md": "# Harbor\n\nRun the tests before each commit.\n",
        "AGENTS.md": "Use uv, never pip.\n",
        ".cursor/rules/api.mdc": RULE,
        ".windsurfrules": "Prefer small functions.\n",
        ".github/copilot-instructions.md": "Answer in English.\n",
        "README.md": "Not an instruction.\n",
        ".git/HEAD": "",
    }.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def core_by_file(home: Home) -> dict[str, dict[str, Any]]:
    """Return the core memories by file name."""
    memories = home.json("list", "--limit", "100")
    return {Path(each["path"]).name: each for each in memories if each["tier"] == "core"}


def import_instructions(home: Home, *args: str) -> Any:
    return home.json("import", "--from", "instructions", "--no-embed", *args)


def test_instruction_files_are_core_memories_of_their_project(home: Home, project: Path) -> None:
    done = import_instructions(home, str(project))
    assert done["files"] == {"added": 5}
    assert len(done["followed"]) == 5
    found = core_by_file(home)
    assert set(found) == {
        "CLAUDE.md", "AGENTS.md", "api.mdc", ".windsurfrules", "copilot-instructions.md",
    }  # fmt: skip
    for memory in found.values():
        assert memory["project"] == "harbor-api"
        assert (memory["source"], memory["kind"]) == ("instructions", "instruction")
    assert found["CLAUDE.md"]["title"] == "Harbor"
    assert "problem documents" in found["api.mdc"]["text"]
    assert import_instructions(home, str(project))["memories"] == {}


def test_a_changed_file_is_taken_in_and_a_deleted_one_forgotten(home: Home, project: Path) -> None:
    import_instructions(home, str(project))
    (project / "CLAUDE.md").write_text("# Harbor\n\nRun pytest.\n", encoding="utf-8")
    (project / "AGENTS.md").unlink()
    (project / ".cursor/rules/new.mdc").write_text("# New\n\nA rule.\n", encoding="utf-8")
    assert home.call("add", "--sync").code == 0
    found = core_by_file(home)
    assert "pytest" in found["CLAUDE.md"]["text"]
    assert "AGENTS.md" not in found
    assert found["new.mdc"]["tier"] == "core"
    (project / "AGENTS.md").write_text("Use uv, never pip.\n", encoding="utf-8")
    home.call("add", "--sync")
    assert "AGENTS.md" in core_by_file(home)


@pytest.mark.parametrize("first", ["folder", "instructions"])
def test_a_folder_that_holds_instructions_leaves_them_out(
    home: Home, project: Path, first: str
) -> None:
    if first == "folder":
        home.call("add", str(project), "--no-embed")
    import_instructions(home, str(project))
    home.call("add", str(project), "--no-embed")
    memories = home.json("list", "--limit", "100")
    assert [each["path"] for each in memories if each["tier"] == "file"] == [
        str(project / "README.md")
    ]
    assert len(core_by_file(home)) == 5


def test_one_file_can_be_imported_and_removed(home: Home, project: Path) -> None:
    done = import_instructions(home, str(project / "AGENTS.md"))
    assert done["followed"] == [str(project / "AGENTS.md")]
    assert core_by_file(home)["AGENTS.md"]["project"] == "harbor-api"
    assert home.json("add", "--remove", str(project / "AGENTS.md"))["forgotten"] == 1
    assert core_by_file(home) == {}


def test_a_clients_own_folder_is_of_no_project(home: Home, tmp_path: Path) -> None:
    own = tmp_path / ".claude"
    own.mkdir()
    (own / "CLAUDE.md").write_text("Always answer briefly.\n", encoding="utf-8")
    import_instructions(home, str(own))
    assert core_by_file(home)["CLAUDE.md"]["project"] == ""


def test_nothing_is_written_by_a_dry_run_and_a_folder_without_any_is_named(
    home: Home, project: Path, tmp_path: Path
) -> None:
    ran = home.call("import", "--from", "instructions", str(project), "--dry-run")
    assert "CLAUDE.md" in ran.out
    assert core_by_file(home) == {}
    for missing in (tmp_path / "nowhere", project / "nothing" / "CLAUDE.md"):
        ran = home.call("import", "--from", "instructions", str(missing))
        check_error(ran, str(missing), "AGENTS.md")


def test_a_secret_in_an_instruction_file_is_replaced(home: Home, project: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    (project / "AGENTS.md").write_text(f"Use the token {token} for releases.\n", encoding="utf-8")
    import_instructions(home, str(project / "AGENTS.md"))
    assert token not in core_by_file(home)["AGENTS.md"]["text"]


def test_a_hook_does_not_repeat_what_its_client_reads(
    home: Home, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_instructions(home, str(project))
    monkeypatch.chdir(project)
    told = home.call("hook", "--test", "claude-code", "SessionStart").out
    assert "Run the tests" not in told
    assert "Use uv" in told
    told = home.call("hook", "--test", "codex", "SessionStart").out
    assert "Run the tests" in told
    assert "Use uv" not in told


def test_a_follower_syncs_a_file_that_changed_and_one_that_went(tmp_path: Path) -> None:
    synced: list[tuple[str, Scan | None]] = []
    there, gone = tmp_path / "CLAUDE.md", tmp_path / "AGENTS.md"
    there.write_text("x", encoding="utf-8")
    folders = [Folder(n, str(file), "p", True, True, 1) for n, file in enumerate((there, gone))]

    def sync(folder: Folder, scan: Scan | None) -> Synced:
        synced.append((folder.path, scan))
        return Synced()

    said: list[str] = []
    follower = Follower(lambda: folders, sync, said.append, threading.Event())
    present = follower._present()
    assert list(present) == [str(there)]
    assert synced == [(str(gone), None)]
    follower._follow(present, {str(there)})
    assert synced[1:] == [(str(there), None)]
    assert said == []
