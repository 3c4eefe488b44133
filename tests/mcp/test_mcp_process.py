"""`recollect mcp` as a process: what it prints, and that it goes when it should."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_sessions import RECOLLECT, environment, open_engine

from model_server import ModelServer
from patience import LONGEST_S, until
from recollect.settings import LockSettings
from recollect.vaults.keys import Keys, lock_vault, sealed_with, unlock_vault

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Running:
    """The process, spoken to line by line."""

    def __init__(self, home: Path, *told: str, **more: str) -> None:
        self.process = subprocess.Popen(
            [RECOLLECT, "mcp", *told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(home, **more),
            cwd=home,
        )
        self.send("initialize", INITIALIZE, 0)
        assert self.answer()["id"] == 0
        self.send("notifications/initialized")

    def send(self, method: str, params: object = None, id: int | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        message |= {"params": params} if params is not None else {}
        message |= {"id": id} if id is not None else {}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def search(self, query: str, id: int) -> None:
        self.send("tools/call", {"name": "memory_search", "arguments": {"query": query}}, id)

    def answer(self) -> Any:
        """The next line, which is a message of the protocol like every line."""
        assert self.process.stdout is not None
        message = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        return message

    def wait_for_end(self) -> tuple[int, bytes, bytes]:
        """Exit code, and what was still printed."""
        out, err = self.process.communicate(timeout=LONGEST_S)
        return self.process.returncode, out, err

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None


@contextmanager
def running(home: Path, *told: str, **more: str) -> Iterator[Running]:
    held = Running(home, *told, **more)
    try:
        yield held
    finally:
        held.process.kill()
        held.process.communicate()


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[ModelServer, dict[str, str]]]:
    """A remote model that has embedded one memory, and takes a minute for whatever is next."""
    with ModelServer() as server:
        more = {
            "RECOLLECT_EMBEDDING__PROVIDER": "openai",
            "RECOLLECT_EMBEDDING__MODEL": "toy",
            "RECOLLECT_EMBEDDING__BASE_URL": server.openai_url,
            "RECOLLECT_EMBEDDING__TIMEOUT_S": "60",
            "OPENAI_API_KEY": "key",
        }
        with open_engine(tmp_path, **more) as memory:
            memory.save(title="Tokens are refreshed hourly", text="By the gateway.")
            assert memory.embed_now() is None
        server.delay_s = 60.0
        server.requests.clear()
        yield server, more


Ending = Callable[[Running], object]
ENDINGS: dict[str, Ending] = {
    "closed": Running.close_stdin,
    "SIGTERM": lambda held: held.process.send_signal(signal.SIGTERM),
    "SIGINT": lambda held: held.process.send_signal(signal.SIGINT),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_it_ends_quietly_when_the_client_leaves_or_says_stop(tmp_path: Path, how: str) -> None:
    with running(tmp_path) as held:
        ENDINGS[how](held)
        assert held.wait_for_end() == (0, b"", b"")


@pytest.mark.parametrize("how", ["closed", "SIGTERM"])
def test_it_ends_while_a_search_waits_for_a_remote_model(
    tmp_path: Path, slow: tuple[ModelServer, dict[str, str]], how: str
) -> None:
    server, more = slow
    with running(tmp_path, **more) as held:
        held.search("how are tokens refreshed", 1)
        until(lambda: server.requests)
        ENDINGS[how](held)
        code, _, err = held.wait_for_end()
    assert (code, err) == (0, b"")


def test_a_cancelled_request_is_not_answered_and_the_next_one_is(
    tmp_path: Path, slow: tuple[ModelServer, dict[str, str]]
) -> None:
    server, more = slow
    with running(tmp_path, **more) as held:
        for id in range(1, 7):  # more than there are threads
            held.search(f"how are tokens refreshed {id}", id)
        until(lambda: server.requests)
        for id in range(1, 7):
            held.send("notifications/cancelled", {"requestId": id})
        held.send("ping", id=7)
        assert held.answer() == {"jsonrpc": "2.0", "id": 7, "result": {}}


PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdin.write(b'{"jsonrpc": "2.0", "id": 0, "method": "ping"}\\n')
child.stdin.flush()
print(child.stdout.readline(), flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_it_ends_when_its_client_is_killed(tmp_path: Path) -> None:
    """The server inherits its parent's standard error, which ends when both are gone."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, RECOLLECT, "mcp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
    )
    assert parent.stdout is not None
    assert b'"id":0' in parent.stdout.readline()
    parent.kill()
    _, err = parent.communicate(timeout=LONGEST_S)
    assert err == b""


def test_a_client_that_no_longer_reads_does_not_keep_it(tmp_path: Path) -> None:
    with running(tmp_path) as held:
        assert held.process.stdout is not None
        held.process.stdout.close()
        held.process.stdout = None
        held.send("ping", id=1)
        held.close_stdin()
        code, _, err = held.wait_for_end()
    assert (code, err) == (0, b"")


@pytest.mark.installed
def test_what_was_asked_before_the_input_ends_is_answered(tmp_path: Path) -> None:
    with running(tmp_path) as held:
        held.search("tokens", 1)
        held.close_stdin()
        code, out, _ = held.wait_for_end()
    assert (code, json.loads(out)["id"]) == (0, 1)
    assert json.loads(out)["result"]["structuredContent"]["results"] == []


