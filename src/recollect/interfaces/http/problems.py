"""Errors as RFC 9457 problem documents, or as pages with the same text for a browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
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

# Request, status, title, detail → the page.
ProblemPage = Callable[[Request, int, str, str], Response]
MEDIA_TYPE = "application/problem+json"
# From the most specific to the most general: the first match counts.
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
    405: "This address does not accept that method.",
    413: "The request is larger than this server accepts.",
    500: "The server failed unexpectedly; the log has the details under this request's id.",
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


class ProblemResponses:
    """Makes responses for errors: a document, or a page if a browser asks for one."""

    def __init__(self, page: ProblemPage) -> None:
        self._page = page

    def response(
        self, request: Request, status: int, detail: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        title = HTTPStatus(status).phrase
        if _wants_page(request):
            response = self._page(request, status, title, detail)
            response.headers.update(headers or {})
            return response
        document = Problem(title, status, detail, request.scope.get("request_id", ""))
        return Response(msgspec.json.encode(document), status, headers, MEDIA_TYPE)

    def handlers(self) -> dict[Any, Any]:
        return {
            RecollectError: self._answer_error,
            HTTPException: self._answer_refusal,
            ClientDisconnect: self._answer_disconnect,
            Exception: self._answer_failure,
        }

    async def _answer_error(self, request: Request, error: RecollectError) -> Response:
        """Answer an error that Recollect raised on purpose: its text is for the caller."""
        status = status_of(error)
        headers = {"Retry-After": "5"} if status == 503 else None
        return self.response(request, status, str(error), headers)

    async def _answer_refusal(self, request: Request, error: HTTPException) -> Response:
        """Answer a refusal of the framework: unknown route, wrong method, body too large."""
        detail = SENTENCES.get(error.status_code, str(error.detail))
        return self.response(request, error.status_code, detail, error.headers)

    async def _answer_disconnect(self, request: Request, error: ClientDisconnect) -> Response:
        """End a request whose client disconnected while sending; the response reaches no one."""
        return Response(status_code=400)

    async def _answer_failure(self, request: Request, error: Exception) -> Response:
        """Answer any other exception, without its text, which may quote a memory."""
        return self.response(request, 500, SENTENCES[500])


def _wants_page(request: Request) -> bool:
    accepts = request.headers.get("accept", "")
    path = request.url.path
    return "text/html" in accepts and not path.startswith(("/api/", "/mcp", "/openapi"))
