"""Login with a token or a one-time link, logout, and the page of sessions and tokens."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.auth.audit import Audit
from recollect.auth.capabilities import CAPABILITIES, Caller
from recollect.auth.credentials import Credentials
from recollect.auth.token_store import TokenStore, digest, is_well_formed, real_time
from recollect.errors import Forbidden, NotFound, UserError
from recollect.interfaces.http.guard import LONGEST_NEXT, caller_of, session_secret, set_cookie
from recollect.interfaces.web.rendering import page, read_form, redirect
from recollect.query.time.moments import read_time

LARGEST_LOGIN = 4096  # bytes; a token has 47 characters, one of your own may be longer
WRONG = "This token is not valid."
USED = "This link was already used or has expired. For a new one run: recollect open"
# A path on this server. Browsers take `//host` and `/\host` for another host.
LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f-\uffff]*")


def routes(credentials: Credentials, audit: Audit) -> list[BaseRoute]:
    """Return the routes of login and logout. They answer 404 while there are no tokens."""
    login = Login(credentials, audit)
    return [
        Route("/login", login.show, methods=["GET"]),
        Route("/login", login.log_in, methods=["POST"]),
        Route("/login/{link}", login.show_link, methods=["GET"]),
        Route("/login/{link}", login.use_link, methods=["POST"]),
        Route("/logout", login.log_out, methods=["POST"]),
    ]


class Login:
    """Begins and ends browser sessions."""

    def __init__(self, credentials: Credentials, audit: Audit) -> None:
        self._credentials = credentials
        self._audit = audit

    def show(self, request: Request) -> Response:
        self._check()
        return _form(request)

    async def log_in(self, request: Request) -> Response:
        """Begin a session for a token. After many wrong ones, only tokens of the form that `token
        create` makes are checked: these cannot be guessed, so the owner cannot be locked out."""
        return await run_in_threadpool(self._log_in, request, await _small_body(request))

    def _log_in(self, request: Request, body: bytes) -> Response:
        self._check()
        token = _token(body)
        address = request.client.host if request.client else ""
        wait_s = self._credentials.attempts.wait_s(address)
        if wait_s and not is_well_formed(token):
            return _later(request, wait_s)
        response = self._begin_session(request, digest(token))
        if response is not None:
            return response
        self._credentials.attempts.count_failure(address)
        return _later(request, wait_s) if wait_s else _form(request, WRONG, 401)

    def show_link(self, request: Request) -> Response:
        """Show a page that submits the link itself. So a program that only checks links does not
        use it up, and the session begins on a page of this server, which sends its cookie at
        once."""
        self._check()
        return page("login_link.html", request, {})

    def use_link(self, request: Request) -> Response:
        self._check()
        sessions = self._credentials.sessions
        token_hash = sessions and sessions.use_link(request.path_params["link"])
        if token_hash and (response := self._begin_session(request, token_hash)):
            return response
        secret = session_secret(self._credentials, request.scope)
        if secret is not None and not self._credentials.check_session(secret).wrong:
            return redirect(_next_path(request))  # already logged in
        return _form(request, USED, 401)

    def log_out(self, request: Request) -> Response:
        secret = session_secret(self._credentials, request.scope) or ""
        check, sessions = self._credentials.check_session(secret), self._credentials.sessions
        if check.session is not None and sessions is not None:
            sessions.end([check.session.id])
            self._audit.log_write(check.caller, f"logout {check.session.id}", "", 1)
        response = redirect("/login" if self._credentials.has_tokens() else "/")
        set_cookie(response, self._credentials, request, "")
        return response

    def _check(self) -> None:
        if not self._credentials.has_tokens():
            raise HTTPException(404)

    def _begin_session(self, request: Request, token_hash: bytes) -> Response | None:
        """Begin a session for a token and redirect to the requested page; None if the token is not
        valid."""
        browser = request.headers.get("user-agent", "")
        secret, check = self._credentials.begin_session(token_hash, browser)
        if check.session is None:
            self._audit.log_refusal(check.caller, "login", "", check.wrong)
            return None
        self._audit.log_write(check.caller, f"login {check.session.id}", "", 1)
        response = redirect(_next_path(request))
        set_cookie(response, self._credentials, request, secret)
        return response


def _next_path(request: Request) -> str:
    """Return the path on this server that a login leads to; by default `/`."""
    path = request.query_params.get("next", "")
    inside = LOCAL.fullmatch(path) and len(path) <= LONGEST_NEXT
    return path if inside and not path.startswith(("/login", "/logout")) else "/"


def _form(request: Request, wrong: str = "", status: int = 200) -> Response:
    return page("login.html", request, {"wrong": wrong, "next": _next_path(request)}, status=status)


def _later(request: Request, wait_s: int) -> Response:
    wrong = f"Too many wrong tokens. Try again in {wait_s} seconds, or run: recollect open"
    response = _form(request, wrong, 429)
    response.headers["Retry-After"] = str(wait_s)
    return response


async def _small_body(request: Request) -> bytes:
    """Return the body; refuse one that is larger than a token can be."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_LOGIN:
            raise HTTPException(413)
    return bytes(body)


