"""Clients that send slowly are cut off; clients that leave are no errors."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from http_server import API, LONGEST_S
from http_thread import ThreadServer, threaded_server
from test_http_thread_pools import tool_request, write_lock

from recollect.interfaces.http import connections
from recollect.interfaces.thread_pools import WRITES

HEAD = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SAVE = HEAD % f"{API}/memories".encode()
BODY = SAVE + b"Content-Length: 1000\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadServer]:
    with threaded_server(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a test need not wait long; still long beside what a busy machine delays."""
    monkeypatch.setattr(connections, "HEADERS_S", 0.8)
    monkeypatch.setattr(connections, "BODY_S", 0.8)


def until_closed(connection: socket.socket, trickle: bytes = b"") -> bytes:
    """Return what the server sends until it closes, to a client that sends a byte now and then."""
    connection.settimeout(0.05)
    answer = b""
    give_up = time.monotonic() + LONGEST_S
    while time.monotonic() < give_up:
        try:
            if not (piece := connection.recv(65536)):
                return answer
            answer += piece
        except TimeoutError:
            with suppress(OSError):
                connection.sendall(trickle)
        except ConnectionResetError:
            return answer
    raise AssertionError("The server never closed the connection.")


def log_line(server: ThreadServer, **fields: object) -> dict[str, Any]:
    """The first line of the log with these fields, once it is there."""
    give_up = time.monotonic() + LONGEST_S
    while time.monotonic() < give_up:
        for line in map(json.loads, server.log.getvalue().splitlines()):
            if line.items() >= fields.items():
                found: dict[str, Any] = line
                return found
        time.sleep(0.01)
    raise AssertionError(server.log.getvalue())


@pytest.fixture(autouse=True)
def no_errors(server: ThreadServer) -> Iterator[None]:
    """Neither errors nor warnings get into the log."""
    server.log.truncate(server.log.seek(0))
    yield
    levels = {json.loads(line)["level"] for line in server.log.getvalue().splitlines()}
    assert levels <= {"info"}, server.log.getvalue()


@pytest.mark.usefixtures("impatient")
def test_headers_that_come_a_byte_at_a_time_are_cut_off(server: ThreadServer) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        answer = until_closed(connection, b"a")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in answer
    assert b"its headers arrived too slowly" in answer
    log_line(server, event="cut off", slow="headers")


@pytest.mark.usefixtures("impatient")
def test_the_headers_of_a_second_request_are_timed_too(server: ThreadServer) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /")
        answer = until_closed(connection, b"a")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in answer


@pytest.mark.usefixtures("impatient")
def test_a_connection_that_sends_nothing_is_closed_without_a_word(server: ThreadServer) -> None:
    with server.connect() as connection:
        assert until_closed(connection) == b""


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("path", [f"{API}/memories", "/mcp", "/login", "/new"])
def test_a_body_that_comes_a_byte_at_a_time_is_cut_off(server: ThreadServer, path: str) -> None:
    with server.connect() as connection:
        connection.sendall(HEAD % path.encode() + b"Content-Length: 1000\r\n\r\n{")
        answer = until_closed(connection, b" ")
    assert answer.startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 404 ")), answer
    status = int(answer.split()[1])
    log_line(server, event="request", method="POST", status=status)


def test_a_body_that_keeps_the_pace_is_taken(
    server: ThreadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BODY_S", 0.8)
    monkeypatch.setattr(connections, "SLOWEST", 10)
    body = json.dumps({"id": "steady", "title": "T" * 200}).encode()
    with server.connect() as connection:
        connection.sendall(SAVE + b"Content-Length: %d\r\n\r\n" % len(body))
        for start in range(0, len(body), 50):
            connection.sendall(body[start : start + 50])
            time.sleep(0.2)  # longer in all than a body may take without a pace
        assert connection.recv(65536).startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize("path", [f"{API}/memories", "/mcp", "/new"])
def test_a_client_that_leaves_while_it_sends_is_logged_as_such(
    server: ThreadServer, path: str
) -> None:
    with server.connect() as connection:
        connection.sendall(HEAD % path.encode() + b"Content-Length: 1000\r\n\r\n{")
    log_line(server, event="request", method="POST", status=connections.LEFT)


@pytest.mark.parametrize("by_tool", [False, True])
def test_a_client_that_leaves_before_its_answer_is_logged_as_such(
    server: ThreadServer, by_tool: bool
) -> None:
    """The request takes effect in any case."""
    title = f"Left {by_tool}"
    path, body, headers = f"{API}/memories", {"title": title}, {}
    if by_tool:
        path, body, headers = "/mcp", *tool_request("memory_save", title=title)
    raw = json.dumps(body).encode()
    headers |= {"Content-Length": str(len(raw))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with write_lock(server), server.connect() as connection:
        connection.sendall(HEAD % path.encode() + lines.encode() + b"\r\n" + raw)
        while not server.pools.calls[WRITES]:
            time.sleep(0.01)
        open_before = len(server.connections)
        connection.close()
        while len(server.connections) >= open_before:
            time.sleep(0.01)
    log_line(server, event="request", route=path, status=connections.LEFT)
    assert title in {memory.title for memory in server.engine.list()}
