"""Who has access: the browsers that are logged in, and the tokens; ending and making both."""

from __future__ import annotations

import re

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.auth.audit import Audit
from recollect.auth.capabilities import CAPABILITIES, Caller
from recollect.auth.credentials import Credentials
from recollect.auth.token_store import TokenStore, real_time
from recollect.errors import Forbidden, NotFound, UserError
from recollect.interfaces.http.guard import caller_of
from recollect.interfaces.web.forms import redirect, submitted
from recollect.interfaces.web.rendering import page
from recollect.times import parse_expiry

# Looked for in this order: most browsers claim to be several.
BROWSERS = ("Firefox", "Edg", "OPR", "Chrome", "Safari")
SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux")
LASTING = {"30d": "30 days", "90d": "90 days", "365d": "a year", "": "until it is revoked"}
SHOWN = {"Edg": "Edge", "OPR": "Opera", "Mac OS X": "macOS"}


def routes(credentials: Credentials, audit: Audit) -> list[BaseRoute]:
    """The list, and what its buttons send. Any caller sees the sessions of its own token; who may
    do everything sees all of them."""

    def show(request: Request, **made: object) -> Response:
        caller, stored = caller_of(request.scope), credentials.stored
        managed = stored is not None and credentials.managed_by(caller)
        values = {
            "sessions": credentials.visible_sessions(caller),
            "current": request.scope.get("browser_session"),
            "browser_name": browser_name,
            "now": real_time(),
            "managed": managed,
            "tokens": stored.every() if stored is not None and managed else [],
            "capabilities": CAPABILITIES,
            "lasting": LASTING,
            "secret": "", "wrong": "", "new": None,
        }  # fmt: skip
        return page("sessions.html", request, values | made, status=400 if "wrong" in made else 200)

    def manager(request: Request) -> tuple[Caller, TokenStore]:
        caller = caller_of(request.scope)
        if credentials.stored is None or not credentials.managed_by(caller):
            raise Forbidden("Only a token that allows everything makes and revokes tokens.")
        return caller, credentials.stored

    async def create(request: Request) -> Response:
        """Make a token and show it, this once: the page is not kept by the browser, and nothing
        else has the token."""
        caller, stored = manager(request)
        form = {name: values[-1] for name, values in (await submitted(request)).items()}
        try:
            expires = form.get("expires") and parse_expiry(form["expires"], real_time(), "expires")
            secret, token = await run_in_threadpool(
                stored.create,
                [name for name in CAPABILITIES if name in form],
                name=form.get("name", "").strip(),
                expires_at=expires or None,
            )
        except UserError as error:
            return await run_in_threadpool(show, request, wrong=str(error))
        audit.wrote(caller, f"create token {token.id}", "", 1)
        return await run_in_threadpool(show, request, secret=secret, new=token)

    async def revoke(request: Request) -> Response:
        caller, stored = manager(request)
        for id in (await submitted(request)).get("id", []):
            await run_in_threadpool(stored.revoke, id)
            audit.wrote(caller, f"revoke token {id}", "", 1)
        return redirect("/sessions#tokens")

    async def end(request: Request) -> Response:
        """End the session that the form names, or with `others` all but this one."""
        caller, current = caller_of(request.scope), request.scope.get("browser_session")
        form = await submitted(request)
        sessions = await run_in_threadpool(credentials.visible_sessions, caller)
        visible = {session.id for session in sessions}
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
        Route("/sessions/tokens", create, methods=["POST"]),
        Route("/sessions/revoke", revoke, methods=["POST"]),
    ]


def browser_name(user_agent: str) -> str:
    """`Firefox on Linux`, from what a browser says of itself; its first word where it says neither
    in a known way."""
    found = [
        next((SHOWN.get(name, name) for name in names if name in user_agent), "")
        for names in (BROWSERS, SYSTEMS)
    ]
    if not found[0]:
        return (re.split(r"[/ ]", user_agent)[0] or "Unknown browser")[:40]
    return " on ".join(filter(None, found))
