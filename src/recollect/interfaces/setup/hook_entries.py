"""Our hooks in a client's file: what is to change there, as `registration` has it for servers.

An entry is ours by its command. Other hooks of the same event, comments and order stay.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from msgspec.structs import replace as changed

from recollect.errors import UserError
from recollect.interfaces.hooks.protocols import PROTOCOLS, HookEvent, HookProtocol
from recollect.interfaces.setup import json_edit
from recollect.interfaces.setup.clients import Machine, ServerCommand, fill
from recollect.interfaces.setup.files import Keys, without_value_at
from recollect.interfaces.setup.registration import Action, FileChange, apply_edit, read_values

HOOKS = "hooks"


def find_protocol(client: str) -> HookProtocol:
    """The hook protocol of that client."""
    if client not in PROTOCOLS:
        raise UserError(
            f"{client} has no hooks that are documented; these have: {', '.join(PROTOCOLS)}."
        )
    return PROTOCOLS[client]


def hooks_file(protocol: HookProtocol, machine: Machine, project: Path | None) -> Path:
    """The file that holds the client's hooks, for the user or in that project."""
    own, shared = protocol.files
    return Path(own.format(**machine.folders())) if project is None else project / shared


def plan_hooks(protocol: HookProtocol, file: Path, started: ServerCommand) -> FileChange:
    """The change that installs our hooks, or updates those whose command differs. What somebody
    has added to a hook of ours, such as another time limit, stays, and so does its home until
    another is named."""
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
            # After one message of ours the agent is not asked again in a row.
            limit = 1 if event.channel == "followup" else None
            holes = {"command": commands[event.name], "loop_limit": limit}
            entry = fill(protocol.entry, holes)
            stands = _hook_lists(apply_edit(file, json_edit.parse, text)).get(event.name)
            place: Keys = (HOOKS, event.name)
            if stands is None:
                text = apply_edit(file, json_edit.with_value, text, place, [entry])
            else:
                text = apply_edit(
                    file, json_edit.with_value, text, (*place, str(len(stands))), entry
                )
    action: Action = "none" if text == before.text else "updated" if ours else "added"
    return _check_unchanged(
        protocol, FileChange(file, action, before, changed(before, text=text)), data
    )


def plan_hook_removal(protocol: HookProtocol, file: Path) -> FileChange:
    """The change that removes our hooks, and no others."""
    before, data = read_values(file, json_edit, HOOKS)
    text = before.text
    for path, _ in _find_ours(protocol, data):
        text = _remove_hook(file, text, path)
    action: Action = "none" if text == before.text else "removed"
    return _check_unchanged(
        protocol, FileChange(file, action, before, changed(before, text=text)), data
    )


def _command(protocol: HookProtocol, event: HookEvent, started: ServerCommand) -> str:
    """What a shell runs: this installation's `recollect hook`, for the home that is set."""
    *start, _ = (started.command, *started.args)
    home = started.env.get("RECOLLECT_HOME")
    parts = [*start, "hook", event.name, "--client", protocol.client]
    parts += ["--home", home] if home else []
    return subprocess.list2cmdline(parts) if sys.platform == "win32" else shlex.join(parts)


def _hook_lists(data: dict[str, Any]) -> dict[str, list[Any]]:
    """The hooks of each event."""
    return {name: items for name, items in data.get(HOOKS, {}).items() if isinstance(items, list)}


def _find_ours(protocol: HookProtocol, data: dict[str, Any]) -> list[tuple[Keys, str]]:
    """Where hooks of ours stand, and their commands; the last first, so that none moves when
    another goes. A group that holds nothing else goes as a whole."""
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
    """The text without that hook, and without a list that it leaves empty."""
    text = apply_edit(file, json_edit.without, text, path)
    if not _hook_lists(apply_edit(file, json_edit.parse, text)).get(path[1], [None]):
        text = apply_edit(file, json_edit.without, text, path[:2])
    return text


def _check_unchanged(
    protocol: HookProtocol, change: FileChange, data: dict[str, Any]
) -> FileChange:
    """Refuse a new text that changes anything but our hooks."""
    after = apply_edit(change.file, json_edit.parse, change.after.text)
    if _other_values(protocol, after) != _other_values(protocol, data):
        raise UserError(
            f"{change.file} writes its hooks in a way that cannot be changed safely, so nothing "
            "was changed; change it by hand."
        )
    return change


def _other_values(protocol: HookProtocol, data: dict[str, Any]) -> dict[str, Any]:
    """The values without our hooks, empty lists, and what the file must have anyway."""
    for path, _ in _find_ours(protocol, data):
        data = without_value_at(data, path)
    rest = {key: value for key, value in data.items() if key not in (HOOKS, *protocol.frame)}
    return rest | {HOOKS: {name: items for name, items in data.get(HOOKS, {}).items() if items}}
