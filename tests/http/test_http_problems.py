"""Errors as RFC 9457 problem documents; for a person as a page."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_server import API, LONGEST_S, Server, problem, serving

from damaged_vaults import leaf, make, nulled, overwrite, text_end

SEARCH = f"{API}/search"
JSON = {"Content-Type": "application/json"}
LARGEST = 16 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home")) as started:
        yield started


def test_a_request_keeps_the_id_it_came_with_if_that_is_a_plain_word(server: Server) -> None:
    answer = server.get(f"{API}/memories/nobody", headers={"X-Request-ID": "from-a-proxy.7"})
    problem(answer, 404)
    assert answer.headers["x-request-id"] == "from-a-proxy.7"
    for odd in ("two words", "x" * 65, '"quoted"', ""):
        answer = server.get("/healthz", headers={"X-Request-ID": odd})
        assert answer.headers["x-request-id"] not in ("", odd)


@pytest.mark.parametrize("path", ["/nothing", f"{API}/nothing", f"{API}", "/static/nothing.js"])
def test_an_address_that_is_not_there_is_a_problem(server: Server, path: str) -> None:
    problem(server.get(path), 404)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/memory/x?as_of=someday", "<p>As of &#39;someday&#39; is not a time;"),
        ("/?q=token&as_of=someday", "<p>As of &#39;someday&#39; is not a time;"),
        ("/browse?colour=red", "<p>&#39;colour&#39; is not a parameter of this page.</p>"),
        ("/new", "The long version; counts less in searches."),
        ("/upkeep", "your own vault, priority 1"),
    ],
)
def test_a_page_names_fields_and_vaults_as_people_do(server: Server, path: str, says: str) -> None:
    assert says in server.get(path, headers={"Accept": "text/html"}).text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", f"{API}/memories", {"GET", "HEAD", "POST"}),
        ("POST", f"{API}/memories/x", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("DELETE", SEARCH, {"GET", "HEAD", "POST"}),
        ("GET", f"{API}/feedback", {"POST"}),
        ("OPTIONS", f"{API}/context", {"GET", "HEAD"}),
        ("POST", "/healthz", {"GET", "HEAD"}),
        ("POST", "/openapi.json", {"GET", "HEAD"}),
    ],
)
def test_a_method_that_is_not_taken_is_answered_with_those_that_are(
    server: Server, method: str, path: str, allowed: set[str]
) -> None:
    answer = server.client.request(method, path)
    problem(answer, 405)
    assert {one.strip() for one in answer.headers["allow"].split(",")} == allowed


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "", "json"])
def test_a_body_that_does_not_say_it_is_json_is_refused(server: Server, media: str) -> None:
    told = {"Content-Type": media} if media else {}
    problem(server.client.post(SEARCH, content=b'{"query": "x"}', headers=told), 415, "JSON")


def test_a_content_type_may_name_its_charset_in_any_letters(server: Server) -> None:
    told = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = server.client.post(SEARCH, content=b'{"query": "x"}', headers=told)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"{'query': 'x'}", b'{"query": "x"} trailing', b'{"query": "\xff\xfe"}',
        b'{"colour": 1, ',
        b"\xff\xfe", b'{"query": "\\ud800"}', b'{"query": "x", "limit": NaN}',
        b'{"query": "x", "limit": Infinity}', b"[" * 100_000, b'{"a":' * 100_000, b"null", b"7",
        b'"x"', b"[]", b'{"query": "x", "limit": 1e999}', b'{"query": "x", "set": {"a": [[]]}}',
        b'{"query": "x", "set": {"fuse.weights.keyword": 1e999}}',
    ],
    ids=lambda body: repr(body[:30]),
)  # fmt: skip
def test_a_body_that_is_not_what_was_asked_for_is_a_400(server: Server, body: bytes) -> None:
    problem(server.client.post(SEARCH, content=body, headers=JSON), 400)
    problem(server.client.post(f"{API}/memories", content=body, headers=JSON), 400)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"limit": 1}', "query is missing."),
        (b'{"query": "x", "filter": 1}', "'filter' is not a field; there are: query, recipe,"),
        (rb'{"query": "\ud83d"}', "half of a surrogate pair"),
        (rb'{"query": "\ude00 x"}', "half of a surrogate pair"),
        (b'{"query": "x', "truncated"),
    ],
)
def test_what_is_wrong_with_a_body_is_said_in_its_words(
    server: Server, body: bytes, says: str
) -> None:
    problem(server.client.post(SEARCH, content=body, headers=JSON), 400, says)


def test_a_missing_query_is_called_as_it_is_in_an_address(server: Server) -> None:
    assert problem(server.get(SEARCH), 400) == "q is missing."
    deep = server.get(SEARCH, params={"q": "x", "deep": "true", "recipe": "blend"})
    assert problem(deep, 400) == "Recipe blend has no deep search; gnosis has one."


def test_a_byte_order_mark_and_whole_pairs_are_taken(server: Server) -> None:
    body = b"\xef\xbb\xbf" + rb'{"query": "\ud83d\ude00"}'
    answer = server.client.post(SEARCH, content=body, headers=JSON)
    assert (answer.status_code, answer.json()["query"]) == (200, "\U0001f600")


@pytest.mark.parametrize("id", [".", "..", "../", "a/../b"])
def test_an_id_of_dots_is_found_at_the_address_that_saving_names(server: Server, id: str) -> None:
    saved = server.post(f"{API}/memories", {"id": id, "title": f"Dots {id}"})
    answer = server.get(saved.headers["location"])
    assert answer.json()["id"] == id
    assert server.client.delete(saved.headers["location"]).status_code == 204


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_read(server: Server) -> None:
    head = f"POST {SEARCH} HTTP/1.1\nHost: {server.host}:{server.port}\nConnection: close\n"
    head += f"Content-Type: application/json\nContent-Length: {LARGEST + 1}\n\n"
    status, answer = server.raw(head.encode())
    assert status == 413
    assert b"application/problem+json" in answer


def too_much() -> Iterator[bytes]:
    """A body of more than the limit, in pieces, its length not told."""
    yield b'{"query": "'
    for _ in range(17):
        yield b"x" * (1 << 20)
    yield b'"}'


def test_a_body_that_grows_too_large_is_refused_though_it_did_not_say_so(server: Server) -> None:
    problem(server.client.post(SEARCH, content=too_much(), headers=JSON), 413)
    told = JSON | {"Accept": "application/json, text/event-stream"}
    assert server.client.post("/mcp", content=too_much(), headers=told).status_code == 413
    assert server.get("/healthz").status_code == 200


def test_a_large_body_within_the_limit_is_taken(server: Server) -> None:
    long = [{"id": f"long-{number}", "text": f"{number}word" * 199_000} for number in range(5)]
    assert server.post(f"{API}/memories", long).status_code == 200
    for memory in long:
        assert server.show(memory["id"]).json()["text"] == memory["text"]
        server.client.delete(f"{API}/memories/{memory['id']}", params={"purge": "true"})


def test_a_text_above_the_limit_is_refused_with_the_way_to_keep_it(server: Server) -> None:
    answer = server.post(f"{API}/memories", {"text": "word " * 200_001})
    problem(answer, 400, "recollect add FOLDER")


def test_a_damaged_memory_is_a_503_that_says_what_to_do(tmp_path: Path) -> None:
    vault = tmp_path / "home" / "vault.db"
    vault.parent.mkdir()
    make(vault)
    page = leaf(vault, "memories")
    overwrite(vault, page, nulled(vault, page))
    overwrite(vault, text_end(vault))
    with serving(vault.parent) as server:
        for answer in (
            server.client.get(f"{API}/memories/m07"),
            server.client.get(f"{API}/search", params={"q": "anchor", "recipe": "covalence"}),
        ):
            assert answer.status_code == 503
            assert "`recollect doctor --fix`" in answer.json()["detail"]


def test_an_address_that_is_too_long_is_a_414(server: Server) -> None:
    problem(server.get(SEARCH, params={"q": "x" * 20_000}), 414, "POST")
    problem(server.get(f"{API}/memories/{'x' * 20_000}"), 414)


@pytest.mark.parametrize("size", [70_000, 2_000_000])
def test_an_address_that_is_too_long_for_the_parser_is_a_414_too(server: Server, size: int) -> None:
    """It comes in pieces, of which the server has read several before there is a request."""
    with socket.create_connection((server.host, server.port), LONGEST_S) as connection:
        connection.sendall(b"GET /api/v1/trash?q=")
        for _ in range(size // 10_000):
            connection.sendall(b"x" * 10_000)
            time.sleep(0.001)
        connection.sendall(b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 414 ")
    assert b"application/problem+json" in head
    assert "use POST" in json.loads(body)["detail"]


@pytest.mark.parametrize("path", ["/nothing", "/memory/nobody"])
def test_a_browser_gets_a_page_that_says_the_same(server: Server, path: str) -> None:
    answer = server.get(path, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "Not Found" in answer.text


def test_the_api_answers_a_browser_in_json_too(server: Server) -> None:
    answer = server.get(f"{API}/memories/nobody", headers={"Accept": "text/html"})
    problem(answer, 404)


def test_a_problem_page_shows_what_was_asked_for_as_text(server: Server) -> None:
    odd = "<script>alert(1)</script>"
    answer = server.get(f"/memory/{odd}", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert odd not in answer.text
    assert "&lt;script&gt;" in answer.text


@pytest.mark.parametrize("request_line", [b"GARBAGE", b"GET\x00 / HTTP/1.1", b"\x16\x03\x01\x02"])
def test_what_is_not_http_is_refused_and_the_server_goes_on(
    server: Server, request_line: bytes
) -> None:
    status, answer = server.raw(request_line + b"\nHost: localhost\n\n")
    assert 400 <= status < 500
    assert b"application/problem+json" in answer
    assert server.get("/healthz").status_code == 200
