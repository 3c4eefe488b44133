"""The hook protocols of coding agents, as data: what each tells a hook and what a hook can say.

One frozen value a client; a new one is a new value in `PROTOCOLS`. Only what a client's own
documentation or sources say stands here:

- Claude Code: https://code.claude.com/docs/en/hooks. That the plain output of a PreCompact hook
  becomes instructions for the summary is in its sources (`executePreCompactHooks`), as quoted in
  https://github.com/anthropics/claude-code/issues/43450.
- Codex: https://developers.openai.com/codex/hooks, and the schemas of codex-rs/hooks/schema in
  https://github.com/openai/codex (August 2026).
- Gemini CLI: https://geminicli.com/docs/hooks/reference
- Cursor: https://cursor.com/docs/hooks
- GitHub Copilot CLI: https://docs.github.com/en/copilot/reference/hooks-reference

What no client can do: ask the agent anything when its session ends, or (but for Claude Code's
summary) before it compacts. `docs/hooks.md` has the same as tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

# What happens: a session starts, the user sends a prompt, the conversation is about to be
# summarised, the agent has finished a turn, the session ends.
Moment = Literal["start", "prompt", "compact", "stop", "end"]
# How what a hook says reaches the agent. `silent`: not at all.
Channel = Literal["context", "cursor", "copilot", "block", "followup", "summary", "silent"]


class HookEvent(NamedTuple):
    """One event: what it is called, what it means, and how a hook answers it."""

    name: str
    moment: Moment
    channel: Channel


class HookProtocol(NamedTuple):
    """The protocol of one client.

    `names`: what its input calls the session, the folder, the prompt, the transcript, and whether a
    hook has made the agent go on already. `files`: where its hooks stand, for the user and in a
    project. `entry`: a hook as it stands there, from its event and the command. `reads`: the
    instruction files that the client reads by itself, which it need not be told. `next`: what to do
    after the hooks were installed.
    """

    client: str
    events: tuple[HookEvent, ...]
    names: Mapping[str, str]
    files: tuple[str, str]
    entry: Callable[[HookEvent, str], dict[str, Any]]
    reads: tuple[str, ...]
    next: str
    frame: Mapping[str, Any] = {}

    @property
    def installed(self) -> tuple[HookEvent, ...]:
        """The events worth a process: at the end of a session there is nobody to tell."""
        return tuple(event for event in self.events if event.moment != "end")

    def event(self, name: str) -> HookEvent | None:
        return next((event for event in self.events if event.name == name), None)


class AgentEvent(NamedTuple):
    """An event of an agent: which, and what its input says."""

    protocol: HookProtocol
    event: HookEvent
    project: str
    values: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A value of the input that is a text, by our name for it; else empty."""
        value = self.values.get(self.protocol.names[name])
        return value if isinstance(value, str) else ""

    def is_set(self, name: str) -> bool:
        return self.values.get(self.protocol.names[name]) is True


SNAKE = {
    "session": "session_id", "folder": "cwd", "prompt": "prompt", "source": "source",
    "transcript": "transcript_path", "again": "stop_hook_active",
}  # fmt: skip
CAMEL = SNAKE | {"session": "sessionId", "transcript": "transcriptPath"}
SECONDS = 5  # after which a client ends a hook of ours; it ends by itself long before


def grouped(event: HookEvent, command: str) -> dict[str, Any]:
    """As Claude Code and Codex have it: a group of hooks, here for every occasion."""
    return {"hooks": [{"type": "command", "command": command, "timeout": SECONDS}]}


def in_milliseconds(event: HookEvent, command: str) -> dict[str, Any]:
    """The same with Gemini's name for a hook, and its milliseconds."""
    hook = {"name": "recollect", "type": "command", "command": command, "timeout": 1000 * SECONDS}
    return {"hooks": [hook]}


def bare(event: HookEvent, command: str) -> dict[str, Any]:
    """Cursor's: no groups. After one message of ours the agent is not asked again in a row."""
    limit = {"loop_limit": 1} if event.channel == "followup" else {}
    return {"command": command, "timeout": SECONDS, **limit}


def for_shells(event: HookEvent, command: str) -> dict[str, Any]:
    """Copilot's: one command for every shell."""
    return {"type": "command", "command": command, "timeoutSec": SECONDS}


