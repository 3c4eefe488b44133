"""Codex: `sessions/**/rollout-*.jsonl` in ~/.codex, and `archived_sessions`.

Source: codex-rs/history and codex-rs/protocol of https://github.com/openai/codex (August 2026).
The visible session consists of the events `user_message` and `agent_message`, or, in newer files,
`item_completed`. The `response_item` lines repeat them with additions for the model. Older sessions
are compressed (`.jsonl.zst`) and not read.
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

# Editor extensions put the open files before this line.
REQUEST = "## My request for Codex:"
OTHER_TYPES = frozenset(
    "compacted world_state inter_agent_communication inter_agent_communication_metadata "
    "security_risk_score".split()
)


class CodexTranscript(Transcript):
    kept_in = "{codex}/sessions"
    files = re.compile(r"(.*/)?rollout-[^/]*\.jsonl")
    subagent = False

    def message(self, record: Mapping[str, Any]) -> Message | None:
        type, payload = text_of(record, "type"), mapping(record.get("payload"))
        if type in ("session_meta", "turn_context"):
            # A fork repeats the lines of its parent session; the first ones are its own.
            if not self.session and type == "session_meta":
                self.session = text_of(payload, "id") or text_of(payload, "session_id")
                self.subagent = "subagent" in mapping(payload.get("source"))
            self.folder = self.folder or text_of(payload, "cwd")
            return self.skip(OTHER)
        if type == "response_item":
            return self.skip(TOOL)
        if type in OTHER_TYPES:
            return self.skip(OTHER)
        if type != "event_msg":
            return self.skip_unknown(type)
        if self.subagent:
            return self.skip(SUBAGENT)
        return self._event(payload)

    def _event(self, payload: Mapping[str, Any]) -> Message | None:
        item = mapping(payload.get("item"))
        if payload.get("type") == "item_completed":
            text = texts(item.get("content"), "text", "Text")
        else:
            text = text_of(payload, "message")
        match (payload.get("type"), item.get("type")):
            case ("user_message", _) | ("item_completed", "UserMessage"):
                bare = text[text.find(REQUEST) + len(REQUEST) :] if REQUEST in text else text
                if bare.lstrip().startswith("<user_action>"):
                    return self.skip(INJECTED)
                return "user", bare
            case ("agent_message", _) | ("item_completed", "AgentMessage"):
                return "agent", text
        return self.skip(OTHER)
