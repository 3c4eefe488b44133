"""`recollect add --transcripts`, and `import --from` a coding agent: its sessions, turn by turn."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from agent_sessions import CLIENTS, FILES, line, session, turn, write
from commandline import Home, check_error, check_usage_error

from recollect import Recollect
from recollect.folders.chunk_writing import Synced
from recollect.folders.scan import Scan
from recollect.folders.watch import Follower
from recollect.store.folders import Folder

PLACES = {
    "claude-code": ".claude/projects",
    "codex": ".codex/sessions",
    "gemini-cli": ".gemini/tmp",
    "copilot-cli": ".copilot/session-state",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """The person's own folder is above that of the vault."""
    return Home(tmp_path / "home" / "vault", HOME=str(tmp_path / "home"))


def written(home: Home, *clients: str) -> list[Path]:
    return [
        write(home.folder.parent / PLACES[client] / FILES[client], session(client))
        for client in clients
    ]


def test_the_sessions_of_every_client_are_found_and_followed(home: Home) -> None:
    written(home, *CLIENTS)
    ran = home.call("add", "--transcripts")
    assert ran.out == "Files: 4 added. Memories: 16 added.\n"
    listed = home.json("add", "--list")["folders"]
    assert {(each["client"], each["followed"], each["project"]) for each in listed} == {
        (client, True, None) for client in CLIENTS
    }
    assert "1 file, sessions of codex, watched" in home.call("add", "--list").out
    assert "4 unchanged" in home.call("add", "--sync").out.replace("1 unchanged", "4 unchanged")
    found = home.json("search", "pool connections", "--kind", "session", "--limit", "20")["results"]
    assert {each["kind"] for each in found} == {"session"}


def test_a_result_shows_the_file_and_the_line(home: Home) -> None:
    [file] = written(home, "codex")
    home.call("add", "--transcripts", "codex")
    out = home.call("search", "why does the pool run out", "--project", "harbor").out
    assert f"{file}:5" in out
    assert "session · harbor · " in out


def test_import_is_the_same(home: Home, tmp_path: Path) -> None:
    file = write(tmp_path / "copy" / FILES["codex"], session("codex"))
    ran = home.json("import", "--from", "codex", str(tmp_path / "copy"))
    assert ran["memories"] == {"added": 4}
    file.write_text(file.read_text() + line(turn("codex", "user", "And the timeout?")))
    ran = home.json("add", str(tmp_path / "copy"), "--transcripts", "codex")
    assert ran["memories"] == {"added": 1}
    check_usage_error(home.call("import", "--from", "codex", str(tmp_path / "copy"), "--dry-run"))


def test_what_does_not_go_together_is_refused(home: Home, tmp_path: Path) -> None:
    looked = check_error(home.call("add", "--transcripts"), "No transcripts are there")
    assert all(str(home.folder.parent / place) in looked for place in PLACES.values())
    check_error(
        home.call("add", "--transcripts", "codex"), str(home.folder.parent / PLACES["codex"])
    )
    check_error(home.call("add", "--transcripts", "cursor"), "claude-code, codex")
    check_usage_error(home.call("add", str(tmp_path), "--transcripts"), "Name the client")
    check_usage_error(home.call("add", "--transcripts", "--project", "x"), "each session")


def test_a_folder_without_sessions_is_named_and_followed(home: Home) -> None:
    (home.folder.parent / PLACES["codex"]).mkdir(parents=True)
    ran = home.call("add", "--transcripts")
    assert "no transcripts of codex yet" in ran.err
    [folder] = home.json("add", "--list")["folders"]
    assert folder["followed"]


def test_a_removed_folder_says_how_it_comes_back(home: Home) -> None:
    written(home, "codex")
    home.call("add", "--transcripts")
    place = str(home.folder.parent / PLACES["codex"])
    ran = home.call("add", "--remove", place)
    assert "4 memories forgotten" in ran.out
    assert f"recollect add {place} --transcripts codex" in ran.out


def test_a_turn_is_found_while_the_session_is_followed(home: Home) -> None:
    """As a server follows: the follower, without waiting for the system's report of a change."""
    [file] = written(home, "claude-code")
    home.call("add", "--transcripts")
    file.write_text(file.read_text() + line(turn("claude-code", "user", "And the timeout?")))
    told: list[str] = []
    with Recollect(home=home.folder, environment=home.environment) as memory:
        [folder] = memory.folders()

        def sync(folder: Folder, scan: Scan | None) -> Synced:
            return memory.sync_folder(folder, scan)

        follower = Follower(lambda: [folder], sync, told.append, threading.Event())
        follower._follow({folder.path: (folder, (0, 0))}, {str(file)})
        assert told == ["sessions of claude-code: 1 changed"]
        assert memory.search("timeout").results[0].memory.text == "And the timeout?"
