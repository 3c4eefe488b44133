"""The login page: a token is typed once, then the browser keeps it as a cookie."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from recollect.auth.audit import Audit
from recollect.interfaces.http.guard import COOKIE, Tokens
from recollect.interfaces.web.rendering import page

A_MONTH = 30 * 24 * 3600


def routes(tokens: Tokens, audit: Audit) -> list[BaseRoute]:
    """The form and what it sends. Not found while there is no token to log in with."""

    async def show(request: Request) -> Response:
        _check(tokens)
        return page("login.html", request, {"wrong": False})

    async def log_in(request: Request) -> Response:
        _check(tokens)
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        token = form.get("token", [""])[0].strip()
        check = tokens.known(token)
        if check.wrong:
            audit.refused(check.caller, "login", "", check.wrong)
            return page("login.html", request, {"wrong": True}, status=401)
        response = RedirectResponse("/", 303)
        secure = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, token, max_age=A_MONTH, httponly=True, samesite="strict", secure=secure
        )
        return response

    return [
        Route("/login", show, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
    ]


def _check(tokens: Tokens) -> None:
    if not tokens.offered():
        raise HTTPException(404)
