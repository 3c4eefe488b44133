"""The server: HTTP API, MCP over streamable HTTP and the pages, as one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.auth.credentials import Attempts, Credentials
from recollect.engine import Recollect
from recollect.interfaces.http import api
from recollect.interfaces.http.guard import (
    LARGEST_BODY,
    Guard,
    ProxiedUsers,
    SafeHeaders,
    caller_of,
)
from recollect.interfaces.http.logs import Metrics, RequestLog
from recollect.interfaces.http.problems import ProblemResponses
from recollect.interfaces.http.service import Service
from recollect.interfaces.mcp.server import Context, build
from recollect.interfaces.web import login, pages
from recollect.interfaces.web.rendering import problem_page
from recollect.interfaces.web.upkeep import Worker


def create_app(
    service: Service, *, names: Iterable[str] = (), credentials: Credentials | None = None
) -> ASGIApp:
    """Return the ASGI application. `names`: host names it answers to, besides the loopback ones."""
    metrics = Metrics()
    credentials = Credentials() if credentials is None else credentials
    problems = ProblemResponses(problem_page)
    mcp = mcp_app(service)
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
    return RequestLog(SafeHeaders(guarded), metrics)


def _lifespan(service: Service, mcp: StreamableHTTPASGIApp) -> Any:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.warm_up()
        async with mcp.session_manager.run():
            yield
        service.close()

    return lifespan


UNCHECKED = TransportSecuritySettings(enable_dns_rebinding_protection=False)


class PostOnly(StreamableHTTPASGIApp):
    """Refuses GET, as the protocol allows: GET opens a stream for messages that the server sends
    unasked. This server sends none, and the stream would stay open as long as the client."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await super().__call__(scope, receive, send)
            return
        refusal = PlainTextResponse("Only POST is served here.", 405, {"Allow": "POST"})
        await refusal(scope, receive, send)


def mcp_app(service: Service) -> PostOnly:
    """Return MCP as an ASGI application for one path.

    It is stateless, with plain JSON responses: no session is kept, and any number of clients may
    come and go. The SDK's check of Host and Origin is off because `Guard` checks them for every
    path, with its own list of allowed names.

    Call it inside `async with app.session_manager.run():`, which can be entered once."""

    def engine_of(ctx: Context) -> Recollect:
        assert ctx.request is not None, "every message comes with its request"
        return service.own.acting_as(caller_of(ctx.request.scope), "mcp")

    manager = StreamableHTTPSessionManager(
        build(engine_of, pools=service.pools),
        json_response=True,
        stateless=True,
        security_settings=UNCHECKED,
        max_request_body_size=LARGEST_BODY,
    )
    return PostOnly(manager)
