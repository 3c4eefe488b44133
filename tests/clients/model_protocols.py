"""The model APIs that coding agents speak, as far as a recorded model needs them.

A protocol finds the tools in a request, and writes one turn of the assistant: a text, or one call
of a tool. Each answers a stream where the request asks for one, and a whole document else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

MODEL = "recorded"
Json = dict[str, Any]


class Call(NamedTuple):
    """A tool to call, by its name in Recollect, and its arguments."""

    tool: str
    arguments: Mapping[str, Any]


Turn = str | Call


class Reply(NamedTuple):
    kind: str
    body: bytes


def whole(document: Json) -> Reply:
    return Reply("application/json", json.dumps(document).encode())


def stream_events(events: Iterable[Json], end: str = "", *, named: bool = False) -> Reply:
    """Server-sent events, with their type as name where the API has names."""
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if named else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n")
    return Reply("text/event-stream", "".join([*lines, end]).encode())


def named_tool(names: Iterable[str], tool: str) -> str:
    """Return the agent's name for the tool, which has a prefix of its own."""
    ends = ("_" + tool, "-" + tool)
    return next((name for name in names if name == tool or name.endswith(ends)), "")


class Anthropic:
    """Messages."""

    name = "Anthropic Messages"

    def tools(self, body: Json) -> list[str]:
        return [tool["name"] for tool in body.get("tools", [])]

    def reply(self, path: str, body: Json, turn: Turn, tool: str, number: int) -> Reply:
        if isinstance(turn, str):
            block: Json = {"type": "text", "text": turn}
            empty = block | {"text": ""}
            delta = {"type": "text_delta", "text": turn}
        else:
            block = {
                "type": "tool_use",
                "id": f"toolu_{number}",
                "name": tool,
                "input": turn.arguments,
            }
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
        stop = "end_turn" if isinstance(turn, str) else "tool_use"
        usage = {"input_tokens": 10, "output_tokens": 10}
        message: Json = {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": MODEL,
            "content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        if not body.get("stream"):
            return whole(message)
        begun = message | {"content": [], "stop_reason": None}
        ended = {"stop_reason": stop, "stop_sequence": None}
        return stream_events(
            [
                {"type": "message_start", "message": begun},
                {"type": "content_block_start", "index": 0, "content_block": empty},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": ended, "usage": usage},
                {"type": "message_stop"},
            ],
            named=True,
        )


class Chat:
    """Chat Completions."""

    name = "OpenAI Chat Completions"

    def tools(self, body: Json) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools", []) if "function" in tool]

    def reply(self, path: str, body: Json, turn: Turn, tool: str, number: int) -> Reply:
        said: Json = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
        if isinstance(turn, Call):
            called = {"name": tool, "arguments": json.dumps(turn.arguments)}
            said["tool_calls"] = [
                {"index": 0, "id": f"call_{number}", "type": "function", "function": called}
            ]
        stop = "stop" if isinstance(turn, str) else "tool_calls"
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        head = {"id": f"chat_{number}", "created": 1, "model": MODEL}
        if not body.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": stop}
            return whole(head | {"object": "chat.completion", "choices": [choice], "usage": usage})
        head |= {"object": "chat.completion.chunk"}
        return stream_events(
            [
                head | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
                head | {"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]},
                head | {"choices": [], "usage": usage},
            ],
            "data: [DONE]\n\n",
        )


class Responses:
    """Responses. Codex groups the tools of a server in a namespace."""

    name = "OpenAI Responses"

    def tools(self, body: Json) -> list[str]:
        return [name for name, _ in self._tools(body)]

    def _tools(self, body: Json) -> list[tuple[str, str]]:
        """Names and namespaces."""
        found: list[tuple[str, str]] = []
        for tool in body.get("tools", []):
            if tool.get("type") == "namespace":
                found += [(inner["name"], tool["name"]) for inner in tool["tools"]]
            elif "name" in tool:
                found.append((tool["name"], ""))
        return found

    def reply(self, path: str, body: Json, turn: Turn, tool: str, number: int) -> Reply:
        if isinstance(turn, str):
            part = {"type": "output_text", "text": turn, "annotations": []}
            item: Json = {"type": "message", "role": "assistant", "content": [part]}
        else:
            item = {
                "type": "function_call", "call_id": f"call_{number}", "name": tool,
                "arguments": json.dumps(turn.arguments),
            }  # fmt: skip
            if space := dict(self._tools(body)).get(tool):
                item["namespace"] = space
        item |= {"id": f"item_{number}", "status": "completed"}
        usage = {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20,
        }  # fmt: skip
        response: Json = {
            "id": f"resp_{number}", "object": "response", "created_at": 1, "model": MODEL,
            "status": "completed", "output": [item], "usage": usage,
        }  # fmt: skip
        if not body.get("stream"):
            return whole(response)
        begun = response | {"status": "in_progress", "output": [], "usage": None}
        return stream_events(
            [
                {"type": "response.created", "response": begun},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response},
            ],
            named=True,
        )


class Gemini:
    """generateContent and streamGenerateContent."""

    name = "Gemini generateContent"

    def tools(self, body: Json) -> list[str]:
        return [
            function["name"]
            for tool in body.get("tools", [])
            for function in tool.get("functionDeclarations", [])
        ]

    def reply(self, path: str, body: Json, turn: Turn, tool: str, number: int) -> Reply:
        part: Json = (
            {"text": turn}
            if isinstance(turn, str)
            else {"functionCall": {"name": tool, "args": turn.arguments}}
        )
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
        content = {"role": "model", "parts": [part]}
        document = {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage, "modelVersion": MODEL,
        }  # fmt: skip
        return stream_events([document]) if "streamGenerateContent" in path else whole(document)


Protocol = Anthropic | Chat | Responses | Gemini
# By a part of the request's path.
PROTOCOLS: Mapping[str, Protocol] = {
    "/messages": Anthropic(),
    "/chat/completions": Chat(),
    "/responses": Responses(),
    "enerateContent": Gemini(),
}
