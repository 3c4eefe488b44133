"""MCP on standard input and output: one process per client, which ends with it.

The event loop runs in its own thread, and the main thread waits for it or for a signal. So the
process can always exit, even while a thread waits for a line or for a remote model.

If the vault cannot be opened, the server keeps running: every tool answers with the reason, and the
next call tries again.

After the idle lock of an encrypted vault the process replaces itself with a fresh one on the same
standard input and output. The client notices nothing: its handshake is passed on and repeated.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server
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

from recollect.engine import Recollect
from recollect.errors import RecollectError
from recollect.interfaces.mcp.texts import log_unexpected
from recollect.interfaces.server_processes import can_replace_process, replace_process

if TYPE_CHECKING:  # not a public module
    from mcp.shared._stream_protocols import ReadStream, WriteStream

LAST_ANSWERS_S = 1.0  # a client may still read after it has closed standard input
WARM_AFTER_S = 0.5  # load models after the first answers
INITIALIZE = "initialize"
CANCELLED = "notifications/cancelled"  # the protocol answers no request that is cancelled
READ_BYTES = 65536  # as much as a pipe holds
SETTLED_S = 1.0  # after this time, a line that was read has reached the server
# Receives the exit code when the server ends, and None when the idle lock has closed the vault.
Ended = SimpleQueue[int | None]
ServerMaker = Callable[[Callable[[Any], Recollect]], Server[Any]]


class Plain(logging.Formatter):
    """Formats a record as one line without an exception's text, which may quote a memory."""

    def format(self, record: logging.LogRecord) -> str:
        kind = record.exc_info[0] if record.exc_info else None
        line = f"recollect mcp: {record.levelname.lower()}: {record.getMessage()}"
        return " ".join((f"{line} ({kind.__name__})" if kind else line).split())


class VaultOpener:
    """Opens the vault with the first call that succeeds, and keeps it open."""

    def __init__(self, opened: Callable[[], Recollect]) -> None:
        self._opened = opened
        self._engine: Recollect | None = None
        self._opening = threading.Lock()

    def engine(self, ctx: object = None) -> Recollect:
        """Return the engine; raise RecollectError while the vault cannot be opened."""
        with self._opening:
            if self._engine is None:
                self._engine = self._opened()
            return self._engine

    def warm_up(self) -> None:
        """Load models and vectors if the vault can be opened."""
        with suppress(RecollectError):
            self.engine().warm_up()


def serve(
    opened: Callable[[], Recollect], server: ServerMaker, handshake: str, ended: Ended
) -> int:
    """Serve until the client closes standard input or a signal stops the process; return the exit
    code. After the idle lock, continue in a fresh process.

    `opened`: opens the vault. `server`: makes the server from a function that returns the engine.
    `handshake`: the request that opened the connection, if an earlier process has answered it."""
    _log_to_stderr()
    vault, pending = VaultOpener(opened), PendingRequests(handshake)
    with suppress(RecollectError):  # each tool reports it
        vault.engine()
    transport = StdioTransport() if can_replace_process() else None
    locked = False

    def run() -> None:
        code = 0
        try:
            anyio.run(_serve, vault, server, pending, transport)
        except* OSError:
            pass  # the client is gone
        except* Exception as group:
            log_unexpected(group.exceptions[0])
            code = 1
        finally:
            ended.put(code)

    with _on_stop(lambda: ended.put(0)):
        for work in (threading.Thread(target=run), threading.Timer(WARM_AFTER_S, vault.warm_up)):
            work.daemon = True
            work.start()
        while True:
            try:
                code = ended.get(timeout=SETTLED_S if locked else None)
            except Empty:
                if transport is not None and not pending.ids:
                    transport.replace_process(pending.handshake)
                continue
            if code is not None:
                return code
            locked = transport is not None


