"""A model that says what is prepared, on a local port, in whichever API it is asked.

It keeps each request, so that a test can see what the agent showed to its model: tools, texts of
hooks, instructions, results. Requests without our tools (a title for the session, a check of the
account) get a short text and use up no turn.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from conversation import with_ids
from model_protocols import PROTOCOLS, Call, Json, Protocol, Reply, Turn, named_tool, whole

OURS = "memory_save"  # a request that offers this tool is part of the conversation
# Claude Code hides the tools of servers until its model has looked for them. Qwen Code hides them
# for good: its model reads of them, and calls them by another tool.
SEARCHES = ("ToolSearch", "tool_search")
BY_NAME = "tool_call"
QUERY = {"query": "+recollect memory", "max_results": 20}  # waits until the server is there
TALK = ("messages", "input", "contents")  # what the APIs call the conversation


class Asked(NamedTuple):
    """One request of the agent: by which API, and what it held."""

    api: str
    body: Json
    tools: list[str]

    @property
    def text(self) -> str:
        """All that the model sees."""
        return plain(self.body)

    @property
    def latest(self) -> str:
        """The end of the conversation: the result of the last call, and what a hook added to it."""
        talk = next(self.body[name] for name in TALK if name in self.body)
        return plain(talk[-2:])


def plain(value: object) -> str:
    """The JSON of a value, the escapes of texts resolved; texts may be JSON themselves."""
    text = json.dumps(value, ensure_ascii=False)
    for _ in range(2):
        text = text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
    return text


class RecordedModel:
    """The turns to say, and the requests so far. `asked` are those of the conversation."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.left = list(turns)
        self.asked: list[Asked] = []
        self.first_without_tools = 0
        self._lock = threading.Lock()
        self._last: tuple[bytes, Reply] = b"", whole({})
        self._searched = False
        self._number = 0

    def answer(self, path: str, raw: bytes) -> Reply:
        with self._lock:
            protocol = next((PROTOCOLS[part] for part in PROTOCOLS if part in path), None)
            if protocol is None or "count_tokens" in path:
                return whole({"input_tokens": 10, "data": []})
            if raw == self._last[0]:  # the agent tries again
                return self._last[1]
            self._number += 1
            body = json.loads(raw)
            tools = protocol.tools(body)
            turn, tool = self._turn(protocol, body, tools)
            reply = protocol.reply(path, body, turn, tool, self._number)
            self._last = raw, reply
            return reply

    def _turn(self, protocol: Protocol, body: Json, tools: list[str]) -> tuple[Turn, str]:
        """Return what to say, and the agent's name for the tool in it."""
        search = next((name for name in SEARCHES if name in tools), "")
        if not named_tool(tools, OURS):
            if search and not self._searched:
                self._searched = True
                return Call(search, QUERY), search
            if not (self._searched and BY_NAME in tools):
                self.first_without_tools += bool(tools) and not self.asked
                return "A conversation about orders", ""
        self.asked.append(Asked(protocol.name, body, tools))
        turn = self.left.pop(0) if self.left else "There is no further turn."
        if isinstance(turn, str):
            return turn, ""
        turn = Call(turn.tool, with_ids(turn.arguments, self.asked[-1].text))
        if tool := named_tool(tools, turn.tool):
            return turn, tool
        named = {"name": f"mcp__recollect__{turn.tool}", "arguments": turn.arguments}
        return Call(BY_NAME, named), BY_NAME


@contextmanager
def answering(model: RecordedModel) -> Iterator[str]:
    """The address at which the model listens."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._send(model.answer(self.path, raw))

        def do_GET(self) -> None:
            self._send(whole({"data": [{"id": "recorded", "object": "model"}], "models": []}))

        def do_HEAD(self) -> None:
            self._send(whole({}))

        def _send(self, reply: Reply) -> None:
            self.send_response(200)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
