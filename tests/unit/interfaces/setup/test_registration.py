"""Changes of a client's file: how they are written, and that nothing is lost."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from recollect.errors import UserError
from recollect.interfaces.setup import files, registration
from recollect.interfaces.setup.clients import Client, ServerCommand, find_client
from recollect.interfaces.setup.registration import (
    FileChange,
    entry_state,
    plan_entry,
    plan_removal,
    server_address,
    server_command,
)

SERVER = ServerCommand("/x/recollect", ("mcp",))
PINNED = ServerCommand("/x/recollect", ("mcp",), {"RECOLLECT_HOME": "/v"})
CURSOR, CODEX = find_client("cursor"), find_client("codex")


def written(file: Path, text: str) -> Path:
    file.write_bytes(text.encode())
    return file


def done(change: FileChange) -> str:
    change.carry_out()
    return change.file.read_bytes().decode()


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (CURSOR, '\ufeff{\r\n\t// mine\r\n\t"mcpServers": {}, /* x */\r\n}'),
        (CURSOR, '{"mcpServers":{"a":{"url":"u"}},"z":[1,2]}'),
        (CODEX, '\ufeffmodel = "o" # why\r\n\r\n[mcp_servers.a]\r\ncommand = "x"'),
        (CODEX, ""),
    ],
)
def test_setup_and_remove_give_back_the_bytes(tmp_path: Path, one: Client, text: str) -> None:
    file = written(tmp_path / "config", text)
    first = done(plan_entry(one, file, "recollect", PINNED))
    assert first != text
    assert plan_entry(one, file, "recollect", PINNED).action == "none"
    assert done(plan_entry(one, file, "recollect", SERVER)) == first, "What is pinned stays pinned."
    assert done(plan_removal(one, file, "recollect")) == text
    assert plan_removal(one, file, "recollect").action == "none"


def test_what_a_person_added_to_our_entry_stays(tmp_path: Path) -> None:
    text = """{
  "mcpServers": {
    "recollect": {
      "command": "/old/recollect", // moved
      "args": ["mcp"],
      "disabled": false,
      "env": {"OTHER": "1"}
    }
  }
}
"""
    file = written(tmp_path / "mcp.json", text)
    change = plan_entry(CURSOR, file, "recollect", PINNED)
    assert change.action == "updated"
    assert done(change) == text.replace("/old/", "/x/").replace(
        '"1"}', '"1", "RECOLLECT_HOME": "/v"}'
    )


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (CURSOR, '{"mcpServers": {"recollect": {"url": "http://x"}, "b": {}}}'),
        (CURSOR, '{"mcpServers": {"recollect": "x", "b": {}}}'),
        (CODEX, '[mcp_servers.recollect]\nurl = "http://x"\n\n[mcp_servers.b]\n'),
    ],
)
def test_an_entry_that_starts_no_command_is_replaced(
    tmp_path: Path, one: Client, text: str
) -> None:
    file = written(tmp_path / "config", text)
    change = plan_entry(one, file, "recollect", SERVER)
    assert change.action == "updated"
    after = registration.FORMATS[one.format].parse(done(change))
    assert after[one.container] == {"recollect": one.entry(SERVER), "b": {}}


@pytest.mark.parametrize("one", [CURSOR, CODEX])
def test_a_command_gives_way_to_an_address_and_what_was_added_to_that_stays(
    tmp_path: Path, one: Client
) -> None:
    file = tmp_path / "config"
    plan_entry(one, file, "recollect", SERVER).carry_out()
    plan_entry(one, file, "recollect", server_address("http://h", "T")).carry_out()
    editor = registration.FORMATS[one.format]
    entry = editor.parse(file.read_text())[one.container]["recollect"]
    assert "command" not in entry
    assert entry["url"] == "http://h/mcp"
    added = editor.with_value(file.read_text(), (one.container, "recollect", "disabled"), True)
    written(file, added)
    change = plan_entry(one, file, "recollect", server_address("https://other/x", "T"))
    after = editor.parse(done(change))[one.container]["recollect"]
    assert after == entry | {"url": "https://other/x", "disabled": True}


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:7117", "ftp://h", "http://", "http://a:b@h/mcp", "http://[x"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="--url"):
        server_address(url, "")


def test_a_token_in_place_of_its_variable_is_refused_and_not_repeated() -> None:
    with pytest.raises(UserError) as caught:
        server_address("http://h", "s3cr-t")
    assert "s3cr-t" not in str(caught.value)


def test_a_client_without_a_form_for_addresses_says_who_has_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Zed has no entry.*claude-code"):
        plan_entry(find_client("zed"), tmp_path / "x", "recollect", server_address("http://h", ""))


def test_an_entry_with_another_environment_differs_and_one_of_another_name_is_none(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mcp.json"
    plan_entry(CURSOR, file, "recollect", SERVER).carry_out()
    assert entry_state(CURSOR, file, "recollect", PINNED) == "differs"
    assert entry_state(CURSOR, file, "other", SERVER) == "no"


@pytest.mark.parametrize(
    ("one", "text", "holding"),
    [
        (CURSOR, b'{\n"a": 1\n"b": 2}', "line 3: a comma"),
        (CURSOR, b"[]", "line 1: it holds no object"),
        (CURSOR, b'{"mcpServers": []}', "`mcpServers` does not hold"),
        (CURSOR, b'{\n\n"\xff"}', "line 3: it is not UTF-8"),
        (CODEX, b"a = 1\n[x", "line 2: "),
        (CODEX, b"mcp_servers = 1\n", "`mcp_servers` does not hold"),
        (CODEX, b"mcp_servers.recollect.command = 'a'\n", "cannot be extended"),
    ],
)
def test_what_cannot_be_read_is_refused_and_left(
    tmp_path: Path, one: Client, text: bytes, holding: str
) -> None:
    file = tmp_path / "config"
    file.write_bytes(text)
    with pytest.raises(UserError) as caught:
        plan_entry(one, file, "recollect", SERVER)
    assert str(caught.value).startswith(f"{file} ")
    assert holding in str(caught.value)
    assert str(caught.value).count(". ") == 0
    assert file.read_bytes() == text


def test_a_result_that_says_something_else_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "mcp.json", '{"a": 1}')
    broken = '{"mcpServers": {"recollect": {}}}'
    monkeypatch.setattr(
        "recollect.interfaces.setup.json_edit.with_value", lambda *arguments: broken
    )
    with pytest.raises(UserError, match="nothing was changed"):
        plan_entry(CURSOR, file, "recollect", SERVER)


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nowhere yet"])
def test_a_link_stays_a_link_and_its_file_keeps_its_rights(tmp_path: Path, there: bool) -> None:
    real, link = tmp_path / "dotfiles" / "mcp.json", tmp_path / "mcp.json"
    link.symlink_to(real)
    if there:
        real.parent.mkdir()
        written(real, "{}").chmod(0o640)
    plan_entry(CURSOR, link, "recollect", SERVER).carry_out()
    assert link.is_symlink()
    assert "recollect" in real.read_text()
    assert not there or real.stat().st_mode & 0o777 == 0o640
    assert [*real.parent.iterdir()] == [real]
    assert sorted(tmp_path.iterdir()) == [real.parent, link]


def test_a_file_that_changed_meanwhile_is_left(tmp_path: Path) -> None:
    file = written(tmp_path / "mcp.json", "{}")
    change = plan_entry(CURSOR, file, "recollect", SERVER)
    written(file, '{"new": 1}')
    with pytest.raises(UserError, match="run this again"):
        change.carry_out()
    assert file.read_text() == '{"new": 1}'
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "mcp.json", "{}")
    change = plan_entry(CURSOR, file, "recollect", SERVER)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("recollect.interfaces.setup.files.os.fsync", full)
    with pytest.raises(UserError, match="cannot be written: No space left on device"):
        change.carry_out()
    assert file.read_text() == "{}"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_is_left(tmp_path: Path) -> None:
    file = written(tmp_path / "mcp.json", "{}")
    file.chmod(0o444)
    with pytest.raises(UserError, match="read-only"):
        plan_entry(CURSOR, file, "recollect", SERVER).carry_out()
    assert file.read_text() == "{}"


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        files.read_file(tmp_path)


def test_the_command_is_the_one_beside_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    module = ("-m", "recollect.interfaces.cli.main", "mcp")
    assert server_command({}, None) == ServerCommand(str(tmp_path / "python"), module)
    beside = written(tmp_path / "recollect", "")
    assert server_command({}, None) == ServerCommand(str(beside), ("mcp",))
    environment = {"RECOLLECT_HOME": "/from/shell"}
    assert server_command(environment, None).env == environment
    assert server_command(environment, Path("/told")).env == {"RECOLLECT_HOME": "/told"}
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(UserError, match="full path"):
        server_command({}, None)


def test_the_diff_does_not_show_what_is_not_ours(tmp_path: Path) -> None:
    """Next to our entry are others, with keys in them."""
    other = (
        '{\n  "mcpServers": {\n    "a": {\n      "env": {\n        "KEY": "secret"\n      }\n    }'
    )
    file = written(tmp_path / "mcp.json", other + "\n  }\n}\n")
    diff = plan_entry(CURSOR, file, "recollect", SERVER).diff()
    assert "secret" not in "\n".join(diff)
    one_line = written(tmp_path / "one.json", '{"a":"' + "x" * 9000 + '","mcpServers":{}}')
    assert all(len(line) < 500 for line in plan_entry(CURSOR, one_line, "recollect", SERVER).diff())
