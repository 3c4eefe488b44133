"""The MCP clients that are known: where each keeps its servers, and what an entry looks like there.

One frozen value a client; a new one is a new value in `CLIENTS`. A path begins with a folder in
braces, see `Machine.folders`. Only what a client's documentation says, or what its own files show,
stands here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from recollect.errors import UserError

System = Literal["linux", "macos", "windows"]
SYSTEMS: Mapping[str, System] = {"darwin": "macos", "win32": "windows"}  # any other is like Linux


class ServerCommand(Struct, frozen=True):
    """How the server is started."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class ServerAddress(Struct, frozen=True):
    """Where a server runs already, and the variable in the client's environment that holds the
    token for it; none where it asks for none."""

    url: str
    token_env: str = ""


class Machine(Struct, frozen=True):
    """The machine as its environment describes it; nothing here asks the machine itself."""

    environment: Mapping[str, str]
    system: System = SYSTEMS.get(sys.platform, "linux")

    def folders(self) -> dict[str, str]:
        """The folders that a client's path may begin with."""
        home = self._home()
        cline = self._folder("CLINE_DIR", home / ".cline")
        folders = {
            "home": home,
            "config": self._folder("XDG_CONFIG_HOME", home / ".config", absolute=True),
            "support": home / "Library" / "Application Support",
            "appdata": self._folder("APPDATA", home / "AppData" / "Roaming"),
            "localappdata": self._folder("LOCALAPPDATA", home / "AppData" / "Local"),
            # Claude Code moves both where its variable is set, and else keeps them apart.
            "claude": self._folder("CLAUDE_CONFIG_DIR", home / ".claude"),
            "claude_state": self._folder("CLAUDE_CONFIG_DIR", home),
            "cline": self._folder("CLINE_DATA_DIR", cline / "data"),
            "codex": self._folder("CODEX_HOME", home / ".codex"),
            "copilot": self._folder("COPILOT_HOME", home / ".copilot"),
        }
        return {name: str(folder) for name, folder in folders.items()}

    def expanded(self, path: str) -> Path:
        """A path as somebody wrote it, `~` being this machine's home."""
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
        """The folder that the variable names."""
        path = self.environment.get(variable)
        if not path or (absolute and not Path(path).is_absolute()):
            return otherwise
        return self.expanded(path)


def plain(server: ServerCommand) -> dict[str, Any]:
    """The entry that most clients share."""
    entry: dict[str, Any] = {"command": server.command, "args": list(server.args)}
    return entry | ({"env": dict(server.env)} if server.env else {})


def typed(server: ServerCommand) -> dict[str, Any]:
    """The same with its transport named."""
    return {"type": "stdio"} | plain(server)


def with_tools(server: ServerCommand) -> dict[str, Any]:
    """The same with the tools that may be used: all of them."""
    return typed(server) | {"tools": ["*"]}


def one_list(server: ServerCommand) -> dict[str, Any]:
    """OpenCode's: the command and its arguments are one list, the variables have another name."""
    entry: dict[str, Any] = {"type": "local", "command": [server.command, *server.args]}
    return entry | ({"environment": dict(server.env)} if server.env else {})


RemoteEntry = Callable[[ServerAddress], dict[str, Any]]


def remote(key: str = "url", variable: str = "${{{}}}", **more: Any) -> RemoteEntry:
    """The entry of a server that runs already, for a client that calls its address `key` and writes
    a variable of its environment like that; empty where it reads none."""

    def entry(server: ServerAddress) -> dict[str, Any]:
        if server.token_env and not variable:
            raise UserError(
                "This client reads no variables in its file, so leave --token-env out; serve with "
                "--no-auth, or write the header with the token into the file by hand."
            )
        token = f"Bearer {variable.format(server.token_env)}"
        headers = {"headers": {"Authorization": token}} if server.token_env else {}
        return more | {key: server.url} | headers

    return entry


def with_bearer(server: ServerAddress) -> dict[str, Any]:
    """Codex's: it names the variable."""
    token = {"bearer_token_env_var": server.token_env} if server.token_env else {}
    return {"url": server.url, **token}


class Client(Struct, frozen=True):
    """One client.

    `files` are its own, for the user; of several the first that is there counts, else the last. One
    with a star counts where the starred folder is there. `project` is the file in a project, empty
    where there is none. `remote` makes the entry of a server that runs already. `sign` is a folder
    that shows the client is installed; without it, the folder of its file does.
    """

    name: str
    title: str
    files: dict[System, tuple[str, ...]]
    next: str
    container: str = "mcpServers"
    entry: Callable[[ServerCommand], dict[str, Any]] = plain
    remote: RemoteEntry | None = None
    format: Literal["json", "toml"] = "json"
    project: str = ""
    sign: str = ""

    def file(self, machine: Machine, project: Path | None) -> Path:
        """The file that holds the client's servers, for the user or in that project."""
        if project is not None:
            return self._in(project)
        *earlier, last = self.files[machine.system]
        folders = machine.folders()
        for template in earlier:
            if found := _found(template, folders):
                return found
        return Path(last.format(**folders))

    def installed(self, machine: Machine) -> bool:
        """Whether the client seems to be there."""
        if self.sign:
            return Path(self.sign.format(**machine.folders())).exists()
        return self.file(machine, None).parent.exists()

    def _in(self, project: Path) -> Path:
        if not self.project:
            having = ", ".join(known.name for known in CLIENTS.values() if known.project)
            raise UserError(
                f"{self.title} has no file in a project, so leave --project out; these have: "
                f"{having}."
            )
        return project / self.project


