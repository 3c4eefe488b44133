"""How a person shows a token: typed once, then kept by the browser as a cookie."""

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
    """Where there is no token there is nothing to log in with; one may be made at any time."""

    async def shown(request: Request) -> Response:
        _check(tokens)
        return page("login.html", request, {"wrong": False})

    async def given(request: Request) -> Response:
        _check(tokens)
        told = parse_qs((await request.body()).decode("utf-8", "replace"))
        token = told.get("token", [""])[0].strip()
        known = tokens.known(token)
        if known.wrong:
            audit.refused(known.caller, "login", "", known.wrong)
            return page("login.html", request, {"wrong": True}, status=401)
        response = RedirectResponse("/", 303)
        secure = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, token, max_age=A_MONTH, httponly=True, samesite="strict", secure=secure
        )
        return response

    return [
        Route("/login", shown, methods=["GET"]),
        Route("/login", given, methods=["POST"]),
    ]


def _check(tokens: Tokens) -> None:
    if not tokens.offered():
        raise HTTPException(404)
