"""Our hooks and our block in a client's files: written once, updated, removed; the rest stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.errors import UserError
from recollect.interfaces.hooks.protocols import PROTOCOLS, HookProtocol
from recollect.interfaces.setup.agent_files import (
    BEGIN,
    BLOCK,
    END,
    INSTRUCTION_FILES,
    find_protocol,
    hooks_file,
    instruction_file,
    plan_block,
    plan_hook_removal,
    plan_hooks,
)
from recollect.interfaces.setup.clients import CLIENTS, Machine, ServerCommand
from recollect.interfaces.setup.json_edit import parse
from recollect.interfaces.setup.registration import FileChange

SERVER = ServerCommand("/x/recollect", ("mcp",))
MOVED = ServerCommand("/y y/recollect", ("mcp",))
PINNED = ServerCommand("/x/recollect", ("mcp",), {"RECOLLECT_HOME": "/v"})
CLAUDE = PROTOCOLS["claude-code"]
ALL = pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
OTHERS = """\
{
  // mine
  "model": "opus",
  "hooks": {
    "SessionStart": [
      // first
      {"hooks": [{"type": "command", "command": "echo hi"}]} // tail
    ],
    "PreToolUse": [{"matcher": "Bash", "hooks": []}],
  }
}
"""


def done(change: FileChange) -> str:
    change.carry_out()
    return change.file.read_bytes().decode()


@ALL
def test_hooks_are_installed_once_and_removed(tmp_path: Path, protocol: HookProtocol) -> None:
    file = tmp_path / "new" / "hooks.json"
    change = plan_hooks(protocol, file, SERVER)
    assert change.action == "added"
    hooks = json.loads(done(change))["hooks"]
    assert list(hooks) == [event.name for event in protocol.installed]
    for name, entries in hooks.items():
        command = f"/x/recollect hook {name} --client {protocol.client}"
        assert json.dumps(entries).count(command) == 1
    assert plan_hooks(protocol, file, SERVER).action == "none"
    removed = plan_hook_removal(protocol, file)
    assert removed.action == "removed"
    assert json.loads(done(removed)) == {**protocol.frame, "hooks": {}}
    assert plan_hook_removal(protocol, file).action == "none"


@pytest.mark.parametrize("text", [OTHERS, OTHERS.replace("\n", "\r\n"), '{"hooks":{}}', "{}\n"])
def test_removing_gives_back_the_bytes(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(text.encode())
    after = done(plan_hooks(CLAUDE, file, SERVER))
    assert len(parse(after)["hooks"]["SessionStart"]) == 1 + text.count("echo hi")
    back = done(plan_hook_removal(CLAUDE, file))
    assert back == text or parse(back) == {"hooks": {}}
    if text.count("echo hi"):
        assert back == text


def test_a_hook_that_moved_is_updated_in_place_of_a_second_one(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(OTHERS, encoding="utf-8")
    done(plan_hooks(CLAUDE, file, PINNED))
    change = plan_hooks(CLAUDE, file, MOVED)
    assert change.action == "updated"
    after = done(change)
    assert after.count("--client claude-code") == len(CLAUDE.installed)
    assert "'/y y/recollect' hook Stop --client claude-code" in after
    assert "echo hi" in after


def test_what_somebody_changed_in_our_hook_stays_and_so_does_its_home(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    text = done(plan_hooks(CLAUDE, file, PINNED)).replace('"timeout": 5', '"timeout": 60')
    assert "--home /v" in text
    file.write_text(text, encoding="utf-8")
    assert plan_hooks(CLAUDE, file, SERVER).action == "none"
    assert plan_hooks(CLAUDE, file, PINNED).action == "none"


def test_a_hook_of_ours_in_a_group_of_others_leaves_the_others(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    ours = "/old/recollect hook Stop --client claude-code"
    group = [{"type": "command", "command": c} for c in ("echo a", ours, "echo recollect hook b")]
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": group}]}}), encoding="utf-8")
    left = json.loads(done(plan_hook_removal(CLAUDE, file)))["hooks"]["Stop"]
    assert [hook["command"] for hook in left[0]["hooks"]] == ["echo a", "echo recollect hook b"]


@pytest.mark.parametrize(
    "text", ['{"hooks": [', '{"hooks": [1]}', '{"hooks": {"Stop": {"a": 1}}}', "[]", "{,}"]
)
def test_a_file_that_cannot_be_changed_is_named_and_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"settings\.json"):
        plan_hooks(CLAUDE, file, SERVER)
    assert file.read_text(encoding="utf-8") == text


def test_the_files_are_those_of_the_clients(tmp_path: Path) -> None:
    machine = Machine({"HOME": "/h", "CODEX_HOME": "/c"}, "linux")
    places = {name: str(hooks_file(each, machine, None)) for name, each in PROTOCOLS.items()}
    assert places == {
        "claude-code": "/h/.claude/settings.json",
        "codex": "/c/hooks.json",
        "gemini-cli": "/h/.gemini/settings.json",
        "cursor": "/h/.cursor/hooks.json",
        "copilot-cli": "/h/.copilot/hooks/recollect.json",
    }
    assert hooks_file(CLAUDE, machine, tmp_path) == tmp_path / ".claude/settings.json"
    with pytest.raises(UserError, match="zed has no hooks"):
        find_protocol("zed")


@pytest.mark.parametrize("text", ["# Ours\n", "# Ours", "# A\r\n\r\nb\r\n", "\ufeff# Ours\n", ""])
def test_the_block_is_written_once_and_removing_gives_back_the_bytes(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_bytes(text.encode())
    change = plan_block(file, BLOCK)
    assert change.action == "added"
    after = done(change)
    assert after.startswith(text)
    assert after.count(BEGIN) == after.count(END) == 1
    assert "\n" not in after.replace("\r\n", "") or "\r\n" not in text
    assert plan_block(file, BLOCK).action == "none"
    removed = plan_block(file, None)
    assert removed.action == "removed"
    assert done(removed).rstrip("\r\n") == text.rstrip("\r\n")
    assert plan_block(file, None).action == "none"


def test_an_older_block_is_replaced_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "CLAUDE.md"
    file.write_text(f"before\n\n{BEGIN}\nold words\n{END}\n\nafter\n", encoding="utf-8")
    change = plan_block(file, BLOCK)
    assert change.action == "updated"
    assert change.after.text == f"before\n\n{BEGIN}\n{BLOCK}\n{END}\n\nafter\n"


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}"])
def test_damaged_marks_are_named_and_the_file_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text(text, encoding="utf-8")
    for block in (BLOCK, None):
        with pytest.raises(UserError, match=r"AGENTS\.md cannot be changed.*damaged"):
            plan_block(file, block)


def test_each_client_has_its_file(tmp_path: Path) -> None:
    machine = Machine({"HOME": "/h"}, "linux")
    assert set(INSTRUCTION_FILES) <= set(CLIENTS)
    assert instruction_file("claude-code", machine, None) == Path("/h/.claude/CLAUDE.md")
    assert instruction_file("codex", machine, tmp_path) == tmp_path / "AGENTS.md"
    with pytest.raises(UserError, match="Add --project"):
        instruction_file("cursor", machine, None)
    with pytest.raises(UserError, match="zed has no instruction file"):
        instruction_file("zed", machine, None)
