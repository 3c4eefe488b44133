"""Plan changes of our hooks and our instructions in an agent's files.

Our hooks are recognised by their command. Other hooks of the same event, comments and order stay.
Our instructions, which say when to search and to save, are a block between marks.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace as changed

from recollect.errors import UserError
from recollect.interfaces.hooks.protocols import PROTOCOLS, HookEvent, HookProtocol
from recollect.interfaces.setup import files, json_edit
from recollect.interfaces.setup.clients import Machine, ServerCommand, fill
from recollect.interfaces.setup.files import Keys, without_value_at
from recollect.interfaces.setup.registration import Action, FileChange, apply_edit, read_values

HOOKS = "hooks"


def find_protocol(client: str) -> HookProtocol:
    """Return the hook protocol of that client; raise UserError if it has none."""
    if client not in PROTOCOLS:
        raise UserError(
            f"{client} has no hooks that are documented; these have: {', '.join(PROTOCOLS)}."
        )
    return PROTOCOLS[client]


def hooks_file(protocol: HookProtocol, machine: Machine, project: Path | None) -> Path:
    """Return the file with the client's hooks, for the user or in that project."""
    own, shared = protocol.files
    return Path(own.format(**machine.folders())) if project is None else project / shared


def plan_hooks(protocol: HookProtocol, file: Path, started: ServerCommand) -> FileChange:
    """Return the change that installs our hooks, or updates those with another command. Additions
    such as another time limit stay, and so does a hook's home, unless another one is set."""
    before, data = read_values(file, json_edit, HOOKS)
    commands = {event.name: _command(protocol, event, started) for event in protocol.installed}
    text, ours = before.text, 0
    for path, command in _find_ours(protocol, data):
        ours += 1
        if commands.get(path[1]) in (command, command.partition(" --home ")[0]):
            del commands[path[1]]
        else:
            text = _remove_hook(file, text, path)
    for key, value in protocol.frame.items():
        if key not in data:
            text = apply_edit(file, json_edit.with_value, text, (key,), value)
    for event in protocol.installed:
        if event.name in commands:
            # At most one message of ours in a row makes the agent continue.
            limit = 1 if event.channel == "followup" else None
            holes = {"command": commands[event.name], "loop_limit": limit}
            entry = fill(protocol.entry, holes)
            existing = _hook_lists(apply_edit(file, json_edit.parse, text)).get(event.name)
            place: Keys = (HOOKS, event.name)
            if existing is None:
                text = apply_edit(file, json_edit.with_value, text, place, [entry])
            else:
                text = apply_edit(
                    file, json_edit.with_value, text, (*place, str(len(existing))), entry
                )
    action: Action = "none" if text == before.text else "updated" if ours else "added"
    return _check_unchanged(
        protocol, FileChange(file, action, before, changed(before, text=text)), data
    )


def plan_hook_removal(protocol: HookProtocol, file: Path) -> FileChange:
    """Return the change that removes our hooks, and no others."""
    before, data = read_values(file, json_edit, HOOKS)
    text = before.text
    for path, _ in _find_ours(protocol, data):
        text = _remove_hook(file, text, path)
    action: Action = "none" if text == before.text else "removed"
    return _check_unchanged(
        protocol, FileChange(file, action, before, changed(before, text=text)), data
    )


def _command(protocol: HookProtocol, event: HookEvent, started: ServerCommand) -> str:
    """Return the shell command of this installation's `recollect hook`, with the home that is
    set."""
    *start, _ = (started.command, *started.args)
    home = started.env.get("RECOLLECT_HOME")
    parts = [*start, "hook", event.name, "--client", protocol.client]
    parts += ["--home", home] if home else []
    return subprocess.list2cmdline(parts) if sys.platform == "win32" else shlex.join(parts)


def _hook_lists(data: dict[str, Any]) -> dict[str, list[Any]]:
    """Return event → its hooks."""
    return {name: items for name, items in data.get(HOOKS, {}).items() if isinstance(items, list)}


def _find_ours(protocol: HookProtocol, data: dict[str, Any]) -> list[tuple[Keys, str]]:
    """Return the paths and commands of our hooks, last first, so that removing one moves no other.
    The path of a group is returned if it holds nothing else."""
    found: list[tuple[Keys, str]] = []
    for name, items in _hook_lists(data).items():
        for number, item in enumerate(items):
            path: Keys = (HOOKS, name, str(number))
            if not isinstance(item, dict):
                continue
            if _is_ours(protocol, item):
                found.append((path, item["command"]))
            inside = item.get(HOOKS)
            for at, hook in enumerate(inside if isinstance(inside, list) else ()):
                if _is_ours(protocol, hook):
                    alone = len(item[HOOKS]) == 1
                    found.append((path if alone else (*path, HOOKS, str(at)), hook["command"]))
    return found[::-1]


def _is_ours(protocol: HookProtocol, hook: object) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    if not isinstance(command, str) or "recollect" not in command:
        return False
    return " hook " in command and f"--client {protocol.client}" in command


