"""Standard input and output as the MCP server uses them, so that a fresh process can go on.

A process that replaces itself loses what it has read and not yet answered. So this knows when that
is nothing: the last line was read a while ago, it was whole, and what was written has gone out.
While it serves, nobody else in the process can write among the messages: standard output leads to
standard error, and standard input is empty.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import AsyncIterator

import anyio.to_thread

from recollect.interfaces import fresh_process

AT_ONCE = 65536  # bytes, as much as a pipe holds
# A line that was read longer ago than this has reached the server, which knows whether it answered.
SETTLED_S = 1.0


class Wire:
    """In place of the text files that the SDK reads lines from and writes lines to."""

    def __init__(self, unread: bytes = b"") -> None:
        """`unread`: what was read of standard input already, and nobody has looked at."""
        self._unread = unread
        self._in, self._out = os.dup(0), os.dup(1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        self._reading = threading.Lock()
        self._read_at = time.monotonic()
        self._begun = False  # a line has come in part
        self._writing = False

    async def __aiter__(self) -> AsyncIterator[str]:
        pieces: list[bytes] = []
        while piece := await anyio.to_thread.run_sync(self._piece, abandon_on_cancel=True):
            *whole, rest = piece.split(b"\n")
            for line in whole:
                yield (b"".join([*pieces, line, b"\n"])).decode(errors="replace")
                pieces = []
            pieces += [rest] if rest else []
            self._begun = bool(pieces)
        if pieces:
            yield b"".join(pieces).decode(errors="replace")

    def _piece(self) -> bytes:
        """What there is to read, at least a byte; nothing at the end."""
        if unread := self._unread:
            self._unread = b""
            return unread
        select.select([self._in], [], [])
        with self._reading:
            self._read_at = time.monotonic()
            return os.read(self._in, AT_ONCE)

    async def write(self, text: str) -> None:
        self._writing = True
        await anyio.to_thread.run_sync(self._write, text.encode())
        self._writing = False

    def _write(self, raw: bytes) -> None:
        while raw:
            raw = raw[os.write(self._out, raw) :]

    async def flush(self) -> None:
        """Nothing is held back."""

    def go_on_afresh(self, state: str) -> None:
        """Replace the process, unless something is under way."""
        with self._reading:
            settled = time.monotonic() - self._read_at >= SETTLED_S
            if settled and not self._begun and not self._writing:
                os.dup2(self._in, 0)
                os.dup2(self._out, 1)
                fresh_process.replace(state)
