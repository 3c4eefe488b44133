"""The server: HTTP API, MCP and the pages, as one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp

from recollect.auth.attempts import Attempts
from recollect.auth.credentials import Credentials
from recollect.interfaces.http import api
from recollect.interfaces.http.guard import (
    LARGEST_BODY,
    Guard,
    ProxiedUsers,
    SafeHeaders,
    caller_of,
)
from recollect.interfaces.http.logs import Logged, Metrics
from recollect.interfaces.http.problems import ProblemResponses
from recollect.interfaces.http.service import Service
from recollect.interfaces.mcp.http import http_app
from recollect.interfaces.web import login, pages
from recollect.interfaces.web.rendering import problem_page
from recollect.interfaces.web.upkeep import Worker


def create_app(
    service: Service, *, names: Iterable[str] = (), credentials: Credentials | None = None
) -> ASGIApp:
    """The application. `names` are the host names it answers to beside the loopback ones."""
    metrics = Metrics()
    credentials = Credentials() if credentials is None else credentials
    problems = ProblemResponses(problem_page)
    mcp = http_app(
        service.own,
        caller=caller_of,
        lanes=service.lanes,
        largest_body=LARGEST_BODY,
    )
    app = Starlette(
        routes=[
            *api.routes(service, metrics, required=credentials.required),
            Route("/mcp", mcp),
            *login.routes(credentials, service.own.audit),
            *login.access_routes(credentials, service.own.audit),
            *pages.routes(service),
        ],
        # A page of results is 75 kB, 8 as gzip. Streams of events pass as they are.
        middleware=[Middleware(GZipMiddleware, compresslevel=5)],
        exception_handlers=problems.handlers(),
        lifespan=_lifespan(service, mcp),
        max_body_size=LARGEST_BODY,
    )
    app.state.worker, app.state.attempts = Worker(), Attempts()
    guarded = Guard(
        app, names=names, credentials=credentials, audit=service.own.audit, problems=problems,
        users=ProxiedUsers(service.own.settings.serve),
    )  # fmt: skip
    return Logged(SafeHeaders(guarded), metrics)


def _lifespan(service: Service, mcp: StreamableHTTPASGIApp) -> Any:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.warm_up()
        async with mcp.session_manager.run():
            yield
        service.close()

    return lifespan
