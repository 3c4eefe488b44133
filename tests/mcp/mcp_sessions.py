"""The server as a client meets it, with the SDK's own client: in a process of its own on stdio, or
over HTTP on a free local port; with the handshake of 2025, or without one as since 2026.

An `McpSession` holds one connection open, in an event loop of its own, so that tests are plain
functions and share a server."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import mcp_types as mcp
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from jsonschema import Draft202012Validator
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from recollect import Recollect
from recollect.demo import sample
from recollect.interfaces.app import create_app
from recollect.interfaces.http.connections import GRACE_S
from recollect.interfaces.http.service import Service
from recollect.settings_reading import load_settings

RECOLLECT = str(Path(sys.executable).with_name("recollect"))
NOW = "2026-03-01T12:00:00Z"
Mode = Literal["legacy", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")
Given = TypeVar("Given")


def environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the machine's own settings; no models, unless `more` says otherwise."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_NOW": NOW,
        "RECOLLECT_EMBEDDING__PROVIDER": "none",
        "RECOLLECT_RERANK__PROVIDER": "none",
        **more,
    }


def open_engine(home: Path, **more: str) -> Recollect:
    """The vault of a home, as the server opens it."""
    told = environment(home, **more)
    return Recollect(home=home, settings=load_settings(home, told), environment=told)


def fill(home: Path) -> None:
    """The sample memories."""
    with open_engine(home) as memory:
        memory.save_all(list(sample(memory.now())))


class McpSession:
    """One connection to a server."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client
        self.tools = {tool.name: tool for tool in self.ask(client.list_tools).tools}

    def ask(self, request: Callable[..., Awaitable[Given]], *given: object) -> Given:
        return self._portal.call(request, *given)

    def call(self, name: str, **given: object) -> mcp.CallToolResult:
        result = self.ask(self.client.call_tool, name, given)
        assert isinstance(result, mcp.CallToolResult)
        return result

    def answer(self, name: str, **given: object) -> Any:
        """The structured answer of a call that succeeds, checked against the tool's schema."""
        result = self.call(name, **given)
        assert not result.is_error, text_of(result)
        schema = self.tools[name].output_schema
        assert schema is not None
        Draft202012Validator(schema).validate(result.structured_content)
        assert text_of(result)
        return result.structured_content

    def call_error(self, name: str, **given: object) -> str:
        """The one sentence of a call that fails as it should."""
        result = self.call(name, **given)
        assert result.is_error
        assert result.structured_content is None
        told = text_of(result)
        assert told.endswith((".", "?"))
        assert "\n" not in told
        assert "Traceback" not in told
        return told

    def protocol_error(
        self, request: Callable[..., Awaitable[Any]], *given: object
    ) -> mcp.ErrorData:
        """The protocol's own error."""
        try:
            self.ask(request, *given)
        except MCPError as error:
            return error.error
        raise AssertionError("It succeeded.")


def text_of(result: mcp.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, mcp.TextContent)
    return content.text


@contextmanager
def connect(server: Any, mode: Mode) -> Iterator[McpSession]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server, mode=mode)) as client,
    ):
        yield McpSession(portal, client)


@contextmanager
def on_stdio(home: Path, mode: Mode, *told: str, **more: str) -> Iterator[McpSession]:
    """`recollect mcp` with all tools, in a process of its own."""
    told = ("mcp", "--tools", "all", *told)
    command = StdioServerParameters(
        command=RECOLLECT, args=[*told], env=environment(home, **more), cwd=home
    )
    with connect(command, mode) as session:
        yield session


@contextmanager
def on_http(home: Path, mode: Mode) -> Iterator[McpSession]:
    """The application, in a real server, at the address of all tools."""
    with (
        open_engine(home) as engine,
        serving(engine) as url,
        connect(f"{url}?tools=all", mode) as session,
    ):
        yield session


@contextmanager
def serving(engine: Recollect) -> Iterator[str]:
    """The address of a server that offers /mcp."""
    app = create_app(Service(engine))
    with socket.create_server(("127.0.0.1", 0)) as held:
        # It closes what a client left open, as the product's server does.
        config = uvicorn.Config(
            app, log_level="critical", ws="none", timeout_graceful_shutdown=GRACE_S
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{held.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()


TRANSPORTS = {"stdio": on_stdio, "http": on_http}
