"""The request log, one line of JSON per request without text of memories or queries; and metrics
for Prometheus."""

from __future__ import annotations

import logging
import os
import re
import time
import traceback
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.types import Response

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the environment variable of the folder that workers share
LOG = logging.getLogger("recollect.serve")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
OTHER = "(no route)"
LIBRARIES = ("uvicorn", "mcp", "asyncio")


def count_together(folder: str) -> None:
    """Count in files of this folder from now on, together with the server's other workers."""
    os.environ[SHARED] = folder
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


class Metrics:
    """Metrics in their own registry, so that two servers in one process stay separate."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        gauge = partial(Gauge, registry=self._registry, multiprocess_mode="mostrecent")
        self._requests = Counter(
            "recollect_requests_total",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._spent = Histogram(
            "recollect_request_seconds",
            "Time from the request's arrival to the end of its response.",
            ("route",),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "recollect_search_stage_seconds",
            "Time of each stage of a search; `total` is the whole search.",
            ("recipe", "stage"),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._degraded = Counter(
            "recollect_search_degraded_total",
            "Searches in which a part failed or was skipped.",
            ("recipe", "part"),
            registry=self._registry,
        )
        self._memories = gauge("recollect_memories", "Memories that a search can find.")
        self._waiting = gauge(
            "recollect_vectors_waiting", "Memories without a vector of the active model yet."
        )
        self._up = gauge(
            "recollect_dependency_up",
            "1 if a dependency of the server works, else 0.",
            ("dependency",),
        )

    def request(self, method: str, route: str, status: int, spent: float) -> None:
        # Clients can invent methods, and each label value takes memory.
        self._requests.labels(method if method in METHODS else "other", route, status).inc()
        self._spent.labels(route).observe(spent)

    def search(self, response: Response) -> None:
        for stage, spent in response.timings_ms.items():
            self._stages.labels(response.recipe, stage).observe(spent / 1000)
        for part in response.degraded:
            self._degraded.labels(response.recipe, part.channel).inc()

    def vault(self, memories: int, waiting: int) -> None:
        self._memories.set(memories)
        self._waiting.set(waiting)

    def dependencies(self, problems: Mapping[str, str | None]) -> None:
        for name, problem in problems.items():
            self._up.labels(name).set(problem is None)

    def text(self) -> bytes:
        if folder := os.environ.get(SHARED):
            merged = CollectorRegistry()
            MultiProcessCollector(merged, folder)  # type: ignore[no-untyped-call]
            return generate_latest(merged)
        return generate_latest(self._registry)


class JsonLines(logging.Formatter):
    """Format a record as one JSON object. An exception is logged by its type and traceback only:
    its message may quote a memory."""

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
    """Log the messages of the server and its libraries to the stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    # The request's own line reports a client that disconnected; a library may call it an error.
    handler.addFilter(
        lambda record: not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))
    )
    for name, level in (("recollect", "INFO"), *((other, "WARNING") for other in LIBRARIES)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level)


class RequestLog:
    """Middleware that gives each request an id and records its outcome in log and metrics."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = Headers(scope=scope).get("x-request-id", "")
        request_id = sent if REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex
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
            # If the client disconnected, `left` replaces the status that did not reach it.
            self._record(scope, scope.get("left", status), time.perf_counter() - start)

    def _record(self, scope: Scope, status: int, spent: float) -> None:
        """Record the route rather than the path: an id contains words of a title."""
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
