"""Each client's file with its servers, on every system, and the form of an entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from recollect.errors import UserError
from recollect.interfaces.setup.clients import (
    CLIENTS,
    Machine,
    ServerAddress,
    ServerCommand,
    System,
    find_client,
)

HOME = Path("/people/ada")
SERVER = ServerCommand("/x/recollect", ("mcp",), {"RECOLLECT_HOME": "/v"})
PLAIN = {"command": "/x/recollect", "args": ["mcp"], "env": {"RECOLLECT_HOME": "/v"}}
# Those that differ from `mcpServers` and from PLAIN.
CONTAINERS = {
    "codex": "mcp_servers", "vscode": "servers", "zed": "context_servers", "opencode": "mcp",
}  # fmt: skip
ENTRIES: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "stdio"} | PLAIN,
    "vscode": {"type": "stdio"} | PLAIN,
    "copilot-cli": {"type": "stdio", "tools": ["*"]} | PLAIN,
    "opencode": {
        "type": "local",
        "command": ["/x/recollect", "mcp"],
        "environment": {"RECOLLECT_HOME": "/v"},
    },
}


def machine(system: System = "linux", **environment: str) -> Machine:
    return Machine({"HOME": str(HOME), "USERPROFILE": str(HOME)} | environment, system)


def place(name: str, system: System, **environment: str) -> str:
    return str(find_client(name).file(machine(system, **environment), None))


@pytest.mark.parametrize(
    ("name", "linux", "macos", "windows"),
    [
        ("claude-code", ".claude.json", ".claude.json", ".claude.json"),
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
            "Library/Application Support/Claude/claude_desktop_config.json",
            "AppData/Roaming/Claude/claude_desktop_config.json",
        ),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json", ".cursor/mcp.json"),
        ("codex", ".codex/config.toml", ".codex/config.toml", ".codex/config.toml"),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "Library/Application Support/Code/User/mcp.json",
            "AppData/Roaming/Code/User/mcp.json",
        ),
        (
            "zed",
            ".config/zed/settings.json",
            ".config/zed/settings.json",
            "AppData/Roaming/Zed/settings.json",
        ),
        ("windsurf", *[".codeium/windsurf/mcp_config.json"] * 3),
        (
            "devin",
            ".config/devin/mcp_config.json",
            ".config/devin/mcp_config.json",
            "AppData/Roaming/devin/mcp_config.json",
        ),
        ("gemini-cli", *[".gemini/settings.json"] * 3),
        ("copilot-cli", *[".copilot/mcp-config.json"] * 3),
        ("opencode", *[".config/opencode/opencode.json"] * 3),
        ("kiro", *[".kiro/settings/mcp.json"] * 3),
        ("cline", *[".cline/data/settings/cline_mcp_settings.json"] * 3),
    ],
)
def test_the_file_on_each_system(name: str, linux: str, macos: str, windows: str) -> None:
    found = [place(name, system) for system in get_args(System)]
    assert found == [str(HOME / one) for one in (linux, macos, windows)]


@pytest.mark.parametrize(
    ("name", "system", "variable", "file"),
    [
        ("claude-code", "linux", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("claude-desktop", "linux", "XDG_CONFIG_HOME", "Claude/claude_desktop_config.json"),
        ("claude-desktop", "windows", "APPDATA", "Claude/claude_desktop_config.json"),
        ("codex", "macos", "CODEX_HOME", "config.toml"),
        ("vscode", "linux", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
        ("zed", "linux", "XDG_CONFIG_HOME", "zed/settings.json"),
        ("copilot-cli", "linux", "COPILOT_HOME", "mcp-config.json"),
        ("cline", "linux", "CLINE_DIR", "data/settings/cline_mcp_settings.json"),
        ("cline", "linux", "CLINE_DATA_DIR", "settings/cline_mcp_settings.json"),
    ],
)
def test_a_variable_moves_the_file(name: str, system: System, variable: str, file: str) -> None:
    assert place(name, system, **{variable: "/else/where"}) == f"/else/where/{file}"
    assert place(name, system, **{variable: ""}).startswith(str(HOME))


def test_a_tilde_in_a_variable_is_the_home_that_was_told() -> None:
    assert place("codex", "linux", CODEX_HOME="~/c") == str(HOME / "c" / "config.toml")


@pytest.mark.parametrize(("system", "folder"), [("linux", "x"), ("macos", "/else/where")])
def test_zed_takes_an_absolute_config_home_and_none_on_a_mac(system: System, folder: str) -> None:
    assert place("zed", system, XDG_CONFIG_HOME=folder) == str(HOME / ".config/zed/settings.json")


def test_without_a_home_nothing_is_guessed() -> None:
    with pytest.raises(UserError, match="HOME is not set"):
        find_client("cursor").file(Machine({}, "linux"), None)
    with pytest.raises(UserError, match="USERPROFILE is not set"):
        find_client("cursor").file(Machine({}, "windows"), None)


def test_the_packaged_claude_desktop_has_its_own_folder(tmp_path: Path) -> None:
    package = tmp_path / "Packages" / "Claude_abc"
    package.mkdir(parents=True)
    file = place("claude-desktop", "windows", LOCALAPPDATA=str(tmp_path))
    assert file == str(package / "LocalCache/Roaming/Claude/claude_desktop_config.json")


def test_of_two_packages_the_one_in_use_counts(tmp_path: Path) -> None:
    (tmp_path / "Packages" / "Claude_abc").mkdir(parents=True)
    used = tmp_path / "Packages" / "Claude_xyz" / "LocalCache/Roaming/Claude"
    used.mkdir(parents=True)
    (used / "claude_desktop_config.json").write_text("{}")
    file = place("claude-desktop", "windows", LOCALAPPDATA=str(tmp_path))
    assert file == str(used / "claude_desktop_config.json")


def test_opencode_keeps_the_file_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "opencode").mkdir()
    file = tmp_path / "opencode" / "opencode.jsonc"
    file.write_text("{}")
    assert place("opencode", "linux", XDG_CONFIG_HOME=str(tmp_path)) == str(file)


@pytest.mark.parametrize("name", CLIENTS)
def test_the_entry_of_each_client(name: str) -> None:
    assert CLIENTS[name].container == CONTAINERS.get(name, "mcpServers")
    assert CLIENTS[name].entry(SERVER) == ENTRIES.get(name, PLAIN)


ADDRESS = ServerAddress("http://h/mcp", "T")
HEADERS = {"headers": {"Authorization": "Bearer ${T}"}}
ENV_HEADERS = {"headers": {"Authorization": "Bearer ${env:T}"}}


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("claude-code", {"type": "http", "url": "http://h/mcp"} | HEADERS),
        ("cursor", {"url": "http://h/mcp"} | ENV_HEADERS),
        ("codex", {"url": "http://h/mcp", "bearer_token_env_var": "T"}),
        ("vscode", {"type": "http", "url": "http://h/mcp"} | ENV_HEADERS),
        ("gemini-cli", {"httpUrl": "http://h/mcp"} | HEADERS),
        ("qwen-code", {"httpUrl": "http://h/mcp"} | HEADERS),
        ("copilot-cli", {"type": "http", "tools": ["*"], "url": "http://h/mcp"} | HEADERS),
        (
            "opencode",
            {
                "type": "remote",
                "url": "http://h/mcp",
                "headers": {"Authorization": "Bearer {env:T}"},
            },
        ),
    ],
)
def test_the_entry_of_a_server_that_runs_already(name: str, entry: dict[str, Any]) -> None:
    assert find_client(name).entry(ADDRESS) == entry
    for key in ("headers", "bearer_token_env_var"):
        entry.pop(key, None)
    assert find_client(name).entry(ServerAddress("http://h/mcp")) == entry


def test_a_client_that_reads_no_variables_takes_an_address_without_a_token() -> None:
    cline = find_client("cline")
    assert cline.entry(ServerAddress("http://h/mcp")) == {
        "type": "streamableHttp",
        "url": "http://h/mcp",
    }
    with pytest.raises(UserError, match="no variables"):
        cline.entry(ADDRESS)


def test_the_files_of_a_project() -> None:
    found = {one.name: one.project for one in CLIENTS.values() if one.project}
    assert found == {
        "claude-code": ".mcp.json",
        "cursor": ".cursor/mcp.json",
        "codex": ".codex/config.toml",
        "vscode": ".vscode/mcp.json",
        "zed": ".zed/settings.json",
        "devin": ".devin/mcp_config.json",
        "gemini-cli": ".gemini/settings.json",
        "qwen-code": ".qwen/settings.json",
        "copilot-cli": ".github/mcp.json",
        "opencode": "opencode.json",
        "kiro": ".kiro/settings/mcp.json",
    }


def test_every_sentence_about_what_comes_next_is_one() -> None:
    assert all(one.next.endswith(".") for one in CLIENTS.values())