_ALL = (
    HookProtocol(
        client="claude-code",
        events=(
            HookEvent("SessionStart", "start", "context"),
            HookEvent("UserPromptSubmit", "prompt", "context"),
            HookEvent("PreCompact", "compact", "summary"),
            HookEvent("Stop", "stop", "block"),
            HookEvent("SessionEnd", "end", "silent"),
        ),
        names=SNAKE,
        files=("{claude}/settings.json", ".claude/settings.json"),
        entry=grouped,
        reads=("CLAUDE.md", "CLAUDE.local.md"),
        next="Start a new session; `/hooks` in it lists the hooks.",
    ),
    HookProtocol(
        client="codex",
        events=(
            HookEvent("SessionStart", "start", "context"),
            HookEvent("UserPromptSubmit", "prompt", "context"),
            HookEvent("PreCompact", "compact", "silent"),
            HookEvent("Stop", "stop", "block"),
            HookEvent("SessionEnd", "end", "silent"),
        ),
        names=SNAKE,
        files=("{codex}/hooks.json", ".codex/hooks.json"),
        entry=grouped,
        reads=("AGENTS.md", "AGENTS.override.md"),
        next="Start Codex and trust the hooks: `/hooks` in it lists them.",
    ),
    HookProtocol(
        client="gemini-cli",
        events=(
            HookEvent("SessionStart", "start", "context"),
            HookEvent("BeforeAgent", "prompt", "context"),
            HookEvent("PreCompress", "compact", "silent"),
            HookEvent("SessionEnd", "end", "silent"),
        ),
        names=SNAKE,
        files=("{home}/.gemini/settings.json", ".gemini/settings.json"),
        entry=in_milliseconds,
        reads=("GEMINI.md",),
        next="Restart Gemini CLI; `/hooks panel` in it lists the hooks.",
    ),
    HookProtocol(
        client="cursor",
        events=(
            HookEvent("sessionStart", "start", "cursor"),
            HookEvent("preCompact", "compact", "silent"),
            HookEvent("stop", "stop", "followup"),
            HookEvent("sessionEnd", "end", "silent"),
        ),
        names=SNAKE | {"session": "conversation_id", "folder": "workspace_roots"},
        files=("{home}/.cursor/hooks.json", ".cursor/hooks.json"),
        entry=bare,
        reads=("AGENTS.md", "CLAUDE.md", ".mdc", ".cursorrules"),
        next="Cursor reads the file when it changes; its settings list the hooks.",
        frame={"version": 1},
    ),
    HookProtocol(
        client="copilot-cli",
        events=(
            HookEvent("sessionStart", "start", "copilot"),
            HookEvent("preCompact", "compact", "silent"),
            HookEvent("agentStop", "stop", "block"),
            HookEvent("sessionEnd", "end", "silent"),
        ),
        names=CAMEL,
        files=("{copilot}/hooks/recollect.json", ".github/hooks/recollect.json"),
        entry=for_shells,
        reads=("AGENTS.md", "CLAUDE.md", "GEMINI.md", "instructions.md"),
        next="Start a new session.",
        frame={"version": 1},
    ),
)
PROTOCOLS: dict[str, HookProtocol] = {protocol.client: protocol for protocol in _ALL}


def client_of(event: str) -> str:
    """The first client that has an event of that name; empty where none has."""
    return next((each.client for each in _ALL if each.event(event)), "")


def hook_output(event: HookEvent, text: str) -> str | dict[str, Any]:
    """What the hook prints so that the agent sees the text; nothing where it cannot."""
    shapes: dict[Channel, str | dict[str, Any]] = {
        "context": {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}},
        "cursor": {"additional_context": text},
        "copilot": {"additionalContext": text},
        "block": {"decision": "block", "reason": text},
        "followup": {"followup_message": text},
        "summary": text,
        "silent": "",
    }
    return shapes[event.channel] if text else ""


def recorded_event(client: str, event: str) -> dict[str, Any]:
    """The input of that event. The values are examples; the folder is left out."""
    file = Path(__file__).with_name("recorded") / f"{client}.json"
    events = msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, Any]])
    return events[event]
