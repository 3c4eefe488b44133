"""What is known of requests: the log, one line of JSON each with an id and nothing of a memory or a
query; and what Prometheus reads."""

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
SHARED = "PROMETHEUS_MULTIPROC_DIR"  # of the environment: where workers count together
LOG = logging.getLogger("recollect.serve")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
OTHER = "(no route)"
LIBRARIES = ("uvicorn", "mcp", "asyncio")


def count_together(folder: str) -> None:
    """From now on this process counts in files of this folder, as all workers of a server do."""
    os.environ[SHARED] = folder
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


class Metrics:
    """Counts in a registry of its own, so that two servers in one process stay apart."""

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
            "From the request's arrival to the end of its answer.",
            ("route",),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "recollect_search_stage_seconds",
            "How long each stage of a search took; `total` is the whole.",
            ("recipe", "stage"),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._degraded = Counter(
            "recollect_search_degraded_total",
            "Searches in which a part could not do its work.",
            ("recipe", "part"),
            registry=self._registry,
        )
        self._memories = gauge("recollect_memories", "Memories that can be found.")
        self._waiting = gauge(
            "recollect_vectors_waiting", "Memories that wait for a vector of the active model."
        )
        self._up = gauge(
            "recollect_dependency_up",
            "Whether what the server depends on answers: 1, else 0.",
            ("dependency",),
        )

    def request(self, method: str, route: str, status: int, spent: float) -> None:
        # Anyone can invent a method; a label with unbounded values would grow without end.
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
            every = CollectorRegistry()
            MultiProcessCollector(every, folder)  # type: ignore[no-untyped-call]
            return generate_latest(every)
        return generate_latest(self._registry)


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
