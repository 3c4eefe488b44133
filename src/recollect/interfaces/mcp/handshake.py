"""The answers to the requests that open a connection, given before the SDK is imported.

The import takes several times as long as everything else. A client waits for the first answer, and
some begin their first turn without the tools of a server that has not listed them by then. The SDK
gets the first request afterwards, as it does in a fresh process after the idle lock, so that it
knows the client; its own answer, which is the same, is dropped. Whatever is not plainly such a
request, the SDK answers.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, NoReturn

import msgspec
from msgspec import Struct, field

from recollect.interfaces.mcp import guidance
from recollect.interfaces.mcp.stop_signals import on_stop
from recollect.version import __version__

AT_ONCE = 65536  # bytes, as much as a pipe holds
OFFERED_MS = 3_600_000  # what is offered does not change while the server runs
NEXT_S = 0.05  # a client that wants the tools first asks for them at once
# The revisions of the protocol that begin with `initialize`; a client of another one gets the last.
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
# The one that begins without it: each request says who asks.
STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"

SERVER = {
    "name": guidance.NAME,
    "title": guidance.TITLE,
    "version": __version__,
    "description": guidance.ABOUT,
}
CAPABILITIES = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}


class ClientInfo(Struct):
    name: str
    version: str


class InitializeParams(Struct, rename="camel"):
    protocol_version: str
    capabilities: dict[str, Any]
    client_info: ClientInfo


class Initialize(Struct, tag_field="method", tag="initialize"):
    """The request that opens a connection, up to the revision of 2025-11-25."""

    jsonrpc: Literal["2.0"]
    id: int | str
    params: InitializeParams

    def result(self, instructions: str) -> dict[str, object]:
        asked = self.params.protocol_version
        return {
            "protocolVersion": asked if asked in REVISIONS else REVISIONS[-1],
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER,
            "instructions": instructions,
        }


class DiscoverMeta(Struct):
    version: Literal["2026-07-28"] = field(name=f"{META}protocolVersion")
    client: ClientInfo = field(name=f"{META}clientInfo")
    capabilities: dict[str, Any] = field(name=f"{META}clientCapabilities")


class DiscoverParams(Struct):
    meta: DiscoverMeta = field(name="_meta")


class Discover(Struct, tag_field="method", tag="server/discover"):
    """The request with which a client of a later revision asks what the server is."""

    jsonrpc: Literal["2.0"]
    id: int | str
    params: DiscoverParams

    def result(self, instructions: str) -> dict[str, object]:
        return {
            "resultType": "complete",
            "supportedVersions": [STATELESS],
            "capabilities": CAPABILITIES,
            "instructions": instructions,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {f"{META}serverInfo": SERVER},
        }


class FirstPage(Struct):
    cursor: None = None


class ListTools(Struct, tag_field="method", tag="tools/list"):
    """The request for the tools, as it follows `initialize`."""

    jsonrpc: Literal["2.0"]
    id: int | str
    params: FirstPage | None = None

    def result(self, tools: list[dict[str, Any]]) -> dict[str, object]:
        return {"tools": tools}


class DiscoveredPage(DiscoverParams):
    cursor: None = None


class ListDiscoveredTools(Struct, tag_field="method", tag="tools/list"):
    """The request for the tools in the later revision."""

    jsonrpc: Literal["2.0"]
    id: int | str
    params: DiscoveredPage

    def result(self, tools: list[dict[str, Any]]) -> dict[str, object]:
        return {
            "resultType": "complete",
            "tools": tools,
            "ttlMs": OFFERED_MS,
            "cacheScope": "private",
            "_meta": {f"{META}serverInfo": SERVER},
        }


class Initialized(Struct, tag_field="method", tag="notifications/initialized"):
    jsonrpc: Literal["2.0"]


class Opening(NamedTuple):
    """What the client has sent: `answered` is the request that has its answer already, as JSON, and
    `unread` the bytes that nobody has looked at."""

    answered: str = ""
    unread: bytes = b""


class StoppedEarly(BaseException):
    """A signal said stop before the client said anything."""


def answer_first(instructions: Callable[[], str]) -> Opening:
    """Wait for the client's first line; answer it if it opens the connection."""
    raw = b""
    with on_stop(_stop):
        while b"\n" not in raw and (piece := os.read(0, AT_ONCE)):
            raw += piece
    line, _, rest = raw.partition(b"\n")
    result = result_of(line, instructions)
    if result is None:
        return Opening(unread=raw)
    _write(result)
    return Opening(line.decode(), rest)


def answer_tools(opening: Opening, tools: list[dict[str, Any]]) -> Opening:
    """Answer the request for the tools, where the client has sent it by now as what is next."""
    first = _opening_request(opening.answered.encode())
    if first is None:
        return opening
    plain = isinstance(first, Initialize)
    expected: Any = Initialized | ListTools if plain else ListDiscoveredTools
    unread = opening.unread
    while b"\n" in unread or select.select([0], [], [], NEXT_S)[0]:
        if b"\n" not in unread:
            piece = os.read(0, AT_ONCE)
            unread += piece
            if not piece or b"\n" not in unread:
                break
        line, _, rest = unread.partition(b"\n")
        try:
            message = msgspec.json.decode(line, type=expected)
        except msgspec.DecodeError:
            break
        unread = rest
        if not isinstance(message, Initialized):
            _write({"jsonrpc": "2.0", "id": message.id, "result": message.result(tools)})
            break
    return opening._replace(unread=unread)


def _write(message: dict[str, object]) -> None:
    line = msgspec.json.encode(message) + b"\n"
    while line:
        line = line[os.write(1, line) :]


def _stop() -> NoReturn:
    raise StoppedEarly


def result_of(line: bytes, instructions: Callable[[], str]) -> dict[str, object] | None:
    """The answer to a request that opens a connection; None to anything else."""
    request = _opening_request(line)
    if request is None:
        return None
    return {"jsonrpc": "2.0", "id": request.id, "result": request.result(instructions())}


def _opening_request(line: bytes) -> Initialize | Discover | None:
    try:
        return msgspec.json.decode(line, type=Initialize | Discover)
    except msgspec.DecodeError:
        return None
