"""The log: one line of JSON per request, with an id, and nothing of a memory or a query."""

from __future__ import annotations

import logging
import re
import time
import traceback
import uuid
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.interfaces.http.metrics import Metrics

LOG = logging.getLogger("recollect.serve")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
OTHER = "(no route)"
LIBRARIES = ("uvicorn", "mcp", "asyncio")


class JsonLines(logging.Formatter):
    """A record as one JSON object. Of an exception, its type and where it was raised: its text may
    quote a memory."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage() if not record.exc_info else "error",
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])[-8:]
            line["error"] = record.exc_info[0].__name__
            line["where"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return msgspec.json.encode(line).decode()


def set_up(stream: TextIO) -> None:
    """Send what the server and its libraries say to the stream; `Logged` writes the requests."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    handler.addFilter(_not_a_client_that_left)
    for name, level in (("recollect", "INFO"), *((other, "WARNING") for other in LIBRARIES)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level)


def _not_a_client_that_left(record: logging.LogRecord) -> bool:
    """A library may call that an error; here the line of the request says it."""
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


class Logged:
    """Gives each request an id, and writes its outcome to the log and the metrics."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("x-request-id", "")
        request_id = asked if REQUEST_ID.fullmatch(asked) else uuid.uuid4().hex
        scope["request_id"] = request_id
        status = 500
        start = time.perf_counter()

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"], (b"x-request-id", request_id.encode())
                ]  # fmt: skip
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception:
            LOG.exception("error", extra={"fields": {"id": request_id}})
        finally:
            # Where the client has left, what was answered reached nobody.
            self._tell(scope, scope.get("left", status), time.perf_counter() - start)

    def _tell(self, scope: Scope, status: int, spent: float) -> None:
        """The route, not the path: an id is made from a title's words."""
        route = getattr(scope.get("route"), "path", OTHER)
        method = scope["method"]
        self._metrics.request(method, route, status, spent)
        fields = {
            "id": scope["request_id"],
            "method": method,
            "route": route,
            "status": status,
            "ms": round(spent * 1000, 2),
        }
        LOG.info("request", extra={"fields": fields})
