"""Clients without a model: the official SDKs and the Inspector's command line."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from anyio.from_thread import start_blocking_portal
from installed import CACHE, environment, npm_version
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

LONGEST_S = 120


class Reached(NamedTuple):
    """The way a client reaches the server: a command, or an address with a token."""

    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str = "."
    url: str = ""
    token: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


ToolCall = Callable[[str, dict[str, Any]], str]


@contextmanager
def python_sdk(server: Reached) -> Iterator[ToolCall]:
    with start_blocking_portal() as portal:
        if server.url:
            http = httpx2.AsyncClient(headers=server.headers, timeout=LONGEST_S)
            target: Any = streamable_http_client(server.url, http_client=http)
        else:
            command, *args = server.command
            target = StdioServerParameters(
                command=command, args=args, env=dict(server.env), cwd=server.cwd
            )
        with portal.wrap_async_context_manager(Client(target)) as client:

            def call(tool: str, arguments: dict[str, Any]) -> str:
                result = portal.call(client.call_tool, tool, arguments)
                assert isinstance(result, CallToolResult)
                parts = [part.text for part in result.content if isinstance(part, TextContent)]
                assert not result.is_error, parts
                return "\n".join(parts)

            yield call


@contextmanager
def typescript_sdk(server: Reached) -> Iterator[ToolCall]:
    command, *args = server.command or ("",)
    reached = {"url": server.url, "headers": server.headers}
    if not server.url:
        reached = {"command": command, "args": args, "env": dict(server.env), "cwd": server.cwd}
    with subprocess.Popen(
        ["node", CACHE / "driver.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment(Path(server.cwd)),
    ) as process:  # fmt: skip
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def ask(line: object) -> dict[str, Any]:
            stdin.write(json.dumps(line) + "\n")
            stdin.flush()
            answer = stdout.readline()
            assert answer, "The driver ended."
            found: dict[str, Any] = json.loads(answer)
            return found

        def call(tool: str, arguments: dict[str, Any]) -> str:
            answer = ask({"tool": tool, "arguments": arguments})
            assert not answer["failed"], answer
            return str(answer["text"])

        assert "memory_search" in ask(reached)["tools"]
        yield call
        stdin.close()
        assert process.wait(LONGEST_S) == 0


@contextmanager
def inspector(server: Reached) -> Iterator[ToolCall]:
    """A process a call, as a person types it. `--strict` refuses schemas that clients
    read in different ways."""
    home = Path(server.cwd)
    reached = ["--transport", "stdio", *server.command]
    if server.url:
        headers = [f"{name}: {value}" for name, value in server.headers.items()]
        reached = ["--server-url", server.url, "--transport", "http"]
        reached += [part for header in headers for part in ("--header", header)]
    for name, value in server.env.items():
        reached += ["-e", f"{name}={value}"]

    def run(*args: str) -> dict[str, Any]:
        done = subprocess.run(
            ["mcp-inspector", "--cli", *reached, *args], capture_output=True, text=True,
            cwd=home, env=environment(home), stdin=subprocess.DEVNULL, timeout=LONGEST_S,
        )  # fmt: skip
        assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def call(tool: str, arguments: dict[str, Any]) -> str:
        args = ["--method", "tools/call", "--tool-name", tool]
        for name, value in arguments.items():
            text = value if isinstance(value, str) else json.dumps(value)
            args += ["--tool-arg", f"{name}={text}"]
        answer = run(*args)
        assert not answer.get("isError"), answer
        return "\n".join(part["text"] for part in answer["content"])

    names = [tool["name"] for tool in run("--method", "tools/list", "--strict")["tools"]]
    assert "memory_search" in names
    yield call


class SdkClient(NamedTuple):
    """A client that calls what it is told. `lasting`: one server on stdio for the conversation; one
    that has just started answers a save before its model is loaded."""

    name: str
    version: Callable[[], str]
    opened: Callable[[Reached], AbstractContextManager[ToolCall]]
    lasting: bool = True


SDK_CLIENTS = (
    SdkClient("Python SDK", lambda: importlib.metadata.version("mcp"), python_sdk),
    SdkClient("TypeScript SDK", lambda: npm_version("@modelcontextprotocol/sdk"), typescript_sdk),
    SdkClient(
        "Inspector", lambda: npm_version("@modelcontextprotocol/inspector"), inspector, False
    ),
)
