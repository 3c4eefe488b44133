"""Plan and carry out changes of our entry in a client's file.

`plan_entry` and `plan_removal` only read; `FileChange.carry_out` writes. Before that, the new text
is parsed again: nothing but our entry may have changed.
"""

from __future__ import annotations

import copy
import difflib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace as changed

from recollect.errors import UserError
from recollect.home import home_path
from recollect.interfaces.setup import files, json_edit, toml_edit
from recollect.interfaces.setup.clients import Client, ServerAddress, ServerCommand
from recollect.interfaces.setup.files import Keys, Malformed, leaves, value_at, with_value_at

Action = Literal["added", "updated", "removed", "none"]
State = Literal["yes", "no", "differs", "unreadable"]
T = TypeVar("T")
# An entry has one of these keys: the server's command, or its address.
REACHED_BY = ("command", "url", "httpUrl")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # valid for every client, Codex being the strictest
AROUND = 1  # lines shown around a change; few, since other entries may contain keys
WIDEST = 400  # longer lines are cut: a file may be one line


class Format(Protocol):
    """Protocol of the modules that edit one format."""

    def parse(self, text: str) -> dict[str, Any]: ...
    def with_value(self, text: str, path: Keys, value: Any) -> str: ...
    def without(self, text: str, path: Keys) -> str: ...


FORMATS: Mapping[str, Format] = {"json": json_edit, "toml": toml_edit}


class FileChange(Struct, frozen=True):
    """A planned change of a client's file."""

    file: Path
    action: Action
    before: files.FileText
    after: files.FileText

    def carry_out(self) -> None:
        if self.action != "none":
            files.replace_file(self.file, self.before, self.after)

    def diff(self) -> list[str]:
        """Return the change as the lines of a unified diff; [] if nothing changes."""
        if self.action == "none":
            return []
        old = str(self.file) if self.before.exists else "/dev/null"
        texts = (_lines(self.before.text), _lines(self.after.text))
        found = difflib.unified_diff(*texts, old, str(self.file), n=AROUND, lineterm="")
        return [_shorten(line) for line in found]


def server_command(environment: Mapping[str, str], home: Path | None) -> ServerCommand:
    """Return the command that starts this installation's server without a shell or PATH."""
    if not sys.executable:
        raise UserError("Python does not know its own path. Start recollect by its full path.")
    python = Path(sys.executable)
    command = python.with_name("recollect.exe" if sys.platform == "win32" else "recollect")
    pinned = home is not None or environment.get("RECOLLECT_HOME")
    folder = home or Path(home_path(environment)).absolute()  # clients start it anywhere
    env = {"RECOLLECT_HOME": str(folder)} if pinned else {}
    if command.is_file():
        return ServerCommand(str(command), ("mcp",), env)
    return ServerCommand(str(python), ("-m", "recollect.interfaces.cli.main", "mcp"), env)


def check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise UserError(
            f"--name {name!r}: an entry's name is 1 to 64 letters, digits, hyphens and underscores."
        )
    return name


def server_address(url: str, token_env: str) -> ServerAddress:
    """Check the address of a server; add `/mcp` if it has no path."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.username is not None:
        raise UserError(
            f"--url {url!r}: the address begins with http:// or https:// and a host, and holds no "
            "password; `recollect serve` prints it."
        )
    if token_env and not VARIABLE.fullmatch(token_env):
        raise UserError("--token-env takes the name of an environment variable, not the token.")
    return ServerAddress(url.rstrip("/") + "/mcp" if parts.path in ("", "/") else url, token_env)


def plan_entry(
    client: Client, file: Path, name: str, server: ServerCommand | ServerAddress
) -> FileChange:
    """Return the change that adds our entry to the file, or updates it.

    Only the keys that say how to reach the server are changed. An entry of our name that reaches it
    in another way is replaced.
    """
    before, data = _read(client, file)
    path = (client.container, name)
    wanted = client.entry(server)
    entry = value_at(data, path)
    if not isinstance(entry, dict) or not any(key in entry for key in REACHED_BY if key in wanted):
        parts: list[tuple[Keys, Any]] = [(path, wanted)]
    else:
        parts = [
            (path + below, value)
            for below, value in leaves(wanted)
            if value_at(entry, below) != value
        ]
    if not parts:
        return FileChange(file, "none", before, before)
    editor = FORMATS[client.format]
    text, expected = before.text, data
    for place, value in parts:
        text = apply_edit(file, editor.with_value, text, place, value)
        expected = with_value_at(expected, place, value)
    _check(client, file, text, expected)
    action: Action = "added" if entry is None else "updated"
    return FileChange(file, action, before, changed(before, text=text))


def plan_removal(client: Client, file: Path, name: str) -> FileChange:
    """Return the change that removes our entry; its container stays, even if empty."""
    before, data = _read(client, file)
    path = (client.container, name)
    if value_at(data, path) is None:
        return FileChange(file, "none", before, before)
    text = apply_edit(file, FORMATS[client.format].without, before.text, path)
    expected = copy.deepcopy(data)
    del expected[client.container][name]
    _check(client, file, text, expected)
    return FileChange(file, "removed", before, changed(before, text=text))


def entry_state(client: Client, file: Path, name: str, started: ServerCommand) -> State:
    """Return whether our entry is in the client's file and up to date."""
    try:
        _, data = _read(client, file)
    except UserError:
        return "unreadable"
    entry = value_at(data, (client.container, name))
    if not isinstance(entry, dict):
        return "no"
    ours = all(value_at(entry, below) == value for below, value in leaves(client.entry(started)))
    return "yes" if ours else "differs"


def _read(client: Client, file: Path) -> tuple[files.FileText, dict[str, Any]]:
    return read_values(file, FORMATS[client.format], client.container)


def read_values(
    file: Path, format: Format, container: str
) -> tuple[files.FileText, dict[str, Any]]:
    """Return the file's text and values; raise UserError if its container is not an object."""
    found = files.read_file(file)
    data = apply_edit(file, format.parse, found.text)
    if not isinstance(data.get(container, {}), dict):
        raise UserError(
            f"{file} cannot be changed: its `{container}` does not hold names and entries; "
            "correct it first."
        )
    return found, data


def apply_edit(file: Path, edit: Callable[..., T], *arguments: Any) -> T:
    """Return the edit's result; raise UserError with the file's name if the text is malformed."""
    try:
        return edit(*arguments)
    except Malformed as error:
        raise UserError(f"{file} cannot be read, {error}; nothing was changed.") from error


def _check(client: Client, file: Path, text: str, expected: dict[str, Any]) -> None:
    """Raise UserError if the new text does not have exactly the expected values."""
    try:
        written = FORMATS[client.format].parse(text)
    except Malformed:
        written = {}
    if _without_empty(written, client.container) != _without_empty(expected, client.container):
        raise UserError(
            f"{file} writes `{client.container}` in a way that cannot be changed safely, so "
            "nothing was changed; put its entries into tables of their own, or change it by hand."
        )


def _without_empty(data: dict[str, Any], container: str) -> dict[str, Any]:
    """Return the data without an empty container, which means the same as a missing one."""
    return {key: value for key, value in data.items() if key != container or value}


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _shorten(line: str) -> str:
    if len(line) <= WIDEST:
        return line
    return f"{line[: WIDEST // 2]} … {line[-WIDEST // 2 :]}"
