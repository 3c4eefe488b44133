"""Events of the vault as they happen, from any process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from http_thread import ThreadServer, threaded_server

from patience import until
from recollect import Recollect
from recollect.auth.access import HomeAccess
from recollect.auth.capabilities import DELETE, SEARCH
from recollect.auth.credentials import Credentials
from recollect.auth.token_store import TokenStore, digest
from recollect.interfaces.http import service
from recollect.store.sqlite.connection import Database


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="module")
def access(home: Path) -> TokenStore:
    return TokenStore(HomeAccess(home))


@pytest.fixture(scope="module")
def credentials(access: TokenStore) -> Credentials:
    return Credentials([], access)


@pytest.fixture(scope="module")
def server(home: Path, credentials: Credentials) -> Iterator[ThreadServer]:
    with threaded_server(home, credentials) as running:
        yield running


@pytest.fixture(scope="module")
def agent(server: ThreadServer) -> Iterator[Recollect]:
    """Another process as far as the vault can tell: a store of its own."""
    own = server.engine
    with Recollect(
        home=own.home, settings=own.settings, environment={}, interface="mcp", client="an-agent"
    ) as opened:
        yield opened


class Events:
    """The events of a stream that is open."""

    def __init__(self, answer: httpx2.Response) -> None:
        self._lines = answer.iter_lines()

    def next(self) -> tuple[str, dict[str, Any]]:
        name = ""
        for line in self._lines:
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            if line.startswith("data: "):
                return name, json.loads(line.removeprefix("data: "))
        return "", {}


@contextmanager
def watching(server: ThreadServer, token: str = "", **parameters: str) -> Iterator[Events]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with server.client.stream("GET", "/live/events", params=parameters, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = Events(answer)
        assert events.next() == ("ready", {})
        yield events


def test_what_another_process_does_is_told_as_it_happens(
    server: ThreadServer, agent: Recollect
) -> None:
    with watching(server) as events:
        saved = agent.save(title="Quokkas sleep at noon", project="zoo")
        told = {"by": "an-agent", "count": 1, "ids": [saved.id]}
        assert events.next() == ("activity", {"action": "save", "write": True, **told})
        agent.search("quokkas")
        assert events.next() == ("activity", {"action": "search", "write": False, **told})
        agent.context("quokkas")
        assert events.next()[1]["action"] == "recall"
        agent.forget([saved.id])
        assert events.next() == ("activity", {"action": "forget", "write": True, **told})
        server.engine.forget([saved.id], undo=True)  # this process is followed, too
        assert events.next()[1] == {"action": "restore", "write": True, **told, "by": "library"}


def test_a_stream_is_of_one_project_and_one_client(server: ThreadServer, agent: Recollect) -> None:
    with watching(server, project="zoo", by="an-agent", rows="true") as events:
        server.engine.save(title="By somebody else", project="zoo")
        agent.save(title="Of something else", project="garden")
        agent.save(title="Wombats <b>dig</b>", project="zoo")
        _, told = events.next()
        assert "Wombats &lt;b&gt;dig&lt;/b&gt;" in told["html"]


def test_what_was_forgotten_is_named_to_who_may_bring_it_back(
    server: ThreadServer, agent: Recollect, access: TokenStore
) -> None:
    reader, _ = access.create({SEARCH}, name="reader")
    keeper, _ = access.create({SEARCH, DELETE}, name="keeper")
    gone = agent.save(title="A secret plan", project="plans")
    with watching(server, reader) as seen, watching(server, keeper, rows="true") as all_of_it:
        agent.forget([gone.id])
        assert seen.next()[1]["ids"] == []
        assert all_of_it.next()[1]["ids"] == [gone.id]
    page = server.client.get("/live", headers={"Authorization": f"Bearer {reader}"})
    assert "forgot" in page.text
    assert "A secret plan" not in page.text


def test_a_stream_ends_with_the_session_that_it_was_opened_in(
    server: ThreadServer, agent: Recollect, access: TokenStore, credentials: Credentials
) -> None:
    token, _ = access.create({SEARCH}, name="visitor")
    secret, check = credentials.begin_session(digest(token), "")
    assert check.session is not None
    assert credentials.sessions is not None
    cookie = {"Cookie": f"recollect_{server.port}_{credentials.home_mark}={secret}"}
    with server.client.stream("GET", "/live/events", headers=cookie) as answer:
        events = Events(answer)
        assert events.next()[0] == "ready"
        credentials.sessions.end([check.session.id])
        agent.save(title="Nobody sees this")
        name, told = events.next()
        assert (name, told) == ("over", {"why": "You are no longer logged in here."})
        assert events.next() == ("", {})


def test_too_many_streams_are_refused_in_a_sentence(
    server: ThreadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(lambda: server.feed._watching == 0)  # those of other tests have left
    monkeypatch.setattr(service, "MOST_WATCHING", 1)
    with watching(server):
        answer = server.client.get("/live/events")
        assert answer.status_code == 503
        assert "live pages are open already" in answer.json()["detail"]
    until(lambda: server.feed._watching == 0)
    with watching(server):
        pass


def test_pages_are_compressed_and_streams_are_not(server: ThreadServer) -> None:
    page = server.client.get("/browse", headers={"Accept-Encoding": "gzip"})
    assert page.headers["content-encoding"] == "gzip"
    assert int(page.headers["content-length"]) < len(page.content) / 2
    headers = {"Accept-Encoding": "gzip"}
    with server.client.stream("GET", "/live/events", headers=headers) as answer:
        assert "content-encoding" not in answer.headers
        assert Events(answer).next() == ("ready", {})


def test_a_stream_says_that_the_vault_is_locked_and_opens_none(
    server: ThreadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(server) as events:
        monkeypatch.setattr(Database, "at_rest", property(lambda self: True), raising=False)
        assert events.next() == ("locked", {"why": "The vault is locked."})
        assert events.next() == ("", {})
    answer = server.client.get("/live/events", params={"once": "true"})
    assert "event: locked" in answer.text
    assert "event: ready" not in answer.text


def test_streams_end_when_the_server_does(tmp_path: Path) -> None:
    with threaded_server(tmp_path) as server:
        opened = server.client.stream("GET", "/live/events")
        events = Events(opened.__enter__())
        assert events.next()[0] == "ready"
        server.feed.stop()
        assert events.next() == ("", {})
        opened.__exit__(None, None, None)
