"""The known MCP clients: the files with their servers, and the form of an entry.

`clients.json` has an object for each, taken only from a client's documentation or its own files. A
path begins with a folder in braces, see `Machine.folders`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from recollect.errors import UserError

System = Literal["linux", "macos", "windows"]
SYSTEMS: Mapping[str, System] = {"darwin": "macos", "win32": "windows"}  # others are like Linux
HOLE = re.compile(r"<(\w+)>")
USUAL = {"command": "<command>", "args": "<args>", "env": "<env>"}  # the entry that most share


class ServerCommand(Struct, frozen=True):
    """The command that starts the server."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class ServerAddress(Struct, frozen=True):
    """The address of a running server, and the client's environment variable with its token, if it
    needs one."""

    url: str
    token_env: str = ""


class Machine(Struct, frozen=True):
    """The machine as its environment variables describe it."""

    environment: Mapping[str, str]
    system: System = SYSTEMS.get(sys.platform, "linux")

    def folders(self) -> dict[str, str]:
        """Return the folders that a client's path may begin with."""
        home = self._home()
        cline = self._folder("CLINE_DIR", home / ".cline")
        folders = {
            "home": home,
            "config": self._folder("XDG_CONFIG_HOME", home / ".config", absolute=True),
            "support": home / "Library" / "Application Support",
            "appdata": self._folder("APPDATA", home / "AppData" / "Roaming"),
            "localappdata": self._folder("LOCALAPPDATA", home / "AppData" / "Local"),
            # Claude Code keeps these apart unless its variable is set.
            "claude": self._folder("CLAUDE_CONFIG_DIR", home / ".claude"),
            "claude_state": self._folder("CLAUDE_CONFIG_DIR", home),
            "cline": self._folder("CLINE_DATA_DIR", cline / "data"),
            "codex": self._folder("CODEX_HOME", home / ".codex"),
            "copilot": self._folder("COPILOT_HOME", home / ".copilot"),
        }
        return {name: str(folder) for name, folder in folders.items()}

    def expand(self, path: str) -> Path:
        """Return a path with `~` replaced by the home."""
        if path == "~" or path.startswith(("~/", "~\\")):
            return self._home() / path[2:]
        return Path(path)

    def _home(self) -> Path:
        names = ("USERPROFILE", "HOME") if self.system == "windows" else ("HOME",)
        home = next((self.environment[name] for name in names if self.environment.get(name)), "")
        if not home:
            raise UserError(f"{names[0]} is not set, so no client's files can be found; set it.")
        return Path(home)

    def _folder(self, variable: str, otherwise: Path, *, absolute: bool = False) -> Path:
        """Return the folder in an environment variable, or `otherwise`."""
        path = self.environment.get(variable)
        if not path or (absolute and not Path(path).is_absolute()):
            return otherwise
        return self.expand(path)


class Client(Struct, frozen=True):
    """One client.

    `files`: the user's files, by system; the first that exists is used, else the last. A path with
    a star is used if the starred folder exists: a packaged app sees only its own copy of a folder.
    `project`: the file in a project, or "". `starts`: the entry that starts the server; `reaches`:
    that of a running server; both are templates for `fill`. A template without a hole for the
    token's variable means that the client reads none. `sign`: a folder that shows that the client
    is installed; without it, its file's folder does. `next`: what to do after registering the
    server.
    """

    name: str
    title: str
    files: dict[System | Literal["any"], tuple[str, ...]]
    next: str
    container: str = "mcpServers"
    starts: dict[str, Any] = field(default_factory=lambda: dict(USUAL))
    reaches: dict[str, Any] | None = None
    format: Literal["json", "toml"] = "json"
    project: str = ""
    sign: str = ""

    def file(self, machine: Machine, project: Path | None) -> Path:
        """Return the file with the client's servers, for the user or in that project."""
        if project is not None:
            if self.project:
                return project / self.project
            having = ", ".join(known.name for known in CLIENTS.values() if known.project)
            raise UserError(
                f"{self.title} has no file in a project, so leave --project out; these have: "
                f"{having}."
            )
        *earlier, last = self.files.get(machine.system) or self.files["any"]
        folders = machine.folders()
        for template in earlier:
            if found := _find_file(template, folders):
                return found
        return Path(last.format(**folders))

    def is_installed(self, machine: Machine) -> bool:
        """Return whether the client seems to be installed."""
        if self.sign:
            return Path(self.sign.format(**machine.folders())).exists()
        return self.file(machine, None).parent.exists()

    def entry(self, server: ServerCommand | ServerAddress) -> dict[str, Any]:
        """Return the entry for this server."""
        if isinstance(server, ServerCommand):
            line = [server.command, *server.args]
            values: dict[str, Any] = {"command_line": line, "command": line[0], "args": line[1:]}
            values["env"] = {**server.env}
            return dict(fill(self.starts, values))
        if self.reaches is None:
            having = ", ".join(known.name for known in CLIENTS.values() if known.reaches)
            raise UserError(
                f"{self.title} has no entry for an address that is documented, so leave --url out; "
                f"these have: {having}."
            )
        if server.token_env and "<token_env>" not in str(self.reaches):
            raise UserError(
                "This client reads no variables in its file, so leave --token-env out; serve with "
                "--no-auth, or write the header with the token into the file by hand."
            )
        values = {"url": server.url, "token_env": server.token_env or None}
        return dict(fill(self.reaches, values))


def _find_file(template: str, folders: Mapping[str, str]) -> Path | None:
    head, star, tail = template.partition("*")
    if not star:
        file = Path(template.format(**folders))
        return file if file.exists() else None
    above = Path(head.format(**folders) + "x")
    rest = tail.partition("/")[2]
    matches = sorted(folder / rest for folder in above.parent.glob(above.name[:-1] + "*"))
    return next((file for file in matches if file.exists()), matches[0] if matches else None)


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """Return the template with its holes filled: a lone `<args>` becomes the value of that name,
    one within a text its text. None and empty objects are left out of an object."""
    if isinstance(template, dict):
        made = {name: fill(each, values) for name, each in template.items()}
        return {name: each for name, each in made.items() if each is not None and each != {}}
    if isinstance(template, list):
        return [fill(each, values) for each in template]
    if isinstance(template, str) and (hole := HOLE.search(template)):
        value = values[hole[1]]
        return value if value is None or hole[0] == template else template.replace(hole[0], value)
    return template


CLIENTS = {
    client.name: client
    for client in msgspec.json.decode(
        Path(__file__).with_suffix(".json").read_bytes(), type=tuple[Client, ...]
    )
}


def find_client(name: str) -> Client:
    """Return the client of that name; raise UserError if it is unknown."""
    if name not in CLIENTS:
        raise UserError(f"There is no client {name!r}; there are: {', '.join(CLIENTS)}.")
    return CLIENTS[name]
