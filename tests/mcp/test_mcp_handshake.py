"""The first answer, which comes before the SDK is there: it is the one that the SDK would give."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from mcp.shared.message import SessionMessage
from mcp_doors import fill, opened
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from recollect.interfaces.mcp import handshake
from recollect.interfaces.mcp.calls import Served
from recollect.interfaces.mcp.guidance import INSTRUCTIONS, instructions
from recollect.interfaces.mcp.handshake import (
    META,
    REVISIONS,
    STATELESS,
    Opening,
    answer_first,
    answer_tools,
    result_of,
)
from recollect.interfaces.mcp.server import build
from recollect.interfaces.mcp.tools import offered

CLIENT = {"name": "test", "version": "1"}


def initialize(revision: str, id: int | str = 0) -> dict[str, Any]:
    params = {"protocolVersion": revision, "capabilities": {"roots": {}}, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}


def discover(revision: str = STATELESS) -> dict[str, Any]:
    meta = {
        f"{META}protocolVersion": revision,
        f"{META}clientInfo": CLIENT,
        f"{META}clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": "a", "method": "server/discover", "params": {"_meta": meta}}


def first_answer(request: dict[str, Any]) -> dict[str, object] | None:
    return result_of(json.dumps(request).encode(), lambda: INSTRUCTIONS)


def answer_of_the_sdk(
    home: Path, request: dict[str, Any], begun: Sequence[dict[str, Any]] = ()
) -> Any:
    async def asked() -> SessionMessage:
        with opened(home) as memory:
            server = build(Served(memory, None), warm=False)
            asks, reads = anyio.create_memory_object_stream[SessionMessage | Exception](1)
            writes, answers = anyio.create_memory_object_stream[SessionMessage](1)
            async with anyio.create_task_group() as tasks, asks, answers:
                options = server.create_initialization_options()
                tasks.start_soon(server.run, reads, writes, options)
                for each in begun:
                    kind = JSONRPCRequest if "id" in each else JSONRPCNotification
                    await asks.send(SessionMessage(kind.model_validate(each)))
                    if "id" in each:
                        await answers.receive()
                await asks.send(SessionMessage(JSONRPCRequest.model_validate(request)))
                answer = await answers.receive()
                tasks.cancel_scope.cancel()
            return answer

    with start_blocking_portal() as portal:  # the browser's tests have a loop in this thread
        message = portal.call(asked).message
    assert isinstance(message, JSONRPCResponse)
    return message.model_dump(mode="json", by_alias=True, exclude_unset=True)


@pytest.mark.parametrize(
    "request_",
    [*map(initialize, [*REVISIONS, "1999-01-01", STATELESS]), initialize("", "a"), discover()],
    ids=lambda request: f"{request['method']} {request['params'].get('protocolVersion', '')}",
)
def test_the_first_answer_is_the_one_that_the_sdk_gives(
    tmp_path: Path, request_: dict[str, Any]
) -> None:
    assert first_answer(request_) == answer_of_the_sdk(tmp_path, request_)


@pytest.mark.parametrize("request_", [initialize(REVISIONS[-1]), discover()])
def test_the_sdk_gives_the_same_instructions_too(tmp_path: Path, request_: dict[str, Any]) -> None:
    fill(tmp_path)
    with opened(tmp_path) as memory:
        told = instructions(memory, None)
    assert told != INSTRUCTIONS
    assert answer_of_the_sdk(tmp_path, request_)["result"]["instructions"] == told


def test_the_revisions_are_those_of_the_sdk() -> None:
    assert REVISIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert (STATELESS,) == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        initialize("2025-11-25") | {"jsonrpc": "1.0"},
        initialize("2025-11-25") | {"id": None},
        initialize("2025-11-25") | {"id": 1.5},
        initialize("2025-11-25") | {"params": {}},
        initialize("2025-11-25") | {"params": {"protocolVersion": 1, "capabilities": {}}},
        {name: value for name, value in initialize("2025-11-25").items() if name != "id"},
        discover("2027-01-01"),
        discover() | {"params": {}},
    ],
    ids=repr,
)
def test_what_is_not_plainly_an_opening_is_left_to_the_sdk(request_: dict[str, Any]) -> None:
    assert first_answer(request_) is None


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"\xff", b"null"])
def test_a_line_that_is_no_request_is_left_to_the_sdk(line: bytes) -> None:
    assert result_of(line, lambda: INSTRUCTIONS) is None


def test_the_sdk_is_not_imported_before_the_first_answer() -> None:
    program = "import recollect.interfaces.cli.mcp, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    imported = set(done.stdout.decode().split())
    assert "recollect.interfaces.mcp.handshake" in imported
    assert not imported & {"mcp", "mcp_types", "pydantic", "anyio", "asyncio", "httpx", "starlette"}


def list_tools(**params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params}


@pytest.mark.parametrize(
    ("first", "asked"),
    [
        (initialize("2025-11-25", 1), list_tools(_meta={"progressToken": 0})),  # Codex
        (discover(), list_tools(**discover()["params"])),  # Claude Code
    ],
    ids=["initialize", "discover"],
)
def test_the_tools_are_listed_before_the_sdk_is_there_and_as_it_lists_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: dict[str, Any], asked: dict[str, Any]
) -> None:
    """Codex begins its first turn without the tools of a server that takes longer, and Claude Code
    gives such a server up."""
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    begun = (first, done) if first["method"] == "initialize" else (first,)
    lines = [json.dumps(each).encode() + b"\n" for each in (*begun, asked, {"method": "ping"})]
    written: list[bytes] = []
    reads = [b"".join(lines[:-2]), b"".join(lines[-2:])]

    def write(descriptor: int, line: bytes) -> int:
        written.append(line)
        return len(line)

    with opened(tmp_path) as memory:
        tools = offered(Served(memory, None))
    with monkeypatch.context() as patched:
        patched.setattr(handshake, "os", SimpleNamespace(read=lambda *_: reads.pop(0), write=write))
        ready = SimpleNamespace(select=lambda *_: ([0], [], []))
        patched.setattr(handshake, "select", ready)
        opening = answer_tools(answer_first(lambda: INSTRUCTIONS), tools)
    answers = [json.loads(line) for line in written]
    assert [answer["id"] for answer in answers] == [first["id"], 2]
    assert answers[1] == answer_of_the_sdk(tmp_path, asked, begun)
    assert opening == (json.dumps(first), lines[-1])


@pytest.mark.parametrize(
    "next_",
    [
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"cursor": "x"}},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "resources/list"},
    ],
    ids=repr,
)
def test_what_is_not_plainly_a_request_for_the_tools_is_left_to_the_sdk(next_: object) -> None:
    line = json.dumps(next_).encode() + b"\n"
    opening = Opening(json.dumps(initialize("2025-11-25")), line)
    assert answer_tools(opening, []) == opening


def test_a_request_for_the_tools_in_the_form_of_another_revision_is_left_to_the_sdk() -> None:
    asked = json.dumps(list_tools()).encode() + b"\n"
    for answered in (json.dumps(discover()), ""):
        assert answer_tools(Opening(answered, asked), []) == (answered, asked)