@contextmanager
def _on_stop(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` on SIGTERM and SIGINT; restore the earlier handlers at the end."""
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: stop()) for number in signals}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


async def _serve(
    vault: VaultOpener, server_of: ServerMaker, pending: PendingRequests, transport: Any
) -> None:
    server = server_of(vault.engine)
    to_server, requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
    from_server, responses = anyio.create_memory_object_stream[SessionMessage]()
    async with (
        stdio_server(transport, transport) as (read, write),
        anyio.create_task_group() as relays,
    ):
        relays.start_soon(pending.relay_requests, read, to_server, write)
        relays.start_soon(pending.relay_responses, responses, write)
        await server.run(requests, from_server, server.create_initialization_options())


class StdioTransport:
    """Standard input and output, in place of the SDK's text files.

    A process that replaces itself loses what it has read and not yet answered. So this class tracks
    when nothing would be lost: the last line was read a while ago and was complete, and everything
    is written. While it serves, standard output goes to standard error and standard input is empty,
    so that nothing else in the process can write between the messages.
    """

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        self._reading = threading.Lock()
        self._read_at = time.monotonic()
        self._has_part = False  # of a line
        self._writing = False

    async def __aiter__(self) -> AsyncIterator[str]:
        parts: list[bytes] = []
        while block := await anyio.to_thread.run_sync(self._block, abandon_on_cancel=True):
            *lines, rest = block.split(b"\n")
            for line in lines:
                yield (b"".join([*parts, line, b"\n"])).decode(errors="replace")
                parts = []
            parts += [rest] if rest else []
            self._has_part = bool(parts)
        if parts:
            yield b"".join(parts).decode(errors="replace")

    def _block(self) -> bytes:
        """Wait for input and return it; return nothing at its end."""
        select.select([self._in], [], [])
        with self._reading:
            self._read_at = time.monotonic()
            return os.read(self._in, READ_BYTES)

    async def write(self, text: str) -> None:
        self._writing = True
        await anyio.to_thread.run_sync(self._write, text.encode())
        self._writing = False

    def _write(self, raw: bytes) -> None:
        while raw:
            raw = raw[os.write(self._out, raw) :]

    async def flush(self) -> None:
        """Do nothing: `write` has written everything."""

    def replace_process(self, handshake: str) -> None:
        """Restart the command in place of this process, unless a message is being read or
        written."""
        with self._reading:
            settled = time.monotonic() - self._read_at >= SETTLED_S
            if settled and not self._has_part and not self._writing:
                os.dup2(self._in, 0)
                os.dup2(self._out, 1)
                replace_process(handshake)


class PendingRequests:
    """Relays messages and tracks the requests without a response. The SDK drops these at the end of
    input; here the server's input ends only once they are answered, so that `recollect mcp <
    requests.jsonl` works.

    `handshake`: the `initialize` request as JSON, which a fresh process repeats; empty without one,
    as in protocols since 2026.
    """

    def __init__(self, handshake: str) -> None:
        self.handshake = handshake
        self._repeated: RequestId | None = None
        self.ids: set[RequestId] = set()
        self._fewer = anyio.Event()

    async def relay_requests(
        self,
        read: ReadStream[SessionMessage | Exception],
        server: WriteStream[SessionMessage | Exception],
        write: WriteStream[SessionMessage],
    ) -> None:
        async with server:
            if self.handshake:
                await self._repeat_handshake(server)
            async for item in read:
                if isinstance(item, Exception):  # the SDK would not answer, and the client wait
                    if refusal := _refusal(item):
                        await write.send(SessionMessage(refusal))
                    continue
                self._track(item.message)
                await server.send(item)
            with anyio.move_on_after(LAST_ANSWERS_S):
                while self.ids:
                    self._fewer = anyio.Event()
                    await self._fewer.wait()

    def _track(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self.ids.add(message.id)
            if message.method == INITIALIZE:
                self.handshake = message.model_dump_json(by_alias=True, exclude_unset=True)
        elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
            self.ids.discard((message.params or {}).get("requestId", ""))

    async def _repeat_handshake(self, server: WriteStream[SessionMessage | Exception]) -> None:
        """Send the server the handshake that the client's earlier process has answered."""
        first = JSONRPCRequest.model_validate_json(self.handshake)
        self._repeated = first.id
        await server.send(SessionMessage(first))
        done = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
        await server.send(SessionMessage(done))

    async def relay_responses(
        self, responses: ReadStream[SessionMessage], write: WriteStream[SessionMessage]
    ) -> None:
        async with write:
            async for item in responses:
                if not isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    await write.send(item)
                elif item.message.id is not None and item.message.id == self._repeated:
                    self._repeated = None  # the client already has this response
                else:
                    await write.send(item)
                    self.ids -= {item.message.id}
                    self._fewer.set()


def _refusal(error: Exception) -> JSONRPCError | None:
    """Return the error for an invalid line, with its id if one can be read; None for a blank
    line."""
    problems = error.errors() if isinstance(error, ValidationError) else []
    if any(problem["input"] in ("\n", "\r\n") for problem in problems):
        return None
    ids = (_id_of(problem["input"]) for problem in problems)
    refused = ErrorData(code=INVALID_REQUEST, message="The line is not a JSON-RPC 2.0 message.")
    if any(problem["type"] == "json_invalid" for problem in problems):
        sentence = "The line is not JSON, or contains half of a surrogate pair."
        refused = ErrorData(code=PARSE_ERROR, message=sentence)
    id = next((id for id in ids if id is not None), None)
    return JSONRPCError(jsonrpc="2.0", id=id, error=refused)


def _id_of(refused: object) -> RequestId | None:
    """Return the id in an invalid line or a part of it. Python's JSON reader accepts lone
    surrogates; the protocol's does not."""
    with suppress(ValueError, RecursionError):
        message = json.loads(refused) if isinstance(refused, str) else refused
        id = message.get("id") if isinstance(message, dict) else None
        if type(id) is int or (isinstance(id, str) and id.isprintable()):
            return id
    return None


def _log_to_stderr() -> None:
    """Log to standard error, as standard output belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Plain())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
