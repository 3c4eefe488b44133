"""Access over MCP: every tool, resource and prompt, by the token of the request."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
import uvicorn
from mcp_sessions import on_stdio, open_engine

from recollect import Recollect
from recollect.auth.access import HomeAccess
from recollect.auth.audit import Audit
from recollect.auth.capabilities import ADMIN, CAPABILITIES, SEARCH, WRITE
from recollect.auth.credentials import Credentials
from recollect.auth.token_store import TokenStore
from recollect.interfaces.app import create_app
from recollect.interfaces.http.service import Service
from recollect.interfaces.mcp.tools import BY_NAME, TOOLS

SAID = "Quokkas sleep at noon"
WORD = "quokka"
EVERY = [
    frozenset(some)
    for some in chain.from_iterable(
        combinations(CAPABILITIES, size) for size in range(1, len(CAPABILITIES) + 1)
    )
]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "memory_search": {"query": WORD},
    "memory_context": {"query": WORD},
    "memory_save": {"title": "Another one"},
    "memory_retrieve": {"ids": ["kept"]},
    "memory_update": {"id": "kept", "severity": "warning"},
    "memory_forget": {"ids": ["kept"]},
    "memory_feedback": {"query": WORD, "id": "kept", "accepted": True},
    "memory_review": {},
    "memory_list": {},
    "search": {"query": WORD},
    "fetch": {"id": "kept"},
    "memory_timeline": {"around": "7d"},
}
TEMPLATE = {"type": "ref/resource", "uri": "recollect://recipes/{name}"}
# What is read beside tools: all of it for those who may search, and for nobody else.
READS: dict[str, dict[str, Any]] = {
    "resources/list": {},
    "resources/read": {"uri": "recollect://memory/kept"},
    "completion/complete": {"ref": TEMPLATE, "argument": {"name": "name", "value": "b"}},
}
# Texts of the program itself, in which nothing of the vault stands.
OPEN = {
    "prompts/list": {},
    "prompts/get": {"name": "recall", "arguments": {"topic": "tides"}},
    "resources/templates/list": {},
    "ping": {},
}
LEGACY = {"MCP-Protocol-Version": "2025-11-25"}
MODERN = {"MCP-Protocol-Version": "2026-07-28"}


class World(NamedTuple):
    """The server as `serve` makes it, with its engine."""

    url: str
    engine: Recollect
    access: TokenStore
    client: httpx2.Client

    def post(self, body: object, token: str | None, headers: dict[str, str]) -> httpx2.Response:
        told = {"Accept": "application/json, text/event-stream", **headers}
        if token is not None:
            told["Authorization"] = f"Bearer {token}"
        return self.client.post(self.url, json=body, headers=told)

    def ask(
        self, token: str | None, method: str, params: dict[str, Any], *, modern: bool = False
    ) -> httpx2.Response:
        headers = dict(LEGACY)
        if modern:
            headers = {**MODERN, "Mcp-Method": method}
            if name := params.get("name", params.get("uri")):
                headers["Mcp-Name"] = name
            params = {**params, "_meta": META}
        return self.post(message(method, params), token, headers)

    def call(self, token: str | None, name: str, *, modern: bool = False) -> Any:
        told = {"name": name, "arguments": ARGUMENTS[name]}
        answer = self.ask(token, "tools/call", told, modern=modern)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    def state(self) -> list[Any]:
        return [[*self.engine.export()], self.engine.opinions()]

    def mend(self) -> None:
        self.engine.save(id="kept", title="Quokka", text=SAID)


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@contextmanager
def served(home: Path) -> Iterator[World]:
    with open_engine(home) as engine:
        access = TokenStore(HomeAccess(home))
        app = create_app(Service(engine), credentials=Credentials((), access))
        config = uvicorn.Config(app, log_level="critical", ws="none", log_config=None)
        server = uvicorn.Server(config)
        # Plain HTTP: else it would load all certificates of the machine.
        client = httpx2.Client(timeout=30, verify=False)
        with client, socket.create_server(("127.0.0.1", 0)) as held:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
            thread.start()
            try:
                url = f"http://127.0.0.1:{held.getsockname()[1]}/mcp?tools=all"
                world = World(url, engine, access, client)
                world.mend()
                yield world
            finally:
                server.should_exit = True
                thread.join()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with served(tmp_path_factory.mktemp("home")) as started:
        yield started


def test_every_tool_is_tried_here() -> None:
    assert ARGUMENTS.keys() == BY_NAME.keys()
    assert all(tool.needs for tool in TOOLS)
    assert all(tool.needs == (SEARCH,) for tool in TOOLS if tool.reads)
    assert all(set(tool.needs) - {SEARCH} for tool in TOOLS if not tool.reads)


@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
@pytest.mark.parametrize("given", EVERY, ids=lambda given: "+".join(sorted(given)))
def test_every_tool_answers_exactly_whom_it_should(
    world: World, given: frozenset[str], modern: bool
) -> None:
    token, _ = world.access.create(given)
    listed = world.ask(token, "tools/list", {}, modern=modern).json()["result"]["tools"]
    allowed = [tool.name for tool in TOOLS if given.issuperset(tool.needs)]
    assert [one["name"] for one in listed] == allowed
    for name in ARGUMENTS:
        before = world.state()
        result = world.call(token, name, modern=modern)
        if name in allowed:
            assert not result.get("isError"), result
            world.mend()
            continue
        assert result["isError"]
        assert "structuredContent" not in result
        [text] = [one["text"] for one in result["content"]]
        lacking = set(BY_NAME[name].needs) - given
        assert text in {f"This needs {one}, which this caller may not do." for one in lacking}
        assert world.state() == before


@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
@pytest.mark.parametrize("given", EVERY, ids=lambda given: "+".join(sorted(given)))
def test_resources_are_read_by_those_who_may_search(
    world: World, given: frozenset[str], modern: bool
) -> None:
    token, _ = world.access.create(given)
    for method, params in READS.items():
        answer = world.ask(token, method, params, modern=modern)
        if SEARCH in given:
            assert "result" in answer.json(), answer.text
            continue
        error = answer.json()["error"]
        assert error["message"] == f"This needs {SEARCH}, which this caller may not do."
        assert WORD not in answer.text.lower()
    for method, params in OPEN.items():
        if modern and method == "ping":
            continue  # not there any more
        answer = world.ask(token, method, params, modern=modern)
        assert "result" in answer.json(), (method, answer.text)


def test_whether_a_resource_is_there_is_not_told(world: World) -> None:
    token, _ = world.access.create([WRITE])
    told = {
        world.ask(token, "resources/read", {"uri": uri}).json()["error"]["message"]
        for uri in ("recollect://memory/kept", "recollect://memory/nobody", "recollect://recipes/x")
    }
    assert len(told) == 1


def test_a_token_of_another_vault_gets_nowhere(world: World) -> None:
    token, _ = world.access.create(CAPABILITIES, vaults=["team"])
    before = world.state()
    assert world.ask(token, "tools/list", {}).json()["result"]["tools"] == []
    for name in ARGUMENTS:
        assert world.call(token, name)["isError"]
    for method, params in READS.items():
        answer = world.ask(token, method, params)
        assert "error" in answer.json()
        assert WORD not in answer.text.lower()
    assert world.state() == before


@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
def test_a_token_that_is_not_valid_is_refused_before_any_message_is_read(
    world: World, modern: bool
) -> None:
    past = TokenStore(world.access.access, lambda: datetime.now(UTC) - timedelta(days=2))
    expired, _ = past.create(CAPABILITIES, expires_at=datetime.now(UTC) - timedelta(days=1))
    revoked, known = world.access.create(CAPABILITIES)
    world.access.revoke(known.id)
    before = world.state()
    for token in (expired, revoked, "rcl_" + "A" * 43, "nonsense"):
        for name in ARGUMENTS:
            told = {"name": name, "arguments": ARGUMENTS[name]}
            answer = world.ask(token, "tools/call", told, modern=modern)
            assert answer.status_code == 401
            assert answer.headers["content-type"] == "application/problem+json"
            assert WORD not in answer.text.lower()
    assert world.state() == before


def test_a_batch_is_no_way_around(world: World) -> None:
    token, _ = world.access.create([ADMIN])
    before = world.state()
    one = message("tools/call", {"name": "memory_search", "arguments": {"query": WORD}})
    other = message("tools/call", {"name": "memory_forget", "arguments": {"ids": ["kept"]}})
    for body in ([one, other], [one], [[one]], {"batch": [one]}):
        for headers in (LEGACY, {}, MODERN | {"Mcp-Method": "tools/call"}):
            answer = world.post(body, token, headers)
            assert answer.status_code >= 400
            assert SAID not in answer.text
    assert world.state() == before


def test_what_a_message_says_of_its_caller_counts_for_nothing(world: World) -> None:
    token, _ = world.access.create([ADMIN])
    for extra in ({"caller": "owner"}, {"_meta": {"caller": "owner", "token": "owner"}}):
        told = {"name": "memory_search", "arguments": {"query": WORD}, **extra}
        answer = world.ask(token, "tools/call", told)
        assert SAID not in answer.text
    told = {"name": "memory_search", "arguments": {"query": WORD, "caller": "owner"}}
    assert SAID not in world.ask(token, "tools/call", told).text


def test_two_callers_at_once_are_not_taken_for_each_other(world: World) -> None:
    reader, _ = world.access.create([SEARCH])
    other, _ = world.access.create([ADMIN])
    with ThreadPoolExecutor(8) as clients:
        found = list(clients.map(lambda n: world.call((reader, other)[n % 2], "memory_search"),
                                 range(40)))  # fmt: skip
    assert [bool(result.get("isError")) for result in found] == [False, True] * 20


def test_who_may_save_and_not_read_is_not_told_what_was_there(world: World) -> None:
    token, _ = world.access.create([WRITE])
    told = {"name": "memory_save", "arguments": {"id": "kept", "text": "Something else"}}
    answer = world.ask(token, "tools/call", told)
    assert answer.json()["result"]["structuredContent"]["outcome"] == "updated"
    assert WORD not in answer.text.lower()
    world.mend()


def test_without_a_token_the_caller_of_this_machine_is_the_owner(world: World) -> None:
    listed = world.ask(None, "tools/list", {}).json()["result"]["tools"]
    assert len(listed) == len(TOOLS)
    assert SAID in str(world.call(None, "memory_retrieve"))


def test_refusals_are_noted_by_the_name_of_the_tool(tmp_path: Path) -> None:
    with served(tmp_path) as world:
        token, known = world.access.create([WRITE], name="writer")
        world.call(token, "memory_retrieve")
        world.call(token, "memory_save")
        world.ask(token, "resources/read", READS["resources/read"])
        told = [*Audit(HomeAccess(tmp_path)).entries()][1:]
    seen = [(one["caller"], one["token"], one["action"], one["outcome"]) for one in told]
    assert seen == [
        ("writer", known.id, "memory_retrieve", "refused"),
        ("writer", known.id, "save", "done"),
        ("writer", known.id, "resources/read", "refused"),
    ]


def test_on_standard_input_the_caller_is_the_owner(tmp_path: Path) -> None:
    """Starting the process means being able to open the vault."""
    with open_engine(tmp_path) as engine:
        engine.save(id="kept", title="Quokka", text=SAID)
    with on_stdio(tmp_path, "legacy") as session:
        assert len(session.tools) == len(TOOLS)
        assert session.answer("memory_retrieve", ids=["kept"])["memories"][0]["text"] == SAID
