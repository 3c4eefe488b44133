"""The server: HTTP API, MCP and the page, as one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from recollect.errors import RecollectError
from recollect.interfaces.http import api, login, openapi, operations, schemas
from recollect.interfaces.http.guard import LARGEST_BODY, Guard, SafeHeaders, Tokens, caller_of
from recollect.interfaces.http.logs import Logged
from recollect.interfaces.http.metrics import Metrics
from recollect.interfaces.http.operations import Answer, Call, Operation, answer
from recollect.interfaces.http.problems import HANDLERS
from recollect.interfaces.http.service import Service
from recollect.interfaces.mcp.http import http_app
from recollect.interfaces.web import pages
from recollect.version import __version__

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def health(call: Call) -> Response:
    """Answers without touching the vault: the process is alive."""
    return answer(schemas.Health("ok", __version__))


async def ready(call: Call) -> Response:
    """Whether a search would be answered, and at once."""
    reason = await call.service.ask(_unready, call.service)
    if reason is None:
        return answer(schemas.Health("ready", __version__))
    return answer(schemas.Health("not ready", __version__, reason), 503)


def _unready(service: Service) -> str | None:
    if not service.warm.is_set():
        return "The models are being loaded."
    try:
        service.own.list(limit=1)  # whether it can be read is told, and nothing that it holds
    except RecollectError as error:
        return str(error)
    return None


async def metrics(call: Call) -> Response:
    coverage = await call.service.ask(call.engine.coverage)
    waiting = await call.service.ask(call.engine.waiting)
    call.metrics.vault(coverage.memories, waiting)
    return Response(call.metrics.text(), media_type=METRICS_TYPE)


STATE = (
    Operation(
        "GET", "/healthz", health, "Whether the server is alive",
        {200: Answer("It is.", schemas.Health)}, needs=None,
    ),
    Operation(
        "GET", "/readyz", ready, "Whether the server can answer searches",
        {200: Answer("It can.", schemas.Health), 503: Answer("Not yet.", schemas.Health)},
        needs=None,
    ),
    Operation(
        "GET", "/metrics", metrics, "Counts and times for Prometheus",
        {200: Answer("Prometheus's text format.", str, METRICS_TYPE)},
    ),
)  # fmt: skip
OPERATIONS = (*api.OPERATIONS, *STATE)


def create_app(
    service: Service, *, names: Iterable[str] = (), tokens: Tokens | None = None
) -> ASGIApp:
    """The application. `names` are those it goes by beside the loopback ones."""
    counts = Metrics()
    held = Tokens() if tokens is None else tokens
    mcp = http_app(service.own, warm=False, caller=caller_of)
    app = Starlette(
        routes=[
            *operations.routes(OPERATIONS, service, counts),
            _document(),
            Route("/mcp", mcp),
            *login.routes(held, service.own.audit),
            *pages.routes(service),
        ],
        exception_handlers=HANDLERS,
        lifespan=_lifespan(service, mcp),
        max_body_size=LARGEST_BODY,
    )
    guarded = Guard(app, names=names, tokens=held, audit=service.own.audit)
    return Logged(SafeHeaders(guarded), counts)


def _document() -> BaseRoute:
    body = msgspec.json.encode(openapi.document(OPERATIONS))

    async def endpoint(request: Request) -> Response:
        return Response(body, media_type="application/json")

    return Route("/openapi.json", endpoint, methods=["GET"])


def _lifespan(service: Service, mcp: StreamableHTTPASGIApp) -> Any:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.warm_up()
        async with mcp.session_manager.run():
            yield
        service.close()

    return lifespan
