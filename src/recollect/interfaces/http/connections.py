"""Serving with uvicorn, with deadlines for clients that send slowly."""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.interfaces.http.guard import LONG_ADDRESS, LONGEST_ADDRESS
from recollect.interfaces.http.problems import MEDIA_TYPE, Problem
from recollect.interfaces.sockets import BACKLOG

LOG = logging.getLogger("recollect.serve")
GRACE_S = 3  # for requests that are running when the server stops
# A client sends its headers at once; ten seconds are enough for the slowest network.
HEADERS_S = 10.0
# A large body may take longer, but must keep this rate. Otherwise a few clients that send a byte
# now and then would hold connections and memory for ever.
BODY_S = 20.0
SLOWEST = 16 << 10  # bytes per second
LATE = "The request timed out: its {part} arrived too slowly. Send it again."
INVALID = "This is not a valid HTTP request, or its headers are too long."
LONG_REQUEST_LINE = re.compile(rb"[A-Z]+ [^ \r\n]{%d}" % LONGEST_ADDRESS)
# Errors of `accept` that pass once other connections are closed.
FULL = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
FULL_LOG_S = 60.0  # between two log lines about them
# The status in the log for a client that disconnected before the response. Source: nginx.
LEFT = 499


class TimedProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the headers and for the body of each request. Between requests
    uvicorn's keep-alive timeout applies.

    `scope["left"]` is the status to log if no response reaches the client.
    """

    _part: str | None = None  # "headers" or "body"
    _timer: asyncio.TimerHandle | None = None
    _since = 0.0
    _received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.ERROR:
            return  # left over from a refused request
        super().data_received(data)
        self._received += len(data)
        self._expect()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        if self.cycle is not None and not self.cycle.response_complete:
            self.scope.setdefault("left", LEFT)  # type: ignore[typeddict-item]
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what h11 cannot parse. That includes a long address that arrives in pieces; it
        gets the same response as from the guard. Closing at once would reset the connection while
        the client is still sending, and lose the response."""
        long = LONG_REQUEST_LINE.match(self.conn.trailing_data[0])
        self._answer(*((414, LONG_ADDRESS) if long else (400, INVALID)))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(GRACE_S, self.transport.close)

    def _expect(self) -> None:
        """Start the deadline of the next part, unless it is running."""
        part = self._missing()
        if part == self._part:
            return
        self._stop()
        self._part, self._since, self._received = part, self.loop.time(), 0
        if part is not None:
            self._wait(HEADERS_S if part == "headers" else BODY_S)

    def _missing(self) -> str | None:
        """Return the part that the client has to send next; None between requests and while a
        response is written."""
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        begun = self.cycle is None or self.conn.trailing_data[0]
        return "headers" if self.conn.their_state is h11.IDLE and begun else None

    def _wait(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._late)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        earned = BODY_S + self._received / SLOWEST - (self.loop.time() - self._since)
        if self._part == "body" and (earned > 0 or self.flow.read_paused):
            self._wait(max(earned, 0.1))  # it is fast enough, or the server itself has paused
            return
        self._cut()

    def _cut(self) -> None:
        """Close the connection; answer 408 first if a request has begun and has no response."""
        begun = self._part == "body" or self.conn.trailing_data[0]
        if begun:
            LOG.info("cut off", extra={"fields": {"slow": self._part}})
        answered = self._part == "body" and self.cycle.response_started
        if self._part == "body":
            self.scope["left"] = 408  # type: ignore[typeddict-unknown-key]
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if begun and not answered:
            request_id = self.scope.get("request_id", "") if self._part == "body" else ""
            self._answer(408, LATE.format(part=self._part), str(request_id))
        self.transport.close()

    def _answer(self, status: int, detail: str, request_id: str = "") -> None:
        title = HTTPStatus(status).phrase
        body = msgspec.json.encode(Problem(title, status, detail, request_id))
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        for event in (
            h11.Response(status_code=status, headers=headers, reason=title.encode()),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")


class Server(uvicorn.Server):
    """A uvicorn server that stops once `ended` is set, as by a signal. Then `kept` is the socket,
    still open: clients that connect wait for the next server. `stopping` is called first, to end
    streams of events."""

    kept: socket.socket

    def __init__(
        self,
        app: ASGIApp,
        ended: threading.Event | None = None,
        stopping: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app, http=TimedProtocol, log_config=None, ws="none", access_log=False,
                server_header=False, lifespan="on", timeout_graceful_shutdown=GRACE_S,
                proxy_headers=False,  # a client's address is that of its connection
                backlog=1,  # asyncio retries a failed accept this often, and logs each error
            )
        )  # fmt: skip
        self._ended = ended or threading.Event()
        self._stopping = stopping
        self._failed_accepts, self._next_log = 0, 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._log_error)
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)  # asyncio has set it to uvicorn's `backlog`

    def _log_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop. While no file descriptor is free, asyncio retries
        `accept` every second: log the first failure, then a count once a minute."""
        if "socket" not in context or getattr(context["exception"], "errno", None) not in FULL:
            loop.default_exception_handler(context)
            return
        self._failed_accepts += 1
        if loop.time() >= self._next_log:
            fields = {
                "failed": self._failed_accepts,
                "connections": len(self.server_state.connections),
            }
            LOG.error("no file descriptor is free, so clients wait", extra={"fields": fields})
            self._failed_accepts, self._next_log = 0, loop.time() + FULL_LOG_S

    async def on_tick(self, counter: int) -> bool:
        return self._ended.is_set() or await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        if self._ended.is_set() and sockets:
            self.kept = sockets[0].dup()
        await super().shutdown(sockets)
