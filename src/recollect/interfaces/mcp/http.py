"""MCP over streamable HTTP, to be mounted in the server that `recollect serve` runs.

Stateless, with plain JSON answers: each request stands for itself, so that no session can be left
behind and any number of clients may come and go. The SDK's check of Host and Origin is off because
the application around this one checks them for every path, with its own list of allowed names.
"""

from __future__ import annotations

from collections.abc import Callable

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from recollect.auth.capabilities import Caller
from recollect.engine import Recollect
from recollect.interfaces.lanes import Lanes
from recollect.interfaces.mcp.server import Context, build

UNCHECKED = TransportSecuritySettings(enable_dns_rebinding_protection=False)


class PostOnly(StreamableHTTPASGIApp):
    """Refuses GET, as the protocol allows: it would open a stream for messages that a server sends
    unasked. This one sends none, and the stream would stay open for as long as the client."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await super().__call__(scope, receive, send)
            return
        refusal = PlainTextResponse("Only POST is served here.", 405, {"Allow": "POST"})
        await refusal(scope, receive, send)


def http_app(
    engine: Recollect,
    *,
    caller: Callable[[Scope], Caller] | None = None,
    lanes: Lanes | None = None,
    largest_body: int,
) -> PostOnly:
    """An ASGI application for one path. `async with app.session_manager.run():` must surround the
    time in which it is called; it can be entered once. `caller` says of each request who sent it;
    without, everybody is the owner. `lanes`: as of `build`. `largest_body`: bytes of a request that
    the application around this one lets pass."""

    def engine_of(ctx: Context) -> Recollect:
        if caller is None:
            return engine
        assert ctx.request is not None, "every message comes with its request"
        return engine.acting_as(caller(ctx.request.scope), "mcp")

    manager = StreamableHTTPSessionManager(
        build(engine_of, lanes=lanes),
        json_response=True,
        stateless=True,
        security_settings=UNCHECKED,
        max_request_body_size=largest_body,
    )
    return PostOnly(manager)
