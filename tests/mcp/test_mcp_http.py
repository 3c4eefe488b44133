"""MCP over HTTP: no streams, no sessions, and many clients at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from mcp_sessions import open_engine, serving

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with open_engine(tmp_path_factory.mktemp("home")) as engine:
        engine.save(id="tokens", title="Tokens live 15 minutes")
        with serving(engine) as address:
            yield address


def post(url: str, method: str, id: int = 1, **params: object) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return httpx2.post(url, json=body, headers=HEADERS, timeout=30, verify=False)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post_is_served(url: str, method: str) -> None:
    """A stream for messages from the server would stay open for ever, and carry none."""
    answer = httpx2.request(method, url, headers={"Accept": "text/event-stream"}, verify=False)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_an_answer_is_plain_json_and_opens_no_session(url: str) -> None:
    answer = post(url, "tools/list")
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers
    assert answer.json()["result"]["tools"]


def test_many_clients_may_ask_at_once(url: str) -> None:
    told = {"name": "memory_search", "arguments": {"query": "tokens"}}
    with ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda id: post(url, "tools/call", id, **told), range(24)))
    for id, answer in enumerate(answers):
        assert answer.json()["id"] == id
        [result] = answer.json()["result"]["structuredContent"]["results"]
        assert result["id"] == "tokens"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff"])
def test_what_is_no_message_is_refused(url: str, body: bytes) -> None:
    headers = HEADERS | {"Content-Type": "application/json"}
    assert httpx2.post(url, content=body, headers=headers, verify=False).status_code == 400


def test_a_body_may_be_as_large_as_the_documentation_says(url: str) -> None:
    """The longest text and details that a memory may have, with half of their letters escaped."""
    text = "ab\n\n" * 250_000
    fields = {"id": "long", "title": "Long", "text": text, "details": text}
    asked = json.dumps({"name": "memory_save", "arguments": fields, "x": "y" * (6 << 20)})
    assert 8 << 20 < len(asked) < 16 << 20
    answer = post(url, "tools/call", 1, **json.loads(asked))
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"]["structuredContent"]["outcome"] == "added"
