"""GitHub Copilot CLI: `session-state/*/events.jsonl` in ~/.copilot.

Source: nodejs/src/generated/session-events.ts and docs/features/session-persistence.md of
https://github.com/github/copilot-sdk (August 2026).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from recollect.plugin.transcripts import (
    INJECTED,
    OTHER,
    SUBAGENT,
    TOOL,
    Message,
    Transcript,
    mapping,
    text_of,
    texts,
)

# Beginnings of the `source` of a message that the user did not type.
INJECTING = ("skill-", "agent-", "system", "hook", "command-", "jit-")
# Prefixes of other types, which are too many to list.
OTHER_STARTS = (
    "session.", "session_limits_exhausted.", "assistant.", "tool.", "subagent.", "skill.", "hook.",
    "system.", "permission.", "mcp.", "mcp_app.", "command.", "commands.", "elicitation.",
    "external_tool.", "exit_plan_mode.", "auto_mode_switch.", "sampling.", "user_input.", "model.",
    "capabilities.", "factory.", "pending_messages.", "abort",
)  # fmt: skip


class CopilotCliTranscript(Transcript):
    kept_in = "{copilot}/session-state"
    files = re.compile(r"(.*/)?events\.jsonl")

    def message(self, record: Mapping[str, Any]) -> Message | None:
        type, data = text_of(record, "type"), mapping(record.get("data"))
        if type in ("user.message", "assistant.message"):
            if record.get("agentId") or data.get("parentToolCallId"):
                return self.skip(SUBAGENT)
            return self._read_text(type, data)
        if not type.startswith(OTHER_STARTS):
            return self.skip_unknown(type)
        if type in ("session.start", "session.resume", "session.context_changed"):
            self.session = self.session or text_of(data, "sessionId")
            self.folder = self.folder or text_of(mapping(data.get("context", data)), "cwd")
        return self.skip(OTHER)

    def _read_text(self, type: str, data: Mapping[str, Any]) -> Message | None:
        text = texts(data.get("content"))
        if type == "assistant.message":
            return ("agent", text) if text else self.skip(TOOL)
        if data.get("isAutopilotContinuation") or text_of(data, "source").startswith(INJECTING):
            return self.skip(INJECTED)
        return "user", text
