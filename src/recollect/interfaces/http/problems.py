"""What went wrong, as RFC 9457 problem documents: for a person as a page, with the same words."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from recollect.errors import (
    Changed,
    Exists,
    Forbidden,
    Locked,
    NotFound,
    ProviderError,
    RecollectError,
    StoreError,
    UserError,
)
from recollect.interfaces.web.rendering import page

MEDIA_TYPE = "application/problem+json"
# From the most particular to the most general: the first that fits.
STATUSES: tuple[tuple[type[RecollectError], int], ...] = (
    (NotFound, 404),
    (Exists, 409),
    (Changed, 412),
    (UserError, 400),
    (Forbidden, 403),
    (Locked, 423),
    (StoreError, 503),
    (ProviderError, 502),
)
SENTENCES = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
    413: "The request is larger than this server takes.",
    500: "Something went wrong that should not have; the log says where, by the request's id.",
}


class Problem(Struct, frozen=True):
    """A problem document. Source: RFC 9457, section 3.1."""

    title: str
    status: int
    detail: str
    request_id: str
    type: str = "about:blank"


def status_of(error: RecollectError) -> int:
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def problem(
    request: Request, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The document, or a page where a browser asks for one."""
    title = HTTPStatus(status).phrase
    if _wants_page(request):
        shown = {"title": title, "detail": detail}
        response: Response = page("problem.html", request, shown, status=status)
        response.headers.update(headers or {})
        return response
    document = Problem(title, status, detail, request.scope.get("request_id", ""))
    return Response(msgspec.json.encode(document), status, headers, MEDIA_TYPE)


def _wants_page(request: Request) -> bool:
    accepts = request.headers.get("accept", "")
    path = request.url.path
    return "text/html" in accepts and not path.startswith(("/api/", "/mcp", "/openapi"))


async def known(request: Request, error: Exception) -> Response:
    """An error that Recollect raises on purpose: its text is written for whoever meets it."""
    assert isinstance(error, RecollectError)
    status = status_of(error)
    return problem(request, status, str(error), {"Retry-After": "5"} if status == 503 else None)


async def refused(request: Request, error: Exception) -> Response:
    """What the framework refuses: no such route, no such method, too large a body."""
    assert isinstance(error, HTTPException)
    detail = SENTENCES.get(error.status_code, str(error.detail))
    return problem(request, error.status_code, detail, error.headers)


async def unexpected(request: Request, error: Exception) -> Response:
    """Anything else. Its text may quote a memory, so it is told neither here nor in the log."""
    return problem(request, 500, SENTENCES[500])


HANDLERS = {RecollectError: known, HTTPException: refused, Exception: unexpected}
