"""The hook protocols of coding agents, as data: what each tells a hook and how a hook answers.

`protocols.json` has an object for each, taken only from the client's own documentation or sources:

- Claude Code: https://code.claude.com/docs/en/hooks. That the plain output of a PreCompact hook
  becomes instructions for the summary is in its sources (`executePreCompactHooks`), as quoted in
  https://github.com/anthropics/claude-code/issues/43450.
- Codex: https://developers.openai.com/codex/hooks, and the schemas of codex-rs/hooks/schema in
  https://github.com/openai/codex (August 2026).
- Gemini CLI: https://geminicli.com/docs/hooks/reference
- Cursor: https://cursor.com/docs/hooks
- GitHub Copilot CLI: https://docs.github.com/en/copilot/reference/hooks-reference

No client lets a hook ask the agent anything when its session ends, or (except for Claude Code's
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
# How a hook's text reaches the agent. `silent`: not at all.
Channel = Literal["context", "cursor", "copilot", "block", "followup", "summary", "silent"]


class HookEvent(NamedTuple):
    """One event: its name, its meaning, and how a hook answers it."""

    name: str
    moment: Moment
    channel: Channel


# Our names of the values in a hook's input → their usual names. `again`: a hook has already made
# the agent continue.
NAMES = {
    "session": "session_id", "folder": "cwd", "prompt": "prompt", "source": "source",
    "transcript": "transcript_path", "again": "stop_hook_active",
}  # fmt: skip


class HookProtocol(Struct, frozen=True):
    """The protocol of one client.

    `names`: input names that differ from NAMES. `files`: the files with its hooks, for the user and
    in a project. `entry`: a template for a hook in these files, with the command, a time limit of
    five seconds, and a limit for messages that make the agent continue. `frame`: what else the file
    must contain. `reads`: the instruction files that the client reads by itself. `next`: what to do
    after installing the hooks.
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
        """Return a value of its input, by our name for it."""
        return values.get(self.names.get(name, NAMES[name]))

    @property
    def installed(self) -> tuple[HookEvent, ...]:
        """The events to install hooks for: at the end of a session no answer reaches the agent."""
        return tuple(event for event in self.events if event.moment != "end")

    def event(self, name: str) -> HookEvent | None:
        return next((event for event in self.events if event.name == name), None)


class AgentEvent(NamedTuple):
    """An agent's event with its input."""

    protocol: HookProtocol
    event: HookEvent
    project: str
    values: Mapping[str, Any]

    def text(self, name: str) -> str:
        """Return a text of the input, by our name for it; "" if it is missing or not a text."""
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
    """Return the first client that has an event of that name, or ""."""
    return next((each.client for each in PROTOCOLS.values() if each.event(event)), "")


def hook_output(event: HookEvent, text: str) -> str | dict[str, Any]:
    """Return what the hook prints so that the agent sees the text; "" if it has no way to."""
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
    """Return a recorded input of that event, with example values and without a folder."""
    file = Path(__file__).with_name("recorded") / f"{client}.json"
    events = msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, Any]])
    return events[event]
