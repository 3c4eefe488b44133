"""The lists of tools: the usual seven, those of connectors, or all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import mcp_types as mcp
import pytest
from anyio.from_thread import start_blocking_portal
from mcp.client.client import Client
from mcp_sessions import MODES, McpSession, Mode, connect, open_engine, serving, text_of

from recollect import Recollect
from recollect.interfaces.mcp.server import build

USUAL = [
    "memory_search", "memory_context", "memory_save", "memory_retrieve", "memory_update",
    "memory_forget", "memory_list",
]  # fmt: skip
CONNECTOR = ["search", "fetch"]
ALL = [*USUAL, "memory_feedback", "memory_review", "memory_timeline", *CONNECTOR]
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    with open_engine(tmp_path_factory.mktemp("home")) as memory:
        for day, id in enumerate(("first", "second", "third", "fourth"), start=1):
            at = f"2026-02-{day:02}"
            memory.save(id=id, title=f"The {id}", created_at=at, updated_at=at)
        yield memory


@pytest.fixture(scope="module")
def session(engine: Recollect) -> Iterator[McpSession]:
    with connect(build(lambda ctx: engine), "2026-07-28") as held:
        yield held


@pytest.fixture(scope="module")
def url(engine: Recollect) -> Iterator[str]:
    with serving(engine) as address:
        yield address


def answer_to_list(url: str, **headers: str) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = httpx2.post(url, json=body, headers=HEADERS | headers, timeout=30, verify=False)
    assert answer.status_code in (200, 400), answer.text
    return answer.json()


def names(url: str, **headers: str) -> list[str]:
    return [tool["name"] for tool in answer_to_list(url, **headers)["result"]["tools"]]


def test_seven_tools_are_listed_unless_all_are_asked_for(
    engine: Recollect, session: McpSession
) -> None:
    assert [*session.tools] == USUAL
    with connect(build(lambda ctx: engine, tools="all"), "legacy") as held:
        assert [*held.tools] == ALL


def test_over_http_the_address_asks_for_all(url: str) -> None:
    assert names(url) == USUAL
    assert names(f"{url}?tools=default") == USUAL
    assert names(f"{url}?tools=all") == ALL
    refused = answer_to_list(f"{url}?tools=some")["error"]["message"]
    assert refused == "tools cannot be 'some'; allowed are: default, all."


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["openai-mcp", "ChatGPT"])
def test_a_connector_is_known_by_its_name(engine: Recollect, mode: Mode, name: str) -> None:
    known = mcp.Implementation(name=name, version="1.0.0")
    client = Client(build(lambda ctx: engine), mode=mode, client_info=known)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client) as held:
        assert [*McpSession(portal, held).tools] == [*USUAL, *CONNECTOR]


def test_a_connector_over_http_is_known_by_its_user_agent(url: str) -> None:
    assert names(url, **{"User-Agent": "openai-mcp/1.0.0"}) == [*USUAL, *CONNECTOR]
    assert names(url, **{"User-Agent": "codex-mcp-client/1.0"}) == USUAL


def test_a_tool_that_is_not_listed_answers(session: McpSession) -> None:
    asked: dict[str, dict[str, Any]] = {
        "memory_timeline": {"around": "third"},
        "memory_review": {},
        "memory_feedback": {"query": "third", "id": "third", "accepted": True},
        "search": {"query": "third"},
        "fetch": {"id": "third"},
    }
    for name, given in asked.items():
        assert name not in session.tools
        result = session.call(name, **given)
        assert not result.is_error, text_of(result)


@pytest.mark.parametrize("around", ["third", "2026-02-03T12:00:00Z"])
def test_a_list_around_a_memory_or_a_time_is_the_timeline(session: McpSession, around: str) -> None:
    for more in ({}, {"limit": 1}, {"limit": 2, "kind": "fact"}):
        listed = session.call("memory_list", around=around, **more)
        timeline = session.call("memory_timeline", around=around, **more)
        assert text_of(listed) == text_of(timeline)
        assert listed.structured_content == timeline.structured_content
    assert len(session.answer("memory_list", around=around, limit=1)["before"]) == 1


def test_a_list_around_a_time_takes_no_page_and_no_order(session: McpSession) -> None:
    for other in ({"after": "first"}, {"order": "tier"}, {"as_of": "7d"}):
        [name] = other
        refused = session.call_error("memory_list", around="third", **other)
        assert refused == f"Give either around or {name}."
    assert "is neither a memory nor a time" in session.call_error("memory_list", around="whenever")
