"""MCP on standard input and output: one process for one client, which ends with it.

The event loop runs in a thread of its own and the main thread waits for it, or for a signal,
whichever comes first. So nothing can hold the process back: neither a thread that waits for
a line, nor one that waits for a remote model.

A vault that cannot be opened does not end the server: every tool answers with the sentence that
says why, and the next call tries again.

After the idle lock of a locked vault the process replaces itself by a fresh one, with the same
standard input and output. The client notices nothing: its handshake is handed on and repeated.
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
from recollect.interfaces.mcp.server import unexpected
from recollect.interfaces.server_processes import can_replace_process, replace_process

if TYPE_CHECKING:  # not a public module
    from mcp.shared._stream_protocols import ReadStream, WriteStream

# A client that has closed standard input may still read, but not for long.
LAST_ANSWERS_S = 1.0
# Models are loaded this long after the start, so that they do not delay the first answers.
WARM_AFTER_S = 0.5
INITIALIZE = "initialize"
CANCELLED = "notifications/cancelled"  # the protocol answers no request that is cancelled
READ_BYTES = 65536  # as much as a pipe holds
# A line that was read longer ago than this has reached the server, which knows whether it answered.
SETTLED_S = 1.0
# Gets the exit code when the server ends, and None when the idle lock has closed the vault.
Ended = SimpleQueue[int | None]
ServerMaker = Callable[[Callable[[Any], Recollect]], Server[Any]]


class Plain(logging.Formatter):
    """One line per record, without an exception's text: that may quote a memory."""

    def format(self, record: logging.LogRecord) -> str:
        kind = record.exc_info[0] if record.exc_info else None
        line = f"recollect mcp: {record.levelname.lower()}: {record.getMessage()}"
        return " ".join((f"{line} ({kind.__name__})" if kind else line).split())


class VaultOpener:
    """The vault, opened by the first call for which that works and kept open from then on."""

    def __init__(self, opened: Callable[[], Recollect]) -> None:
        self._opened = opened
        self._engine: Recollect | None = None
        self._opening = threading.Lock()

    def engine(self, ctx: object = None) -> Recollect:
        """Return the engine; raise RecollectError as long as the vault cannot be opened."""
        with self._opening:
            if self._engine is None:
                self._engine = self._opened()
            return self._engine

    def warm_up(self) -> None:
        """Load models and vectors, unless the vault cannot be opened."""
        with suppress(RecollectError):
            self.engine().warm_up()


def serve(
    opened: Callable[[], Recollect], server: ServerMaker, handshake: str, ended: Ended
) -> int:
    """Serve until the client closes standard input or a signal says stop; return the exit code.
    After the idle lock, go on in a fresh process.

    `opened` opens the vault. `server` makes the server from what returns the engine. `handshake` is
    the request that opened the connection, where the process before this one has answered it."""
    _log_to_stderr()
    vault, unanswered = VaultOpener(opened), Unanswered(handshake)
    with suppress(RecollectError):  # each tool says so
        vault.engine()
    transport = StdioTransport() if can_replace_process() else None
    locked = False

    def run() -> None:
        code = 0
        try:
            anyio.run(_serve, vault, server, unanswered, transport)
        except* OSError:
            pass  # the client has gone, and nobody would read an answer
        except* Exception as group:
            unexpected(group.exceptions[0])
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
                if transport is not None and unanswered.none():
                    transport.replace_process(unanswered.handshake)
                continue
            if code is not None:
                return code
            locked = transport is not None


@contextmanager
def _on_stop(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` when a signal asks the server to end; restore the earlier handlers at the end."""
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: stop()) for number in signals}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


async def _serve(
    vault: VaultOpener, server_of: ServerMaker, unanswered: Unanswered, transport: Any
) -> None:
    server = server_of(vault.engine)
    asks, asked = anyio.create_memory_object_stream[SessionMessage | Exception]()
    answers, answered = anyio.create_memory_object_stream[SessionMessage]()
    async with (
        stdio_server(transport, transport) as (read, write),
        anyio.create_task_group() as relays,
    ):
        relays.start_soon(unanswered.ask, read, asks, write)
        relays.start_soon(unanswered.answer, answered, write)
        await server.run(asked, answers, server.create_initialization_options())


class StdioTransport:
    """Standard input and output, in place of the text files that the SDK reads and writes.

    A process that replaces itself loses what it has read and not yet answered. So this knows when
    that is nothing: the last line was read a while ago, it was whole, and what was written has gone
    out. While it serves, standard output leads to standard error and standard input is empty, so
    that nothing else in the process can write among the messages.
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
        """Run the command anew in place of this process, unless a message is under way."""
        with self._reading:
            settled = time.monotonic() - self._read_at >= SETTLED_S
            if settled and not self._has_part and not self._writing:
                os.dup2(self._in, 0)
                os.dup2(self._out, 1)
                replace_process(handshake)


class Unanswered:
    """The requests that wait for an answer. The SDK drops them where the input ends; here it ends
    for the server only once they are answered, so that `recollect mcp < requests.jsonl` works.

    `handshake` is the request `initialize` as JSON, which a fresh process repeats; empty where
    there was none, as since 2026.
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
        """Send the handshake, whose answer the client has already, to the server."""
        first = JSONRPCRequest.model_validate_json(self.handshake)
        self._repeated = first.id
        await asks.send(SessionMessage(first))
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
