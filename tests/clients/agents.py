"""The agents' command lines that run without an account, their model replaced by a recorded one.

One value an agent: a new one is a new value in `AGENTS`. `recollect setup` configures each in a
home of its own; what stands here is only how its model is replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from conversation import PROMPT
from model_protocols import MODEL

PROVIDER = "openai-compatible"  # what Cline calls a server of models by its address


def nothing(home: Path, url: str) -> None:
    pass


class Agent(NamedTuple):
    """`client`: its name in `recollect setup`. `arguments`: one turn without a terminal, all tools
    allowed. `variables`: of its environment, `{url}` being the model. `configure`: what only a file
    can say. `asks`: its Stop hook can make the agent go on. `tells`: it shows the server's
    instructions to its model. `token`: its file can name the variable with a token."""

    client: str
    package: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    configure: Callable[[Path, str], None] = nothing
    hooks: bool = True
    asks: bool = True
    instructions: bool = True
    tells: bool = True
    token: bool = True


def merge_into(file: Path, values: dict[str, Any]) -> None:
    """Add values to a file of JSON."""
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(before | values), encoding="utf-8")


def codex(home: Path, url: str) -> None:
    """A provider of models at that address."""
    file = home / ".codex" / "config.toml"
    provider = (
        f'\n[model_providers.{MODEL}]\nname = "{MODEL}"\nbase_url = "{url}/v1"\n'
        'wire_api = "responses"\nenv_key = "MODEL_KEY"\n'
    )
    before = file.read_text(encoding="utf-8").partition("\n[model_providers.")[0]
    file.write_text(before + provider, encoding="utf-8")


def gemini(home: Path, url: str) -> None:
    """The key counts, and no folder needs trust."""
    security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
    merge_into(home / ".gemini" / "settings.json", {"security": security})


def opencode(home: Path, url: str) -> None:
    options = {"baseURL": f"{url}/v1", "apiKey": "recorded"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {MODEL: {}}}
    file = home / ".config" / "opencode" / "opencode.json"
    merge_into(file, {"provider": {MODEL: provider}, "model": f"{MODEL}/{MODEL}"})


def cline(home: Path, url: str) -> None:
    """Write the files of `cline auth -p openai-compatible -b URL`."""
    settings = {"provider": PROVIDER, "apiKey": "recorded", "model": MODEL, "baseUrl": f"{url}/v1"}
    saved = {"settings": settings, "updatedAt": "2026-01-01T00:00:00Z", "tokenSource": "manual"}
    values = {"version": 1, "lastUsedProvider": PROVIDER, "providers": {PROVIDER: saved}}
    merge_into(home / ".cline" / "data" / "settings" / "providers.json", values)


AGENTS = (
    Agent(
        "claude-code",
        "@anthropic-ai/claude-code",
        ("claude", "-p", PROMPT, "--allowedTools", "mcp__recollect"),
        {
            "ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "recorded",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        },
    ),
    Agent(
        "codex",
        "@openai/codex",
        (
            "codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust", "-c", f'model_provider="{MODEL}"', "-m", MODEL,
            PROMPT,
        ),
        {"MODEL_KEY": "recorded"},
        codex,
    ),
    Agent(
        "gemini-cli",
        "@google/gemini-cli",
        ("gemini", "-m", "gemini-2.5-flash", "-p", PROMPT, "--yolo"),
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "recorded"},
        gemini,
        asks=False,
    ),
    Agent(
        "qwen-code",
        "@qwen-code/qwen-code",
        ("qwen", "-p", PROMPT, "--yolo", "--auth-type", "openai", "-m", MODEL),
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "recorded", "OPENAI_MODEL": MODEL},
        hooks=False,
    ),
    Agent(
        "copilot-cli",
        "@github/copilot",
        ("copilot", "-p", PROMPT, "--allow-all-tools"),
        {
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1", "COPILOT_PROVIDER_API_KEY": "recorded",
            "COPILOT_MODEL": MODEL, "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
        },
    ),
    Agent(
        "opencode",
        "opencode-ai",
        ("opencode", "run", PROMPT),
        {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        opencode,
        hooks=False,
    ),
    Agent(
        "cline",
        "cline",
        ("cline", "-P", PROVIDER, "-m", MODEL, PROMPT),
        {},
        cline,
        hooks=False,
        instructions=False,
        tells=False,
        token=False,
    ),
)  # fmt: skip
# What does not run here, and why; never counted as passed.
NOT_RUN = {
    "Crush": "the installer of @charmland/crush downloads from github.com",
    "Goose": "no package of it was found on npm (@block/goose) or PyPI",
    "Cursor": "needs a desktop and an account",
    "VS Code": "needs a desktop and an account",
    "Zed": "needs a desktop",
    "Windsurf": "needs a desktop and an account",
    "Devin Desktop": "needs a desktop and an account",
    "Claude Desktop": "needs a desktop and an account",
    "Kiro": "needs an account",
}
