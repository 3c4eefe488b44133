"""The browsers that are logged in, and how to end their sessions."""

from __future__ import annotations

import re

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.auth.audit import Audit
from recollect.auth.credentials import Credentials
from recollect.auth.tokens import real_time
from recollect.errors import NotFound
from recollect.interfaces.http.guard import caller_of
from recollect.interfaces.web.forms import redirect, submitted
from recollect.interfaces.web.rendering import page

# Looked for in this order: most browsers claim to be several.
BROWSERS = ("Firefox", "Edg", "OPR", "Chrome", "Safari")
SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux")
SHOWN = {"Edg": "Edge", "OPR": "Opera", "Mac OS X": "macOS"}


def routes(credentials: Credentials, audit: Audit) -> list[BaseRoute]:
    """The list, and what its buttons send. Any caller sees the sessions of its own token; who may
    do everything sees all of them."""

    async def show(request: Request) -> Response:
        values = {
            "sessions": credentials.visible_sessions(caller_of(request.scope)),
            "current": request.scope.get("browser_session"),
            "browser_name": browser_name,
            "now": real_time(),
        }
        return page("sessions.html", request, values)

    async def end(request: Request) -> Response:
        """End the session that the form names, or with `others` all but this one."""
        caller, current = caller_of(request.scope), request.scope.get("browser_session")
        form = await submitted(request)
        visible = {session.id for session in credentials.visible_sessions(caller)}
        ids = form.get("id", [])
        if "others" in form:
            ids = sorted(visible - {current.id if current else ""})
        if credentials.sessions is None or not visible.issuperset(ids):
            raise NotFound("There is no such session, or it has ended already.")
        await run_in_threadpool(credentials.sessions.end, ids)
        for id in ids:
            audit.wrote(caller, f"end session {id}", "", 1)
        return redirect("/sessions")

    return [
        Route("/sessions", show, methods=["GET"]),
        Route("/sessions/end", end, methods=["POST"]),
    ]


def browser_name(said: str) -> str:
    """`Firefox on Linux`, from what a browser says of itself; its first word where it says neither
    in a known way."""
    found = [
        next((SHOWN.get(name, name) for name in names if name in said), "")
        for names in (BROWSERS, SYSTEMS)
    ]
    if not found[0]:
        return (re.split(r"[/ ]", said)[0] or "Unknown browser")[:40]
    return " on ".join(filter(None, found))
