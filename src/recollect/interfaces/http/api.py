"""The HTTP API, version 1: every route, and the OpenAPI document of them."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.interfaces.http import (
    history,
    lifecycle,
    memories,
    openapi,
    operations,
    recipes,
    review,
    searching,
    state,
)
from recollect.interfaces.http.metrics import Metrics
from recollect.interfaces.http.operations import JSON
from recollect.interfaces.http.service import Service

OPERATIONS = (
    *memories.OPERATIONS,
    *lifecycle.OPERATIONS,
    *history.OPERATIONS,
    *review.OPERATIONS,
    *searching.OPERATIONS,
    *recipes.OPERATIONS,
    *state.OPERATIONS,
)


def routes(service: Service, metrics: Metrics, *, required: bool) -> list[BaseRoute]:
    """Every route; `required`: whether callers must show a token."""
    body = msgspec.json.encode(openapi.document(OPERATIONS, required=required))

    async def document(request: Request) -> Response:
        return Response(body, media_type=JSON)

    return [
        *operations.routes(OPERATIONS, service, metrics),
        Route("/openapi.json", document, methods=["GET"]),
    ]
