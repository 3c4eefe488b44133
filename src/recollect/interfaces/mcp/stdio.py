"""MCP on standard input and output: one process for one client, which ends with it.

The event loop runs in a thread of its own and the main thread waits for it, or for a signal,
whichever comes first. So nothing can hold the process back: neither a thread that waits for
a line, nor one that waits for a remote model.

After the idle lock of a locked vault the process replaces itself by a fresh one, with the same
standard input and output. The client notices nothing: its handshake is handed on and repeated.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic import ValidationError

from recollect.interfaces import fresh_process
from recollect.interfaces.mcp.calls import Served
from recollect.interfaces.mcp.handshake import Opening
from recollect.interfaces.mcp.server import build, unexpected
from recollect.interfaces.mcp.wire import SETTLED_S, Wire

if TYPE_CHECKING:  # not a public module
    from mcp.shared._stream_protocols import ReadStream, WriteStream

# A client that has closed standard input may still read, but not for long.
LAST_ANSWERS_S = 1.0
INITIALIZE = "initialize"
CANCELLED = "notifications/cancelled"  # the protocol answers no request that is cancelled
# Gets the exit code when the server ends, and None when the idle lock has closed the vault.
Ended = SimpleQueue[int | None]


class Plain(logging.Formatter):
    """One line per record, without an exception's text: that may quote a memory."""

    def format(self, record: logging.LogRecord) -> str:
        kind = record.exc_info[0] if record.exc_info else None
        line = f"recollect mcp: {record.levelname.lower()}: {record.getMessage()}"
        return " ".join((f"{line} ({kind.__name__})" if kind else line).split())


def serve(served: Served, ended: Ended, opening: Opening) -> int:
    """Serve until the client closes standard input, or something says stop; the exit code. After
    the idle lock, go on in a fresh process, which gets what opened the connection."""
    _log_to_stderr()
    unanswered = Unanswered(opening.answered)
    wire = Wire(opening.unread) if fresh_process.possible() else None
    locked = False
    threading.Thread(target=_run, args=(served, ended, unanswered, wire), daemon=True).start()
    while True:
        try:
            code = ended.get(timeout=SETTLED_S if locked else None)
        except Empty:
            if wire is not None and unanswered.none():
                wire.go_on_afresh(unanswered.handshake)
            continue
        if code is not None:
            return code
        locked = wire is not None


def _run(served: Served, ended: Ended, unanswered: Unanswered, wire: Wire | None) -> None:
    code = 0
    try:
        anyio.run(_serve, served, unanswered, wire)
    except* OSError:
        pass  # the client has gone, and with it whoever would read an answer
    except* Exception as group:
        unexpected(group.exceptions[0])
        code = 1
    finally:
        ended.put(code)


async def _serve(served: Served, unanswered: Unanswered, wire: Any) -> None:
    server = build(served)
    asks, asked = anyio.create_memory_object_stream[SessionMessage | Exception]()
    answers, answered = anyio.create_memory_object_stream[SessionMessage]()
    async with stdio_server(wire, wire) as (read, write), anyio.create_task_group() as relays:
        relays.start_soon(unanswered.ask, read, asks, write)
        relays.start_soon(unanswered.answer, answered, write)
        await server.run(asked, answers, server.create_initialization_options())


class Unanswered:
    """The requests that wait for an answer. The SDK drops them where the input ends; here it ends
    for the server only once they are answered, so that `recollect mcp < requests.jsonl` works.

    `handshake` is the request that opened the connection, as JSON, for the server to repeat here
    or in a fresh process; empty where there was none, as since 2026.
    """

    def __init__(self, handshake: str) -> None:
        self.handshake = handshake
        self._repeated: RequestId | None = None
        self._waiting: set[RequestId] = set()
        self._fewer = anyio.Event()

    async def ask(
        self,
        read: ReadStream[SessionMessage | Exception],
        asks: WriteStream[SessionMessage | Exception],
        write: WriteStream[SessionMessage],
    ) -> None:
        async with asks:
            if self.handshake:
                await self._repeat(asks)
            async for item in read:
                if isinstance(item, Exception):  # the SDK would say nothing, and the client wait
                    if refusal := _refusal(item):
                        await write.send(SessionMessage(refusal))
                    continue
                self._note(item.message)
                await asks.send(item)
            with anyio.move_on_after(LAST_ANSWERS_S):
                while self._waiting:
                    self._fewer = anyio.Event()
                    await self._fewer.wait()

    def none(self) -> bool:
        return not self._waiting

    def _note(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._waiting.add(message.id)
            if message.method == INITIALIZE:
                self.handshake = message.model_dump_json(by_alias=True, exclude_unset=True)
        elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
            self._waiting.discard((message.params or {}).get("requestId", ""))

    async def _repeat(self, asks: WriteStream[SessionMessage | Exception]) -> None:
        """The request that opened the connection, whose answer the client has already."""
        first = JSONRPCRequest.model_validate_json(self.handshake)
        self._repeated = first.id
        await asks.send(SessionMessage(first))
        if first.method == INITIALIZE:
            done = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
            await asks.send(SessionMessage(done))

    async def answer(
        self, answers: ReadStream[SessionMessage], write: WriteStream[SessionMessage]
    ) -> None:
        async with write:
            async for item in answers:
                if not isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    await write.send(item)
                elif item.message.id is not None and item.message.id == self._repeated:
                    self._repeated = None  # the client has this answer already
                else:
                    await write.send(item)
                    self._waiting -= {item.message.id}
                    self._fewer.set()


def _refusal(error: Exception) -> JSONRPCError | None:
    """The answer to a line that is no message, with the line's id where one can be read; None for a
    blank line."""
    problems = error.errors() if isinstance(error, ValidationError) else []
    if any(problem["input"] in ("\n", "\r\n") for problem in problems):
        return None
    ids = (_id_of(problem["input"]) for problem in problems)
    refused = ErrorData(code=INVALID_REQUEST, message="The line is not a JSON-RPC 2.0 message.")
    if any(problem["type"] == "json_invalid" for problem in problems):
        sentence = "The line is not JSON, or has half of a surrogate pair."
        refused = ErrorData(code=PARSE_ERROR, message=sentence)
    id = next((id for id in ids if id is not None), None)
    return JSONRPCError(jsonrpc="2.0", id=id, error=refused)


def _id_of(refused: object) -> RequestId | None:
    """The id in a line, or a part of one, that is no message. Python's reader takes lone
    surrogates; the protocol's does not."""
    with suppress(ValueError, RecursionError):
        message = json.loads(refused) if isinstance(refused, str) else refused
        id = message.get("id") if isinstance(message, dict) else None
        if type(id) is int or (isinstance(id, str) and id.isprintable()):
            return id
    return None


def _log_to_stderr() -> None:
    """Standard output belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Plain())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