def _found(template: str, folders: Mapping[str, str]) -> Path | None:
    head, star, tail = template.partition("*")
    if not star:
        file = Path(template.format(**folders))
        return file if file.exists() else None
    above = Path(head.format(**folders) + "x")
    rest = tail.partition("/")[2]
    matches = sorted(folder / rest for folder in above.parent.glob(above.name[:-1] + "*"))
    return next((file for file in matches if file.exists()), matches[0] if matches else None)


def everywhere(*files: str) -> dict[System, tuple[str, ...]]:
    """The same on every system."""
    return {"linux": files, "macos": files, "windows": files}


_ALL = (
    Client(
        name="claude-code",
        title="Claude Code",
        files=everywhere("{claude_state}/.claude.json"),
        project=".mcp.json",
        entry=typed,
        remote=remote(type="http"),
        sign="{claude}",
        next="Start a new session; `/mcp` in it, or `claude mcp list`, shows the server.",
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        files={
            "linux": ("{config}/Claude/claude_desktop_config.json",),
            "macos": ("{support}/Claude/claude_desktop_config.json",),
            # The packaged app sees its own copy of the folder, and only that.
            "windows": (
                "{localappdata}/Packages/Claude_*/LocalCache/Roaming/Claude/"
                "claude_desktop_config.json",
                "{appdata}/Claude/claude_desktop_config.json",
            ),
        },
        next="Quit Claude Desktop, not only its window, and start it again.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        files=everywhere("{home}/.cursor/mcp.json"),
        project=".cursor/mcp.json",
        remote=remote(variable="${{env:{}}}"),
        next="Restart Cursor, and switch the server on in its settings under MCP.",
    ),
    Client(
        name="codex",
        title="Codex",
        files=everywhere("{codex}/config.toml"),
        project=".codex/config.toml",
        container="mcp_servers",
        remote=with_bearer,
        format="toml",
        next="Start a new session; `/mcp` in it, or `codex mcp list`, shows the server.",
    ),
    Client(
        name="vscode",
        title="VS Code",
        files={
            "linux": ("{config}/Code/User/mcp.json",),
            "macos": ("{support}/Code/User/mcp.json",),
            "windows": ("{appdata}/Code/User/mcp.json",),
        },
        project=".vscode/mcp.json",
        container="servers",
        entry=typed,
        remote=remote(variable="${{env:{}}}", type="http"),
        next="Run `MCP: List Servers` from the command palette, and start the server there.",
    ),
    Client(
        name="zed",
        title="Zed",
        files={
            "linux": ("{config}/zed/settings.json",),
            "macos": ("{home}/.config/zed/settings.json",),
            "windows": ("{appdata}/Zed/settings.json",),
        },
        project=".zed/settings.json",
        container="context_servers",
        next="Nothing to restart: the agent settings list the server with a green dot.",
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        files=everywhere("{home}/.codeium/windsurf/mcp_config.json"),
        next="Press refresh in the MCP list of the Cascade panel, or restart Windsurf.",
    ),
    Client(
        name="devin",
        title="Devin Desktop",
        files={
            "linux": ("{home}/.config/devin/mcp_config.json",),
            "macos": ("{home}/.config/devin/mcp_config.json",),
            "windows": ("{appdata}/devin/mcp_config.json",),
        },
        project=".devin/mcp_config.json",
        next="Open the MCP section of the agent panel; it lists the server.",
    ),
    Client(
        name="gemini-cli",
        title="Gemini CLI",
        files=everywhere("{home}/.gemini/settings.json"),
        project=".gemini/settings.json",
        remote=remote("httpUrl"),
        next="Restart Gemini CLI; `/mcp` in it shows the server.",
    ),
    Client(
        name="qwen-code",
        title="Qwen Code",
        files=everywhere("{home}/.qwen/settings.json"),
        project=".qwen/settings.json",
        remote=remote("httpUrl"),
        next="Restart Qwen Code; `/mcp` in it shows the server.",
    ),
    Client(
        name="copilot-cli",
        title="GitHub Copilot CLI",
        files=everywhere("{copilot}/mcp-config.json"),
        project=".github/mcp.json",
        entry=with_tools,
        remote=remote(type="http", tools=["*"]),
        next="Start a new session; `/mcp show` in it shows the server.",
    ),
    Client(
        name="opencode",
        title="OpenCode",
        files=everywhere("{config}/opencode/opencode.jsonc", "{config}/opencode/opencode.json"),
        project="opencode.json",
        container="mcp",
        entry=one_list,
        remote=remote(variable="{{env:{}}}", type="remote"),
        next="Restart OpenCode; `opencode mcp list` shows the server.",
    ),
    Client(
        name="kiro",
        title="Kiro",
        files=everywhere("{home}/.kiro/settings/mcp.json"),
        project=".kiro/settings/mcp.json",
        sign="{home}/.kiro",
        next="Kiro reads the file when it changes; its MCP panel, or `/mcp`, shows the server.",
    ),
    Client(
        name="cline",
        title="Cline",
        files=everywhere("{cline}/settings/cline_mcp_settings.json"),
        remote=remote(variable="", type="streamableHttp"),
        sign="{cline}",
        next="Open Cline's MCP servers, and switch the server on there if it is off.",
    ),
)
CLIENTS: dict[str, Client] = {client.name: client for client in _ALL}


def known_client(name: str) -> Client:
    """The client of that name."""
    if name not in CLIENTS:
        raise UserError(f"There is no client {name!r}; there are: {', '.join(CLIENTS)}.")
    return CLIENTS[name]
