"""The hook protocols of coding agents, as data: what each tells a hook and what a hook can say.

`protocols.json` has an object for each. Only what a client's own documentation or sources say
stands there:

- Claude Code: https://code.claude.com/docs/en/hooks. That the plain output of a PreCompact hook
  becomes instructions for the summary is in its sources (`executePreCompactHooks`), as quoted in
  https://github.com/anthropics/claude-code/issues/43450.
- Codex: https://developers.openai.com/codex/hooks, and the schemas of codex-rs/hooks/schema in
  https://github.com/openai/codex (August 2026).
- Gemini CLI: https://geminicli.com/docs/hooks/reference
- Cursor: https://cursor.com/docs/hooks
- GitHub Copilot CLI: https://docs.github.com/en/copilot/reference/hooks-reference

What no client can do: ask the agent anything when its session ends, or (but for Claude Code's
summary) before it compacts. `docs/how-to/use-hooks.md` has the same as tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

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


# What most agents call, in the input of a hook, the session, the folder, the prompt, what started
# the session, the transcript, and whether a hook has made the agent go on already.
NAMES = {
    "session": "session_id", "folder": "cwd", "prompt": "prompt", "source": "source",
    "transcript": "transcript_path", "again": "stop_hook_active",
}  # fmt: skip


class HookProtocol(Struct, frozen=True):
    """The protocol of one client.

    `names`: what its input calls otherwise than NAMES. `files`: where its hooks stand, for the user
    and in a project. `entry`: a hook as it stands there, with holes: the command, and a limit where
    a message of ours makes the agent go on. After five seconds a client ends a hook of ours, which
    ends by itself long before. `frame`: what else the file must hold. `reads`: the instruction
    files that the client reads by itself, which it need not be told. `next`: what to do after the
    hooks were installed.
    """

    client: str
    events: tuple[HookEvent, ...]
    files: tuple[str, str]
    entry: dict[str, Any]
    reads: tuple[str, ...]
    next: str
    names: dict[str, str] = {}
    frame: dict[str, Any] = {}

    def value(self, values: Mapping[str, Any], name: str) -> Any:
        """A value of its input, by our name for it."""
        return values.get(self.names.get(name, NAMES[name]))

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
        value = self.protocol.value(self.values, name)
        return value if isinstance(value, str) else ""

    def is_set(self, name: str) -> bool:
        return self.protocol.value(self.values, name) is True


PROTOCOLS = {
    protocol.client: protocol
    for protocol in msgspec.json.decode(
        Path(__file__).with_suffix(".json").read_bytes(), type=tuple[HookProtocol, ...]
    )
}


def find_client(event: str) -> str:
    """The first client that has an event of that name; empty where none has."""
    return next((each.client for each in PROTOCOLS.values() if each.event(event)), "")


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
