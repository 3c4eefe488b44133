"""The cookie of a browser session.

A browser sends a cookie to every port of a host. So its name holds the port and a mark of the home,
and its value is a random id that means nothing to any other server.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from recollect.auth.credentials import LASTS, Credentials


def cookie_name(credentials: Credentials, scope: Scope) -> str:
    """`recollect_7117_3f9a2c01`: the port is the one that the browser uses."""
    port = Headers(scope=scope).get("host", "").rpartition("]")[2].partition(":")[2]
    return "_".join(filter(None, ("recollect", port, credentials.home_mark)))


def session_secret(credentials: Credentials, scope: Scope) -> str | None:
    """What the cookie holds; None where the browser sent none."""
    return Request(scope).cookies.get(cookie_name(credentials, scope))


def set_cookie(response: Response, credentials: Credentials, request: Request, value: str) -> None:
    """Let the browser keep the session's secret; an empty one makes it forget the cookie."""
    response.set_cookie(
        cookie_name(credentials, request.scope),
        value,
        max_age=int(LASTS.total_seconds()) if value else 0,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
