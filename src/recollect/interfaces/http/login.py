"""How a person shows a token: typed once, then kept by the browser as a cookie."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from recollect.interfaces.http.guard import COOKIE, Tokens
from recollect.interfaces.web.rendering import page

A_MONTH = 30 * 24 * 3600


def routes(tokens: Tokens) -> list[BaseRoute]:
    async def shown(request: Request) -> Response:
        return page("login.html", request, {"wrong": False})

    async def given(request: Request) -> Response:
        told = parse_qs((await request.body()).decode("utf-8", "replace"))
        token = told.get("token", [""])[0].strip()
        if not tokens.known(token):
            return page("login.html", request, {"wrong": True}, status=401)
        response = RedirectResponse("/", 303)
        secure = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, token, max_age=A_MONTH, httponly=True, samesite="strict", secure=secure
        )
        return response

    if not tokens:
        return []
    return [
        Route("/login", shown, methods=["GET"]),
        Route("/login", given, methods=["POST"]),
    ]
