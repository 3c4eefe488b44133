"""Who may talk to the server at all: names it goes by, pages it trusts, tokens it asks for."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.interfaces.http.problems import problem

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
COOKIE = "recollect_token"
# Answered without a token: whether the server is alive, how to log in, what that page needs.
OPEN_PATHS = ("/healthz", "/login", "/static/")
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LONGEST_ADDRESS = 16_384
LARGEST_BODY = 16 << 20


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach that address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def hostname(host: str) -> str:
    """`localhost:7117` and `[::1]:7117` without the port, in small letters."""
    name = host.lower()
    if name.count(":") > 1 and not name.startswith("["):
        return f"[{name}]"  # an IPv6 address as people write it
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0].rstrip(".")


class Tokens:
    """What a caller must show, kept as hashes, compared in constant time; without any, nothing."""

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._hashes = [_digest(token) for token in tokens]

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def known(self, token: str) -> bool:
        offered = _digest(token)
        # Every one is compared, so that time does not tell which came close.
        return sum(hmac.compare_digest(offered, held) for held in self._hashes) > 0


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


class Guard:
    """Refuses what a browser was tricked into sending, and what comes without a token.

    A page of another site can make a browser call a server on this machine, and by DNS rebinding
    even read the answer: under a name of its own. So the Host must be a name that the server goes
    by, and an Origin, where there is one, must be the server itself.
    """

    def __init__(self, app: ASGIApp, *, names: Iterable[str], tokens: Tokens) -> None:
        self._app = app
        self._names = LOOPBACK | {hostname(name) for name in names}
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = (
            self._host(headers)
            or self._origin(scope, headers)
            or _size(scope, headers)
            or self._token(scope, headers)
        )
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, detail, extra = refusal
        await problem(Request(scope), status, detail, extra)(scope, receive, send)

    def _host(self, headers: Headers) -> Refusal | None:
        if len(headers.getlist("host")) == 1 and hostname(headers["host"]) in self._names:
            return None
        return 421, "This server does not go by that name; the setting serve.hosts adds one.", {}

    def _origin(self, scope: Scope, headers: Headers) -> Refusal | None:
        origin = headers.get("origin")
        if origin is not None and not _same(origin, headers["host"]):
            return 403, "A page of another origin may not call this server.", {}
        site = headers.get("sec-fetch-site", "none")
        navigates = headers.get("sec-fetch-mode") == "navigate" and scope["method"] in SAFE_METHODS
        if site in ("cross-site", "same-site") and not navigates:
            return 403, "A page of another site may not call this server.", {}
        return None

    def _token(self, scope: Scope, headers: Headers) -> Refusal | None:
        path: str = scope["path"]
        if not self._tokens or path.startswith(OPEN_PATHS) or self._tokens.known(_shown(scope)):
            return None
        if "text/html" in headers.get("accept", "") and scope["method"] in SAFE_METHODS:
            return 303, "This server asks for a token: log in at /login.", {"Location": "/login"}
        return (
            401,
            "This server asks for a token: send it as `Authorization: Bearer …`.",
            {"WWW-Authenticate": 'Bearer realm="recollect"'},
        )


Refusal = tuple[int, str, dict[str, str]]


def _same(origin: str, host: str) -> bool:
    """Whether the origin is this server; `null` and what is no origin at all are not."""
    scheme, _, place = origin.lower().partition("://")
    return scheme in ("http", "https") and place == host.lower()


def _size(scope: Scope, headers: Headers) -> Refusal | None:
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
        return 414, f"An address may be {LONGEST_ADDRESS:,} characters long; POST takes more.", {}
    told = headers.get("content-length", "")
    if told.isdecimal() and int(told) > LARGEST_BODY:
        return 413, f"A request may be {LARGEST_BODY >> 20} MiB large; send it in parts.", {}
    return None


def _shown(scope: Scope) -> str:
    """The token that came with the request, from a program or from a browser that logged in."""
    request = Request(scope)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")


class SafeHeaders:
    """What every answer tells the browser: load nothing from elsewhere, show it in no frame."""

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