def _remove_hook(file: Path, text: str, path: Keys) -> str:
    """Return the text without that hook, and without a list that becomes empty."""
    text = apply_edit(file, json_edit.without, text, path)
    if not _hook_lists(apply_edit(file, json_edit.parse, text)).get(path[1], [None]):
        text = apply_edit(file, json_edit.without, text, path[:2])
    return text


def _check_unchanged(
    protocol: HookProtocol, change: FileChange, data: dict[str, Any]
) -> FileChange:
    """Raise UserError if the new text changes anything but our hooks."""
    after = apply_edit(change.file, json_edit.parse, change.after.text)
    if _other_values(protocol, after) != _other_values(protocol, data):
        raise UserError(
            f"{change.file} writes its hooks in a way that cannot be changed safely, so nothing "
            "was changed; change it by hand."
        )
    return change


def _other_values(protocol: HookProtocol, data: dict[str, Any]) -> dict[str, Any]:
    """Return the values without our hooks, empty lists, and the protocol's frame."""
    for path, _ in _find_ours(protocol, data):
        data = without_value_at(data, path)
    rest = {key: value for key, value in data.items() if key not in (HOOKS, *protocol.frame)}
    return rest | {HOOKS: {name: items for name, items in data.get(HOOKS, {}).items() if items}}


BEGIN = "<!-- recollect: begin; `recollect setup` writes this block -->"
END = "<!-- recollect: end -->"
BLOCK = """\
## Memory

Recollect keeps what earlier sessions learned. Its MCP tools:

- When a task begins, call `memory_context`, unless a hook has shown it already.
- Before you decide something or ask the user, call `memory_search`; the answer may be there.
- When the user decides, corrects you or states a preference, and when a bug is understood, call
  `memory_save`: one thing each, with why.
- When a memory is no longer true, call `memory_update`. Do not save a second one beside it."""

# The instruction files of each client, for the user and in a project; from their documentation:
# code.claude.com/docs/en/memory, developers.openai.com/codex/guides/agents-md,
# geminicli.com/docs/cli/gemini-md, cursor.com/docs/rules, docs.github.com/en/copilot (custom
# instructions), opencode.ai/docs/rules.
INSTRUCTION_FILES: Mapping[str, tuple[str, str]] = {
    "claude-code": ("{claude}/CLAUDE.md", "CLAUDE.md"),
    "codex": ("{codex}/AGENTS.md", "AGENTS.md"),
    "gemini-cli": ("{home}/.gemini/GEMINI.md", "GEMINI.md"),
    "qwen-code": ("{home}/.qwen/QWEN.md", "QWEN.md"),
    "cursor": ("", "AGENTS.md"),
    "copilot-cli": ("{copilot}/copilot-instructions.md", ".github/copilot-instructions.md"),
    "opencode": ("{config}/opencode/AGENTS.md", "AGENTS.md"),
}


def instruction_file(client: str, machine: Machine, project: Path | None) -> Path:
    """Return the client's instruction file, for the user or in that project."""
    if client not in INSTRUCTION_FILES:
        known = ", ".join(INSTRUCTION_FILES)
        raise UserError(
            f"{client} has no instruction file that is documented; these have: {known}."
        )
    own, shared = INSTRUCTION_FILES[client]
    if project is not None:
        return project / shared
    if not own:
        raise UserError(f"{client} reads instructions in projects only. Add --project.")
    return Path(own.format(**machine.folders()))


def plan_block(file: Path, block: str | None) -> FileChange:
    """Return the change that adds the block at the end of the file, or updates it; with None, the
    change that removes it."""
    before = files.read_file(file)
    newline = "\r\n" if "\r\n" in before.text else "\n"
    found = _find_block(file, before.text)
    marked = block and newline.join([BEGIN, *block.splitlines(), END])
    if found is None and marked:
        gap = newline if before.text.endswith("\n") or not before.text else newline * 2
        text = f"{before.text}{gap if before.text else ''}{marked}{newline}"
    elif found is None:
        text = before.text
    else:
        start, end = found
        head, tail = before.text[:start], before.text[end:]
        if not marked:
            head = head.removesuffix(newline)
            tail = tail.removeprefix(newline)
        text = head + (marked or "") + tail
    action: Action = "none"
    if text != before.text:
        action = "removed" if not marked else "added" if found is None else "updated"
    return FileChange(file, action, before, changed(before, text=text))


def _find_block(file: Path, text: str) -> tuple[int, int] | None:
    """Return the span of the block, or None; raise UserError if its marks are damaged."""
    begins, ends = text.count(BEGIN), text.count(END)
    if not begins and not ends:
        return None
    start, end = text.find(BEGIN), text.find(END)
    if (begins, ends) != (1, 1) or end < start:
        raise UserError(
            f"{file} cannot be changed: the marks of Recollect's block are damaged; remove them "
            "by hand. Nothing was changed."
        )
    return start, end + len(END)