PARSE_ERROR, INVALID_REQUEST = -32700, -32600
# A line that is no message → the id and the code of the answer.
NO_MESSAGES = {
    b"hello": (None, PARSE_ERROR),
    b"\xff\xfe": (None, PARSE_ERROR),
    b'{"id": 1': (None, PARSE_ERROR),
    b"[" * 100_000: (None, PARSE_ERROR),
    b'{"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"a": "\\ud800"}}': (2, PARSE_ERROR),
    b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}': (None, PARSE_ERROR),
    b"[]": (None, INVALID_REQUEST),
    b'{"jsonrpc": "2.0"}': (None, INVALID_REQUEST),
    b'{"jsonrpc": "2.0", "id": 0, "method": 5}': (0, INVALID_REQUEST),
    b'{"jsonrpc": "2.0", "id": true, "method": 5}': (None, INVALID_REQUEST),
}


def test_a_line_that_is_no_message_gets_an_error_and_a_blank_one_none(tmp_path: Path) -> None:
    with running(tmp_path) as held:
        assert held.process.stdin is not None
        for line, (id, code) in NO_MESSAGES.items():
            held.process.stdin.write(b"\n" + line + b"\n")
            held.process.stdin.flush()
            answer = held.answer()
            assert (answer["id"], answer["error"]["code"]) == (id, code), line[:80]
        held.send("ping", id=1)
        assert held.answer()["id"] == 1
        held.close_stdin()
        assert held.wait_for_end() == (0, b"", b"")


def test_one_client_may_ask_many_things_at_once(tmp_path: Path) -> None:
    with open_engine(tmp_path) as memory:
        memory.save(title="Tokens are refreshed hourly")
    with running(tmp_path) as held:
        for id in range(1, 41):
            held.search("tokens", id)
        answers = [held.answer() for _ in range(40)]
    assert sorted(answer["id"] for answer in answers) == list(range(1, 41))
    assert all(answer["result"]["structuredContent"]["results"] for answer in answers)


def test_two_servers_share_a_vault(tmp_path: Path) -> None:
    with running(tmp_path) as one, running(tmp_path) as other:
        told = {"name": "memory_save", "arguments": {"id": "shared", "title": "Seen by both"}}
        one.send("tools/call", told, 1)
        assert one.answer()["result"]["structuredContent"]["outcome"] == "added"
        other.search("seen by both", 1)
        [result] = other.answer()["result"]["structuredContent"]["results"]
    assert result["id"] == "shared"


def test_wrong_usage_is_said_on_stderr(tmp_path: Path) -> None:
    done = subprocess.run(
        [RECOLLECT, "mcp", "--project", "a", "--here"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(tmp_path),
        timeout=LONGEST_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"not allowed with" in done.stderr
    assert b"Traceback" not in done.stderr


def sentence_of(server: Running, id: int) -> str:
    """The sentence with which the next search is refused."""
    server.search("tokens", id)
    result = server.answer()["result"]
    assert result["isError"]
    [content] = result["content"]
    return str(content["text"])


def test_with_a_mistake_in_the_settings_each_tool_says_so_until_it_is_mended(
    tmp_path: Path,
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[search]\nrecipes = "x"\n')
    with running(tmp_path) as server:
        server.send("tools/list", id=1)
        assert "memory_search" in {tool["name"] for tool in server.answer()["result"]["tools"]}
        sentence = sentence_of(server, 2)
        assert "search.recipes is not a setting" in sentence
        assert str(config) in sentence
        server.send("resources/read", {"uri": "recollect://memory/x"}, 3)
        assert server.answer()["error"]["message"] == sentence
        config.write_text("")
        server.search("tokens", 4)
        assert server.answer()["result"]["structuredContent"]["results"] == []


def test_of_a_locked_vault_each_tool_says_so_until_it_is_unlocked(tmp_path: Path) -> None:
    path, keys = tmp_path / "vault.db", Keys(LockSettings(), {}, "correct horse battery")
    open_engine(tmp_path).close()
    lock_vault(path, keys, lambda: sealed_with("correct horse battery"))
    with running(tmp_path) as server:
        assert f"The vault {path} is locked" in sentence_of(server, 1)
        unlock_vault(path, keys)
        server.search("tokens", 2)
        assert server.answer()["result"]["structuredContent"]["results"] == []


def test_here_is_the_project_named_after_the_working_directory(tmp_path: Path) -> None:
    home = tmp_path / "lighthouse"
    home.mkdir()
    with running(home, "--here") as held:
        told = {"name": "memory_save", "arguments": {"id": "lamp", "title": "The lamp is LED"}}
        held.send("tools/call", told, 1)
        held.answer()
    with open_engine(home) as memory:
        assert memory.show(["lamp"])[0].project == "lighthouse"


def test_here_is_the_project_that_claude_code_has_open(tmp_path: Path) -> None:
    project = tmp_path / "beacon"
    project.mkdir()
    with running(tmp_path, "--here", CLAUDE_PROJECT_DIR=str(project)) as server:
        told = {"name": "memory_save", "arguments": {"id": "lamp", "title": "The lamp is LED"}}
        server.send("tools/call", told, 1)
        server.answer()
    with open_engine(tmp_path) as memory:
        assert memory.show(["lamp"])[0].project == "beacon"


def test_a_relative_home_is_refused_in_a_sentence_and_nothing_is_made(tmp_path: Path) -> None:
    with running(tmp_path, RECOLLECT_HOME="vault") as server:
        sentence = sentence_of(server, 1)
    assert sentence.startswith("RECOLLECT_HOME is vault, which depends on the folder")
    assert not (tmp_path / "vault").exists()
