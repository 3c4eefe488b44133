"""Who may call the server: its host names, the pages it trusts, the tokens it wants, the cookie of
a browser session, and users whom a proxy has logged in."""

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

# Who has one of these names in the audit log is not a user.
TAKEN = frozenset({OWNER.name, NOBODY.name, UNKNOWN.name, SERVER.name})
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Answered without a token: whether the server is alive, logging in and out, what that page needs.
OPEN_PATHS = ("/healthz", "/login", "/logout", "/static/")
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# A name or an address, then a port. RFC 9110, 7.2, without what no server goes by: user names,
# percent-encoding, other signs. What does not match as a whole names no host at all.
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::[0-9]{1,5})?")
LONGEST_ADDRESS = 16_384
LONG_ADDRESS = f"An address may be {LONGEST_ADDRESS:,} characters long; use POST for more."
LONGEST_NEXT = 2000  # the address of a page that a login leads back to
LARGEST_BODY = 16 << 20
# Refusals that the audit log records; an invalid token is recorded with its owner.
NOTED = (403, 421)
ASKED = "This server needs a token: send it as `Authorization: Bearer …`."
# One sentence for all cases, so that trying tokens out reveals nothing about existing ones.
NOT_VALID = "This token is not valid: it is unknown, revoked or expired."
NOT_NAMED = "The proxy must name one user, in one line of up to 100 characters."


class ProxiedUsers:
    """Users whom a reverse proxy has logged in, and names in a header; with what each may do.

    Anybody can send a header. So it counts only where the connection itself comes from the address
    of a proxy that the settings name; from elsewhere it is not even looked at. The proxy must
    remove the header from what its own clients send.
    """

    def __init__(self, settings: Serve) -> None:
        self._settings = settings
        self._proxies = networks(settings.proxies)

    def named(self, scope: Scope, headers: Headers) -> CredentialCheck | None:
        """The user whom a proxy names; None where there is no proxy, or it names nobody."""
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
    """What the bytes of a header say in UTF-8; nothing where they are not."""
    try:
        return sent.encode("latin-1").decode().strip()
    except UnicodeDecodeError:
        return ""


def cookie_name(credentials: Credentials, scope: Scope) -> str:
    """`recollect_7117_3f9a2c01`: a browser sends a cookie to every port of a host, so its name has
    the port that the browser uses and a mark of the home. Its value is a random id that means
    nothing to any other server."""
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


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach that address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def hostname(host: str) -> str | None:
    """`localhost:7117` and `[::1]:7117` without the port, in lower case; None where it is neither
    a name nor an address."""
    found = HOST.fullmatch(host.lower()) if host.isascii() else None
    return found["name"] if found else None


def _own_name(name: str) -> str | None:
    """A name that the server goes by; an IPv6 address may stand without brackets."""
    return hostname(f"[{name}]" if name.count(":") > 1 and not name.startswith("[") else name)


class Guard:
    """Refuses what a browser was tricked into sending, and what comes without a token.

    A page of another site can make a browser call a server on this machine, and by DNS rebinding
    even read the answer: under a name of its own. So the Host must be a name that the server goes
    by, and an Origin, where there is one, must be the server itself.
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
        if status in NOTED:
            self._audit.log_refusal(UNKNOWN, "request", "", detail)
        request = Request(scope)
        response = self._problems.response(request, status, detail, extra)
        if status in (303, 401) and session_secret(self._credentials, scope):
            set_cookie(response, self._credentials, request, "")  # it is not valid any more
        await response(scope, receive, send)

    async def _as(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with its caller in the scope and in CALLER."""
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
            "This server does not answer to that host name; the setting serve.hosts adds one.",
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
        """Who calls. What is shown must be valid, even where nothing needs to be shown: whoever was
        given a token that allows little must not get everything once it has expired."""
        path: str = scope["path"]
        if path.startswith(OPEN_PATHS):
            return NOBODY
        token, session = _sent_token(headers), session_secret(self._credentials, scope)
        why = NOT_VALID
        try:
            if token is not None:
                check = self._credentials.check_token(token)
            elif (user := self._users.named(scope, headers)) is not None:
                check, why = user, NOT_NAMED
            elif session is not None:
                check = self._credentials.check_session(session)
            else:
                return self._unknown(scope, headers) if self._credentials.required else OWNER
        except StoreError as error:
            return 503, str(error), {"Retry-After": "5"}
        if not check.wrong:
            scope["browser_session"] = check.session
            return check.caller
        self._audit.log_refusal(check.caller, "request", "", check.wrong)
        return self._refusal(scope, headers, why)

    def _unknown(self, scope: Scope, headers: Headers) -> Refusal:
        """The refusal of a request without a token. Sending a person to the login is none."""
        refusal = self._refusal(scope, headers, ASKED)
        if refusal[0] == 401:
            self._audit.log_refusal(UNKNOWN, "request", "", "no token")
        return refusal

    def _refusal(self, scope: Scope, headers: Headers, why: str) -> Refusal:
        """A 401; or, for a browser that asks for a page, a redirect to the login."""
        asks_for_page = (
            "text/html" in headers.get("accept", "")
            and headers.get("sec-fetch-mode", "navigate") == "navigate"
            and scope["method"] in SAFE_METHODS
        )
        if asks_for_page and "authorization" not in headers:
            # A browser that comes from another site leaves the cookie out, once: the page that it
            # gets here asks again, as a page of this server.
            if headers.get("sec-fetch-site") == "cross-site":
                return 401, "Opening…", {"Refresh": "0"}
            place = _login_address(scope) if self._credentials.required else "/"
            return 303, f"{why} Log in at /login.", {"Location": place}
        return 401, why, {"WWW-Authenticate": 'Bearer realm="recollect"'}


Refusal = tuple[int, str, dict[str, str]]


def _same(origin: str, host: str) -> bool:
    """Whether the origin is this server; `null` and what is no origin at all are not."""
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
    """The login, which leads back to the page that was asked for."""
    wanted = quote(scope["path"])
    if scope["query_string"]:
        wanted += "?" + scope["query_string"].decode("latin-1")
    if wanted == "/" or len(wanted) > LONGEST_NEXT:
        return "/login"
    return f"/login?next={quote(wanted, safe='')}"


def _sent_token(headers: Headers) -> str | None:
    """The token that came with the request; None where there is none. A header that holds something
    else is taken for a token that is wrong: whoever sends it wants to be known by it, and not to
    pass for the owner."""
    sent = headers.getlist("authorization")
    if not sent:
        return None
    scheme, _, token = sent[0].partition(" ")
    return token.strip() if len(sent) == 1 and scheme.lower() == "bearer" else ""


def caller_of(scope: Scope) -> Caller:
    """The caller that the guard found for this request."""
    caller: Caller = scope["caller"]
    return caller


def still_valid(scope: Scope) -> bool:
    """Whether what the caller of this request has shown still allows the same: an answer that goes
    on for long asks before it sends more."""
    return bool(scope["recheck"]() == scope["caller"])


class SafeHeaders:
    """Headers of every answer: the browser loads nothing from elsewhere, and in no frame."""

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
