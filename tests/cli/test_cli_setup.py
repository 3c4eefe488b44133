"""`recollect setup`: registered with a client, shown, repeated, taken out again."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from commandline import ESCAPE, RECOLLECT, Home, check_error, check_usage_error

from recollect.interfaces.setup.clients import CLIENTS

ENTRY = {"command": RECOLLECT, "args": ["mcp"]}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.folder.mkdir()
    del made.environment["RECOLLECT_HOME"]
    return made


def parse(file: Path) -> object:
    text = file.read_text(encoding="utf-8")
    return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)


@pytest.mark.parametrize("name", CLIENTS)
def test_each_client_is_registered_once_and_taken_out_again(home: Home, name: str) -> None:
    printed = home.json("setup", name)
    file = Path(printed["file"])
    assert file.is_relative_to(home.folder)
    assert (printed["client"], printed["changed"], printed["action"]) == (name, True, "added")
    first = file.read_bytes()
    again = home.call("setup", name)
    assert "already registered" in again.out
    assert file.read_bytes() == first
    assert home.json("setup", name)["action"] == "none"
    [row] = [row for row in home.json("setup", "--list") if row["client"] == name]
    assert row["registered"] == "yes"
    assert home.json("setup", name, "--remove")["action"] == "removed"
    assert home.call("setup", name, "--remove").code == 0
    container = CLIENTS[name].container
    assert parse(file) == ({} if file.suffix == ".toml" else {container: {}})


@pytest.mark.parametrize("name", CLIENTS)
def test_a_broken_file_is_refused_for_each_client(home: Home, name: str) -> None:
    file = Path(home.json("setup", name, "--dry-run")["file"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{\n  "a": \n', encoding="utf-8")
    for args in ((name,), (name, "--dry-run"), (name, "--remove")):
        check_error(home.call("setup", *args), str(file), "line ", "nothing was changed")
    assert file.read_text(encoding="utf-8") == '{\n  "a": \n'
    [row] = [row for row in home.json("setup", "--list") if row["client"] == name]
    assert row["registered"] == "unreadable"


@pytest.mark.installed
def test_the_installed_command_shows_the_change_the_file_and_the_next_step(home: Home) -> None:
    file = home.folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{\n  "mcpServers": {\n    "a": {"url": "u"}\n  }\n}\n', encoding="utf-8")
    ran = home.run("setup", "cursor")
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.out
        == f"""\
--- {file}
+++ {file}
@@ -2,3 +2,7 @@
   "mcpServers": {{
-    "a": {{"url": "u"}}
+    "a": {{"url": "u"}},
+    "recollect": {{
+      "command": "{RECOLLECT}",
+      "args": ["mcp"]
+    }}
   }}

