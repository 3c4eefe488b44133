"""Access to the server: host names, allowed origins, tokens, the cookie of a browser session, and
users that a proxy has logged in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from ipaddress import IPv6Address, ip_address
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.auth.audit import Audit
from recollect.auth.capabilities import NOBODY, OWNER, Caller
from recollect.auth.credentials import LASTS, SERVER, UNKNOWN, CredentialCheck, Credentials
from recollect.auth.token_store import LONGEST_NAME
from recollect.errors import StoreError
from recollect.interfaces.http.problems import ProblemResponses
from recollect.interfaces.http.service import CALLER
from recollect.settings import Serve
from recollect.settings_reading import networks

# Names that the audit log uses for callers that are not users.
TAKEN = frozenset({OWNER.name, NOBODY.name, UNKNOWN.name, SERVER.name})
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Open without a token: the health check, logging in and out, and the files of that page.
OPEN_PATHS = ("/healthz", "/login", "/logout", "/static/")
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# A name or an address, then a port. RFC 9110, 7.2, without user names, percent-encoding and other
# characters that no server name has.
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::[0-9]{1,5})?")
LONGEST_ADDRESS = 16_384
LONG_ADDRESS = f"The address is longer than {LONGEST_ADDRESS:,} characters; use POST instead."
LONGEST_NEXT = 2000  # characters of the address that a login returns to
LARGEST_BODY = 16 << 20
# Refusals that the audit log records here; an invalid token is recorded with its owner.
AUDITED = (403, 421)
NEEDS_TOKEN = "This server needs a token: send it as `Authorization: Bearer …`."
# One sentence for all cases, so that guessing reveals nothing about existing tokens.
NOT_VALID = "This token is not valid: it is unknown, revoked or expired."
BAD_USER_HEADER = "The proxy must send one user name, on one line of at most 100 characters."


class ProxiedUsers:
    """Users that a reverse proxy has logged in and names in a header, with their capabilities.

    Anybody can send a header. So it counts only if the connection comes from the address of a proxy
    in the settings. The proxy must remove the header from its clients' requests.
    """

    def __init__(self, settings: Serve) -> None:
        self._settings = settings
        self._proxies = networks(settings.proxies)

    def check(self, scope: Scope, headers: Headers) -> CredentialCheck | None:
        """Check the user that a proxy names; None without a proxy or a user."""
        if not self._from_proxy(scope):
            return None
        sent = headers.getlist(self._settings.user_header)
        if not "".join(sent).strip():
            return None
        if len(sent) > 1:
            return CredentialCheck(UNKNOWN, "more than one user header")
        name = _text(sent[0])
        if not name or len(name) > LONGEST_NAME or not name.isprintable() or name in TAKEN:
            return CredentialCheck(UNKNOWN, "unusable user header")
        granted = self._settings.users.get(name, self._settings.user_capabilities)
        capabilities = frozenset(filter(None, map(str.strip, granted.split(","))))
        return CredentialCheck(Caller(name=name, capabilities=capabilities))

    def _from_proxy(self, scope: Scope) -> bool:
        if not self._proxies or not scope.get("client"):
            return False
        address = ip_address(scope["client"][0].partition("%")[0])
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._proxies)


NO_PROXY = ProxiedUsers(Serve())


def _text(sent: str) -> str:
    """Decode a header as UTF-8; empty if it is not UTF-8."""
    try:
        return sent.encode("latin-1").decode().strip()
    except UnicodeDecodeError:
        return ""


def cookie_name(credentials: Credentials, scope: Scope) -> str:
    """Return `recollect_7117_3f9a2c01`. Browsers send a cookie to every port of a host, so the name
    holds the port and a mark of the home. The value is a random id."""
    port = Headers(scope=scope).get("host", "").rpartition("]")[2].partition(":")[2]
    return "_".join(filter(None, ("recollect", port, credentials.home_mark)))


def session_secret(credentials: Credentials, scope: Scope) -> str | None:
    """Return the value of the cookie; None without a cookie."""
    return Request(scope).cookies.get(cookie_name(credentials, scope))


def set_cookie(response: Response, credentials: Credentials, request: Request, value: str) -> None:
    """Store the session's secret in the browser; an empty value deletes the cookie."""
    response.set_cookie(
        cookie_name(credentials, request.scope),
        value,
        max_age=int(LASTS.total_seconds()) if value else 0,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach the address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def hostname(host: str) -> str | None:
    """Return `localhost:7117` or `[::1]:7117` without the port, in lower case; None if it is
    neither a name nor an address."""
    found = HOST.fullmatch(host.lower()) if host.isascii() else None
    return found["name"] if found else None


def _own_name(name: str) -> str | None:
    """Return a configured host name; an IPv6 address may lack its brackets."""
    return hostname(f"[{name}]" if name.count(":") > 1 and not name.startswith("[") else name)


class Guard:
    """Middleware that refuses requests which a browser was tricked into sending, and those without
    a token.

    A page of another site can make a browser call a server on this machine, and with DNS rebinding
    even read the response, under its own host name. So the Host must be one of the server's names,
    and an Origin, if sent, must be the server itself.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: Iterable[str],
        credentials: Credentials,
        audit: Audit,
        problems: ProblemResponses,
        users: ProxiedUsers = NO_PROXY,
    ) -> None:
        self._app = app
        self._users = users
        self._problems = problems
        self._audit = audit
        self._names = LOOPBACK | set(filter(None, map(_own_name, names)))
        self._credentials = credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._host(headers) or self._origin(scope, headers) or _size(scope, headers)
        if refusal is None and self._credentials.remote:
            caller = await run_in_threadpool(self._caller, scope, headers)
        else:
            caller = refusal or self._caller(scope, headers)
        if isinstance(caller, Caller):
            await self._as(caller, scope, receive, send)
            return
        status, detail, extra = caller
        if status in AUDITED:
            self._audit.log_refusal(UNKNOWN, "request", "", detail)
        request = Request(scope)
        response = self._problems.response(request, status, detail, extra)
        if status in (303, 401) and session_secret(self._credentials, scope):
            set_cookie(response, self._credentials, request, "")  # no longer valid
        await response(scope, receive, send)

    async def _as(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its caller, in the scope and in CALLER."""
        scope["caller"] = caller
        scope["recheck"] = partial(self._caller, scope, Headers(scope=scope))
        before = CALLER.set(caller)
        try:
            await self._app(scope, receive, send)
        finally:
            CALLER.reset(before)

    def _host(self, headers: Headers) -> Refusal | None:
        if len(headers.getlist("host")) == 1 and hostname(headers["host"]) in self._names:
            return None
        return (
            421,
            "This server does not accept that host name; add it to the setting serve.hosts.",
            {},
        )

    def _origin(self, scope: Scope, headers: Headers) -> Refusal | None:
        origin = headers.get("origin")
        if origin is not None and not _same(origin, headers["host"]):
            return 403, "A page of another origin may not call this server.", {}
        site = headers.get("sec-fetch-site", "none")
        navigates = headers.get("sec-fetch-mode") == "navigate" and scope["method"] in SAFE_METHODS
        if site in ("cross-site", "same-site") and not navigates:
            return 403, "A page of another site may not call this server.", {}
        return None

    def _caller(self, scope: Scope, headers: Headers) -> Caller | Refusal:
        """Return the caller, or the refusal. A token that is sent must be valid even if none is
        needed: a restricted caller must not gain full access when its token expires."""
        path: str = scope["path"]
        if path.startswith(OPEN_PATHS):
            return NOBODY
        token, session = _sent_token(headers), session_secret(self._credentials, scope)
        why = NOT_VALID
        try:
            if token is not None:
                check = self._credentials.check_token(token)
            elif (user := self._users.check(scope, headers)) is not None:
                check, why = user, BAD_USER_HEADER
            elif session is not None:
                check = self._credentials.check_session(session)
            elif not self._credentials.required:
                return OWNER
            else:
                refusal = self._refusal(scope, headers, NEEDS_TOKEN)
                if refusal[0] == 401:  # a redirect to the login is no refusal to record
                    self._audit.log_refusal(UNKNOWN, "request", "", "no token")
                return refusal
        except StoreError as error:
            return 503, str(error), {"Retry-After": "5"}
        if not check.wrong:
            scope["browser_session"] = check.session
            return check.caller
        self._audit.log_refusal(check.caller, "request", "", check.wrong)
        return self._refusal(scope, headers, why)

    def _refusal(self, scope: Scope, headers: Headers, why: str) -> Refusal:
        """Return a 401, or a redirect to the login if a browser asks for a page."""
        asks_for_page = (
            "text/html" in headers.get("accept", "")
            and headers.get("sec-fetch-mode", "navigate") == "navigate"
            and scope["method"] in SAFE_METHODS
        )
        if asks_for_page and "authorization" not in headers:
            # After a link from another site the browser omits the cookie once. This page reloads
            # itself; then the request comes from this server's own page.
            if headers.get("sec-fetch-site") == "cross-site":
                return 401, "Opening…", {"Refresh": "0"}
            place = _login_address(scope) if self._credentials.required else "/"
            return 303, f"{why} Log in at /login.", {"Location": place}
        return 401, why, {"WWW-Authenticate": 'Bearer realm="recollect"'}


Refusal = tuple[int, str, dict[str, str]]


def _same(origin: str, host: str) -> bool:
    """Return True if the origin is this server."""
    scheme, _, place = origin.lower().partition("://")
    return scheme in ("http", "https") and place == host.lower()


def _size(scope: Scope, headers: Headers) -> Refusal | None:
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
        return 414, LONG_ADDRESS, {}
    size = headers.get("content-length", "")
    if size.isdecimal() and int(size) > LARGEST_BODY:
        return 413, f"A request may be {LARGEST_BODY >> 20} MiB large; send it in parts.", {}
    return None


def _login_address(scope: Scope) -> str:
    """Return the address of the login, which then returns to the requested page."""
    wanted = quote(scope["path"])
    if scope["query_string"]:
        wanted += "?" + scope["query_string"].decode("latin-1")
    if wanted == "/" or len(wanted) > LONGEST_NEXT:
        return "/login"
    return f"/login?next={quote(wanted, safe='')}"


def _sent_token(headers: Headers) -> str | None:
    """Return the token of the request; None without the header. Anything but one bearer token is
    returned as an invalid one, so that its sender does not pass for the owner."""
    sent = headers.getlist("authorization")
    if not sent:
        return None
    scheme, _, token = sent[0].partition(" ")
    return token.strip() if len(sent) == 1 and scheme.lower() == "bearer" else ""


def caller_of(scope: Scope) -> Caller:
    """Return the caller that the guard identified."""
    caller: Caller = scope["caller"]
    return caller


def still_valid(scope: Scope) -> bool:
    """Return True if the caller still has the same access; a stream checks before each part."""
    return bool(scope["recheck"]() == scope["caller"])


class SafeHeaders:
    """Middleware that adds headers to every response: the browser loads nothing from elsewhere, and
    shows the page in no frame."""

    HEADERS = (
        (
            b"content-security-policy",
            b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"same-origin"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    )

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self.HEADERS]  # type: ignore[misc]
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)  # type: ignore[arg-type]
