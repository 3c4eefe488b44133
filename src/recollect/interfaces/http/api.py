"""The HTTP API, version 1: every route, those that say how the server is, and their OpenAPI."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.errors import RecollectError
from recollect.interfaces.http import (
    lifecycle,
    memories,
    openapi,
    operations,
    schemas,
    searching,
)
from recollect.interfaces.http.logs import Metrics
from recollect.interfaces.http.operations import JSON, Call, Operation, ReplySpec, json_response
from recollect.interfaces.http.service import Service
from recollect.interfaces.lanes import HEALTH
from recollect.version import __version__

# Whoever watches the server gives up soon after.
LONGEST_CHECK_S = 2.0
NEEDED = ("models", "database")  # for a search
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def health(call: Call) -> Response:
    """Answers without touching the vault: the process is alive."""
    return json_response(schemas.Health("ok", __version__))


async def ready(call: Call) -> Response:
    """Whether a search would be answered at once, and of what it needs, what answers. Without a
    replica the primary is asked."""
    problems = await _problems(call.service)
    shown = {name: problem or "ok" for name, problem in problems.items()}
    reason = next((problems[name] for name in NEEDED if problems.get(name)), None)
    if reason is None:
        return json_response(schemas.Health("ready", __version__, dependencies=shown))
    return json_response(schemas.Health("not ready", __version__, reason, shown), 503)


async def _problems(service: Service) -> dict[str, str | None]:
    """What is wrong with each thing that the server depends on; None: nothing."""
    problems = {"models": None if service.warm.is_set() else "The models are being loaded."}
    try:
        asked = service.lanes.run(HEALTH, service.own.dependencies)
        return problems | await asyncio.wait_for(asked, LONGEST_CHECK_S)
    except RecollectError as error:
        return problems | {"database": str(error)}
    except TimeoutError:
        late = f"The vault has not answered for {LONGEST_CHECK_S:g} seconds."
        return problems | {"database": late}


async def metrics(call: Call) -> Response:
    problems = await _problems(call.service)
    call.metrics.dependencies(problems)
    if problems["database"] is None:
        coverage = await call.service.ask(call.engine.coverage)
        waiting = await call.service.ask(call.engine.waiting)
        call.metrics.vault(coverage.memories, waiting)
    return Response(call.metrics.text(), media_type=METRICS_TYPE)


OPERATIONS = (
    *memories.OPERATIONS,
    *lifecycle.OPERATIONS,
    *searching.OPERATIONS,
    Operation(
        "GET", "/healthz", health, "Whether the server is alive",
        {200: ReplySpec("It is.", schemas.Health)}, needs=None,
    ),
    Operation(
        "GET", "/readyz", ready, "Whether the server can answer searches",
        {200: ReplySpec("It can.", schemas.Health), 503: ReplySpec("Not yet.", schemas.Health)},
        needs=None,
    ),
    Operation(
        "GET", "/metrics", metrics, "Counts and times for Prometheus",
        {200: ReplySpec("Prometheus's text format.", str, METRICS_TYPE)},
    ),
)  # fmt: skip


def routes(service: Service, metrics: Metrics, *, required: bool) -> list[BaseRoute]:
    """Every route; `required`: whether callers must show a token."""
    body = msgspec.json.encode(openapi.document(OPERATIONS, required=required))

    async def document(request: Request) -> Response:
        return Response(body, media_type=JSON)

    return [
        *operations.routes(OPERATIONS, service, metrics),
        Route("/openapi.json", document, methods=["GET"]),
    ]