recollect is registered with Cursor.
Next: {CLIENTS["cursor"].next}
"""
    )
    assert parse(file) == {"mcpServers": {"a": {"url": "u"}, "recollect": ENTRY}}


def test_a_dry_run_shows_the_same_and_writes_nothing(home: Home) -> None:
    dry = home.call("setup", "claude-code", "--dry-run")
    assert "would be registered" in dry.out
    assert "Nothing was written" in dry.out
    assert list(home.folder.iterdir()) == []
    printed = home.json("setup", "claude-code", "--dry-run")
    assert (printed["changed"], printed["action"]) == (False, "added")
    assert printed["diff"] == home.json("setup", "claude-code")["diff"]


def test_comments_of_zed_and_codex_stay(home: Home) -> None:
    zed = home.folder / ".config" / "zed" / "settings.json"
    codex = home.folder / ".codex" / "config.toml"
    settings = '// Zed settings\n{\n  "theme": "One", // dark\n  "context_servers": {},\n}\n'
    config = '# mine\nmodel = "o" # best\n\n[mcp_servers.a]\ncommand = "x"\n'
    for file, text in ((zed, settings), (codex, config)):
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
    assert home.call("setup", "zed").code == home.call("setup", "codex").code == 0
    assert "// dark" in zed.read_text(encoding="utf-8")
    assert codex.read_text(encoding="utf-8").startswith(config)
    home.call("setup", "zed", "--remove")
    home.call("setup", "codex", "--remove")
    assert zed.read_text(encoding="utf-8") == settings
    assert codex.read_text(encoding="utf-8") == config


def test_an_entry_that_starts_another_command_is_brought_up_to_date(home: Home) -> None:
    file = home.folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"recollect": {"command": "old"}}}', encoding="utf-8")
    [row] = [row for row in home.json("setup", "--list") if row["client"] == "cursor"]
    assert row["registered"] == "differs"
    ran = home.call("setup", "cursor")
    assert "its entry is updated" in ran.out
    assert "-" + '{"mcpServers": {"recollect": {"command": "old"}}}' in ran.out
    assert parse(file) == {"mcpServers": {"recollect": ENTRY}}


def test_a_home_is_pinned_when_told_or_set(home: Home, tmp_path: Path) -> None:
    file = home.folder / ".cursor" / "mcp.json"
    ran = home.call("setup", "cursor", using={"RECOLLECT_HOME": "/from/shell"})
    assert "RECOLLECT_HOME is set here" in ran.out
    assert '"RECOLLECT_HOME": "/from/shell"' in file.read_text(encoding="utf-8")
    home.call("setup", "cursor", using={"RECOLLECT_HOME": "shell"})
    assert f'"RECOLLECT_HOME": "{Path.cwd() / "shell"}"' in file.read_text(encoding="utf-8")
    ran = home.call("setup", "cursor", "--home", "~/vault/../v")
    assert "RECOLLECT_HOME is set here" not in ran.out
    pinned = {"env": {"RECOLLECT_HOME": str(home.folder / "v")}}
    assert parse(file) == {"mcpServers": {"recollect": ENTRY | pinned}}


def test_another_name_is_another_entry(home: Home) -> None:
    home.call("setup", "codex")
    home.call("setup", "codex", "--name", "work", "--home", "/w")
    found = parse(home.folder / ".codex" / "config.toml")
    work = ENTRY | {"env": {"RECOLLECT_HOME": "/w"}}
    assert found == {"mcp_servers": {"recollect": ENTRY, "work": work}}
    check_error(home.call("setup", "codex", "--name", "a b"), "--name 'a b'")


def test_a_project_has_its_own_file_at_the_root_of_the_repository(
    home: Home, tmp_path: Path
) -> None:
    below = tmp_path / "repo" / "src"
    below.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    ran = home.run("setup", "claude-code", "--project", cwd=below)
    assert "on this machine" in ran.out
    entry = {"type": "stdio"} | ENTRY
    assert parse(tmp_path / "repo" / ".mcp.json") == {"mcpServers": {"recollect": entry}}
    listed = home.run("setup", "--list", "--project", "--json", cwd=below).json()
    assert "claude-desktop" not in {row["client"] for row in listed}
    assert listed[0]["registered"] == "yes"
    check_error(home.call("setup", "claude-desktop", "--project"), "--project", "cursor")


def test_the_list_names_file_and_state_of_every_client(home: Home) -> None:
    (home.folder / ".cursor").mkdir()
    home.call("setup", "cursor")
    listed = home.call("setup")
    assert listed.out == home.call("setup", "--list").out
    [line] = [line for line in listed.out.splitlines() if line.startswith("cursor")]
    assert line.split() == ["cursor", "yes", "yes", str(home.folder / ".cursor/mcp.json")]
    rows = home.json("setup", "--list")
    assert [row["client"] for row in rows] == list(CLIENTS)
    assert [row["client"] for row in rows if row["installed"]] == ["cursor"]


def test_wrong_calls_are_told_how(home: Home) -> None:
    check_error(home.call("setup", "emacs"), "no client 'emacs'", "claude-code")
    check_error(home.call("setup", "--remove"), "Name a client", code=2)
    check_error(home.call("setup", "--list", "zed"), "--list", code=2)
    check_error(home.call("setup", "zed", "--remove", "--home", "/v"), "--home", code=2)
    check_error(home.call("setup", "codex", "--url", "http://h", "--hooks"), "--url", code=2)
    check_error(home.call("setup", "codex", "--token-env", "T"), "--url", code=2)
    check_usage_error(home.call("setup", "zed", "--list", "--remove"), "not allowed with")
    check_error(home.call("setup", "zed", using={"HOME": ""}), "HOME is not set")


def test_a_server_that_runs_already_is_registered_by_its_address(home: Home) -> None:
    args = ("setup", "claude-code", "--url", "http://127.0.0.1:7117", "--token-env", "T")
    file = Path(home.json(*args)["file"])
    headers = {"Authorization": "Bearer ${T}"}
    entry = {"type": "http", "url": "http://127.0.0.1:7117/mcp", "headers": headers}
    assert parse(file) == {"mcpServers": {"recollect": entry}}
    assert "already registered" in home.call(*args).out


def test_colour_is_for_terminals(home: Home) -> None:
    assert f"{ESCAPE}[32m+" in home.on_terminal("setup", "zed", "--dry-run").out
    plain = home.on_terminal("setup", "zed", "--dry-run", using={"NO_COLOR": "1"}).out
    assert ESCAPE not in plain
