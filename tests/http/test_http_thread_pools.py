"""Readers never wait for writers: each kind of request has threads and a queue of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from http_server import API, problem
from http_thread import ThreadServer, threaded_server
from test_mcp_capabilities import META, message

from recollect.auth.capabilities import SEARCH
from recollect.interfaces.http.api import OPERATIONS
from recollect.interfaces.mcp.tools import TOOLS
from recollect.interfaces.thread_pools import READS, SEARCHES, WRITES
from recollect.interfaces.web import pages
from recollect.store.sqlite.store import SqliteStore

POSTS = WRITES.threads + SEARCHES.threads + READS.threads + 1  # more than all threads there are
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadServer]:
    with threaded_server(tmp_path_factory.mktemp("home")) as running:
        running.engine.save(id="kept", title="Quokka", text="A marsupial of the islands.")
        while running.client.get("/readyz").status_code != 200:
            pass
        yield running


@contextmanager
def write_lock(server: ThreadServer) -> Iterator[None]:
    """Another process's transaction, as far as the server can tell."""
    other = SqliteStore(server.engine.path)
    try:
        with other.database.writing():
            yield
    finally:
        other.close()


def save(server: ThreadServer, n: int) -> httpx2.Response:
    return server.client.post(f"{API}/memories", json={"id": f"waits-{n}", "title": f"Waits {n}"})


def tool_request(name: str, **arguments: object) -> tuple[dict[str, Any], dict[str, str]]:
    """The body and the headers of a tool's call."""
    params = {"name": name, "arguments": arguments, "_meta": META}
    return message("tools/call", params), HEADERS | {"Mcp-Method": "tools/call", "Mcp-Name": name}


def tool(server: ThreadServer, name: str, **arguments: object) -> Any:
    body, headers = tool_request(name, **arguments)
    answer = server.client.post("/mcp", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def test_what_reads_is_answered_while_writers_wait_for_the_lock(server: ThreadServer) -> None:
    def pin() -> httpx2.Response:
        return server.client.post("/pin/kept", headers={"Accept": "text/html"})

    with ThreadPoolExecutor(POSTS + 2) as clients:
        with write_lock(server):
            posts = [clients.submit(save, server, n) for n in range(POSTS)]
            posts.append(clients.submit(pin))
            kept = clients.submit(tool, server, "memory_save", title="By a tool")
            while server.pools.calls[WRITES] < POSTS + 2:
                assert not any(post.done() for post in [*posts, kept])
                time.sleep(0.01)
            for path in (
                f"{API}/search?q=quokka", f"{API}/memories/kept", f"{API}/memories", "/healthz",
                "/readyz", "/metrics", "/?q=quokka", "/memory/kept", "/browse", "/edit/kept",
            ):  # fmt: skip
                assert server.client.get(path).status_code == 200, path
            assert not tool(server, "memory_search", query="quokka")["isError"]
            assert not tool(server, "memory_retrieve", ids=["kept"])["isError"]
            assert not any(post.done() for post in [*posts, kept])
        assert [post.result().status_code for post in posts] == [201] * POSTS + [303]
        assert not kept.result()["isError"]


def test_a_full_queue_is_a_503_that_says_when_to_ask_again(server: ThreadServer) -> None:
    server.pools.calls[WRITES] += WRITES.limit
    try:
        answer = save(server, 1000)
        by_tool = tool(server, "memory_save", title="By a tool")
        assert server.client.get(f"{API}/search?q=quokka").status_code == 200
    finally:
        server.pools.calls[WRITES] -= WRITES.limit
    problem(answer, 503, "Too many changes are waiting; try again in a few seconds.")
    assert int(answer.headers["retry-after"]) > 0
    assert by_tool["isError"]
    assert "Too many changes are waiting" in by_tool["content"][0]["text"]


def test_whatever_may_change_something_is_in_the_lane_of_writers() -> None:
    assert all((OPERATIONS, TOOLS, pages.PAGES))
    for operation in OPERATIONS:
        reads = operation.method == "GET" or operation.needs == (SEARCH,)
        assert (operation.pool is WRITES) is not reads, operation.path
    for offered in TOOLS:
        assert (offered.pool is WRITES) is not offered.reads, offered.name
    for page in pages.PAGES:
        assert page.pool_of("POST") is WRITES