def _token(body: bytes) -> str:
    """Return the token in the form."""
    try:
        [(name, token)] = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=1)
    except ValueError as error:  # not UTF-8, no field, or several
        raise UserError("A login has one field, `token`.") from error
    if name != "token":
        raise UserError("A login has one field, `token`.")
    return token.strip()


# Sessions and tokens

# Checked in this order, because most browsers claim to be several.
BROWSERS = ("Firefox", "Edg", "OPR", "Chrome", "Safari")
SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux")
LASTING = {"30d": "30 days", "90d": "90 days", "365d": "a year", "": "until it is revoked"}
SHOWN = {"Edg": "Edge", "OPR": "Opera", "Mac OS X": "macOS"}


def access_routes(credentials: Credentials, audit: Audit) -> list[BaseRoute]:
    """Return the routes of the access page. A caller sees the sessions of its own token; one with
    all capabilities sees all sessions."""

    def show(request: Request, **made: object) -> Response:
        caller, stored = caller_of(request.scope), credentials.stored
        managed = stored is not None and credentials.may_manage(caller)
        values = {
            "sessions": credentials.visible_sessions(caller),
            "current": request.scope.get("browser_session"),
            "browser_name": browser_name,
            "now": real_time(),
            "managed": managed,
            "tokens": stored.list_all() if stored is not None and managed else [],
            "capabilities": CAPABILITIES,
            "lasting": LASTING,
            "secret": "", "wrong": "", "new": None,
        }  # fmt: skip
        return page("sessions.html", request, values | made, status=400 if "wrong" in made else 200)

    def manager(request: Request) -> tuple[Caller, TokenStore]:
        caller = caller_of(request.scope)
        if credentials.stored is None or not credentials.may_manage(caller):
            raise Forbidden("Creating and revoking tokens needs a token with all capabilities.")
        return caller, credentials.stored

    async def create(request: Request) -> Response:
        """Create a token and show it once: browsers do not cache the page, and only its digest is
        stored."""
        caller, stored = manager(request)
        form = await read_form(request)
        try:
            expires = form.get("expires") and read_time(form["expires"], real_time(), "expires")
            secret, token = await run_in_threadpool(
                stored.create,
                [name for name in CAPABILITIES if name in form],
                name=form.get("name", "").strip(),
                expires_at=expires or None,
            )
        except UserError as error:
            return await run_in_threadpool(show, request, wrong=str(error))
        audit.log_write(caller, f"create token {token.id}", "", 1)
        return await run_in_threadpool(show, request, secret=secret, new=token)

    async def revoke(request: Request) -> Response:
        caller, stored = manager(request)
        for id in (await read_form(request)).getlist("id"):
            await run_in_threadpool(stored.revoke, id)
            audit.log_write(caller, f"revoke token {id}", "", 1)
        return redirect("/sessions#tokens")

    async def end(request: Request) -> Response:
        """End the session in the form; with `others`, all sessions but this one."""
        caller, current = caller_of(request.scope), request.scope.get("browser_session")
        form = await read_form(request)
        sessions = await run_in_threadpool(credentials.visible_sessions, caller)
        visible = {session.id for session in sessions}
        ids = form.getlist("id")
        if "others" in form:
            ids = sorted(visible - {current.id if current else ""})
        if credentials.sessions is None or not visible.issuperset(ids):
            raise NotFound("There is no such session, or it has ended already.")
        await run_in_threadpool(credentials.sessions.end, ids)
        for id in ids:
            audit.log_write(caller, f"end session {id}", "", 1)
        return redirect("/sessions")

    return [
        Route("/sessions", show, methods=["GET"]),
        Route("/sessions/end", end, methods=["POST"]),
        Route("/sessions/tokens", create, methods=["POST"]),
        Route("/sessions/revoke", revoke, methods=["POST"]),
    ]


def browser_name(user_agent: str) -> str:
    """Return `Firefox on Linux` for a User-Agent; its first word if the browser is unknown."""
    found = [
        next((SHOWN.get(name, name) for name in names if name in user_agent), "")
        for names in (BROWSERS, SYSTEMS)
    ]
    if not found[0]:
        return (re.split(r"[/ ]", user_agent)[0] or "Unknown browser")[:40]
    return " on ".join(filter(None, found))
