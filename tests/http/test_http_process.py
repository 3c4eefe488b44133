"""`recollect serve` as a process: how it starts, what it logs, how it counts, how it ends."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from http_server import API, RECOLLECT, Server, environment, problem, refused_to_start, serving
from prometheus_client.parser import text_string_to_metric_families

from patience import until
from recollect import Recollect
from recollect.interfaces.sockets import listen_on_port
from recollect.version import __version__

CLIENTS = 16


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home")) as started:
        told = [{"title": f"Note {n}", "text": f"The tide of day {n} " * 30} for n in range(300)]
        assert started.post(f"{API}/memories", told).status_code == 200
        yield started


# Starting


def test_the_first_line_says_which_vault_is_served_and_where(server: Server) -> None:
    assert str(server.home / "vault.db") in server.first_line
    assert f"http://127.0.0.1:{server.port}/ " in server.first_line


def test_a_port_that_is_taken_is_told_in_one_line(server: Server, tmp_path: Path) -> None:
    told = refused_to_start(tmp_path, "--port", str(server.port))
    assert str(server.port) in told


@pytest.mark.parametrize("port", ["-1", "99999999999999999999"])
def test_a_port_that_cannot_be_is_told_in_one_line(tmp_path: Path, port: str) -> None:
    assert port in refused_to_start(tmp_path, "--port", port)


@pytest.mark.parametrize("host", ["192.0.2.1", "a..b"])
def test_an_address_that_is_not_this_machines_is_told_in_one_line(
    tmp_path: Path, host: str
) -> None:
    told = refused_to_start(tmp_path, "--host", host, RECOLLECT_TOKEN="a-long-enough-token")
    assert host in told


def test_a_vault_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "vault.db").write_bytes(b"no database at all" * 1000)
    assert "vault.db" in refused_to_start(tmp_path, "--port", "0")


def test_a_short_answer_is_sent_at_once() -> None:
    """asyncio switches Nagle's delay off where a socket says that it is TCP, and only there; with
    the delay, an answer on a kept connection comes 40 ms later."""
    with listen_on_port("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux sets limits of a process")
def test_more_connections_than_descriptors_make_one_line_of_log(tmp_path: Path) -> None:
    """asyncio tries and logs as often as its backlog is long, and again each second."""
    with serving(tmp_path / "home") as server, ExitStack() as clients:
        assert server.get("/healthz").status_code == 200
        descriptors = len([*Path(f"/proc/{server.process.pid}/fd").iterdir()])
        limit = descriptors + 10
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
        for _ in range(30):
            clients.enter_context(socket.create_connection((server.host, server.port)))
        until(lambda: "no file descriptor" in server.log_text())
        clients.close()
        with server.new_client() as another:
            assert another.get("/healthz").status_code == 200
        told = [line for line in server.log() if "descriptor" in line["event"]]
        assert [line["failed"] for line in told] == [1]
        assert "Traceback" not in server.log_text()
        assert len(server.log_text()) < 10_000


# Ending


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGTERM, 0, id="SIGTERM"),
        pytest.param(signal.SIGINT, 130, id="SIGINT", marks=pytest.mark.installed),
    ],
)
def test_a_signal_ends_the_server_soon_and_leaves_no_child(
    tmp_path: Path, number: int, code: int
) -> None:
    with serving(tmp_path / "home") as server:
        id = server.save(title="Written before the end")
        started = time.monotonic()
        assert server.stop(number) == code
        assert time.monotonic() - started < 30
        with pytest.raises(ProcessLookupError):
            os.killpg(server.process.pid, 0)
        assert "Traceback" not in server.log_text()
    with Recollect(tmp_path / "home" / "vault.db", home=tmp_path / "home") as memory:
        assert [one.id for one in memory.list()] == [id]


def test_a_client_that_keeps_its_connection_open_does_not_hold_the_server_back(
    tmp_path: Path,
) -> None:
    with (
        serving(tmp_path / "home") as server,
        socket.create_connection((server.host, server.port)) as idle,
    ):
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(12) == b"HTTP/1.1 200"
        started = time.monotonic()
        server.stop(signal.SIGINT)
        assert time.monotonic() - started < 30


def test_a_signal_during_the_start_ends_the_server_too(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [RECOLLECT, "serve", "--port", "0"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    with process, process.stdout as stream:
        stream.readline()  # the address is told before the server answers
        process.terminate()
        process.wait(60)


# Logs

RARE = ("zyxomma", "quagswagging", "wheatgrass-sallow", "frobnicate", "brobdingnag", "xanthippe")


def test_the_log_holds_nothing_of_memories_queries_titles_and_ids(server: Server) -> None:
    title, text, tag, query, project, other = RARE
    id = server.save(title=title, text=text, tags=[tag], project=project)
    assert title in id
    server.get(f"{API}/memories/{id}")
    server.patch(id, {"why": other})
    server.get(f"{API}/search", params={"q": query, "project": project})
    server.search(query, tags=[tag], explain=True)
    server.get(f"{API}/context", params={"q": query})
    server.get("/", params={"q": query})
    server.get(f"/memory/{id}")
    server.post(f"{API}/feedback", {"query": query, "id": id, "accepted": True})
    problem(server.post(f"{API}/memories", {"title": title, other: "x"}), 400, other)
    problem(server.get(f"{API}/memories/{other}"), 404, other)
    server.get(f"/{other}")
    server.log_lines(server.client.delete(f"{API}/memories/{id}"))
    told = server.log_text()
    for word in RARE:
        assert word not in told


def test_each_request_is_one_line_of_json_with_its_id(server: Server) -> None:
    answer = server.get(f"{API}/memories/nobody")
    [line] = server.log_lines(answer)
    assert (line["level"], line["event"]) == ("info", "request")
    assert (line["method"], line["status"]) == ("GET", 404)
    assert line["route"] == f"{API}/memories/{{id:path}}"
    assert line["ms"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["time"])


def test_bytes_that_are_no_request_do_not_get_into_the_log(server: Server) -> None:
    server.raw(b"XANTHIPPE /zyxomma\n\n")
    assert "zyxomma" not in server.log_text().lower()


# State


def test_the_server_says_that_it_is_alive_and_ready(server: Server) -> None:
    assert server.get("/healthz").json() == {"status": "ok", "version": __version__}
    give_up = time.monotonic() + 60
    while (answer := server.get("/readyz")).status_code == 503:
        assert answer.json()["reason"]
        assert time.monotonic() < give_up
        time.sleep(0.05)
    parts = {"models": "ok", "database": "ok"}
    assert answer.json() == {"status": "ready", "version": __version__, "dependencies": parts}


def test_health_is_told_while_many_search_at_once(server: Server) -> None:
    """All are answered, and none with an error."""

    def searching(n: int) -> int:
        with server.new_client() as client:
            body = {"query": f"the tide of day {n} note", "limit": 50, "explain": True}
            return client.post(f"{API}/search", json=body).status_code

    def asking(n: int) -> int:
        with server.new_client() as client:
            return client.get("/healthz").status_code

    with ThreadPoolExecutor(CLIENTS + 4) as threads:
        searches = threads.map(searching, range(CLIENTS * 2))
        health = threads.map(asking, range(CLIENTS))
        assert set(searches) == {200}
        assert set(health) == {200}


def test_saving_and_searching_at_once_loses_nothing(server: Server) -> None:
    def turn(n: int) -> tuple[int, int]:
        with server.new_client() as client:
            told = {"id": f"at-once-{n}", "title": f"Gale {n}", "project": "at-once"}
            saved = client.post(f"{API}/memories", json=told)
            return saved.status_code, client.get(f"{API}/search", params={"q": "gale"}).status_code

    with ThreadPoolExecutor(CLIENTS) as threads:
        assert set(threads.map(turn, range(CLIENTS * 2))) == {(201, 200)}
    assert len(server.list_ids(project="at-once")) == CLIENTS * 2


def samples(server: Server) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    answer = server.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_metrics_count_requests_and_the_stages_of_searches(server: Server) -> None:
    def searches(stage: str) -> float:
        labels = frozenset({("recipe", "vault"), ("stage", stage)})
        return samples(server).get(("recollect_search_stage_seconds_count", labels), 0.0)

    before = searches("total")
    response = server.search("tide", recipe="vault")
    assert searches("total") == before + 1
    for stage in response["timings_ms"]:
        assert searches(stage) >= 1
    told = samples(server)
    labels = {"method": "POST", "route": f"{API}/search", "status": "200"}
    assert told["recollect_requests_total", frozenset(labels.items())] >= 1
    assert told["recollect_memories", frozenset()] >= 300
    assert told["recollect_vectors_waiting", frozenset()] == 0
    degraded = frozenset({("recipe", "vault"), ("part", "vector")})
    assert told["recollect_search_degraded_total", degraded] >= 1


def test_metrics_do_not_grow_with_made_up_methods_and_addresses(server: Server) -> None:
    for n in range(5):
        server.client.request(f"METHOD{n}", f"/made-up/{n}")
        server.get(f"{API}/memories/made-up-{n}")
    told = {labels for _, labels in samples(server)}
    assert not [labels for labels in told if "made-up" in str(labels) or "METHOD" in str(labels)]


def test_metrics_tell_no_words_of_memories_or_queries(server: Server) -> None:
    server.save(title="gallimaufry")
    server.search("gallimaufry")
    assert "gallimaufry" not in server.get("/metrics").text


# Several workers


def children(server: Server) -> list[int]:
    listed = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    return sorted(map(int, listed.read_text().split()))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="There is no /proc here.")
def test_workers_serve_one_vault_count_together_and_end_together(tmp_path: Path) -> None:
    with serving(tmp_path / "home", "--workers", "2") as server:
        until(lambda: len(children(server)) == 2)
        for number in range(6):
            with server.new_client() as client:  # each connection may be another worker's
                saved = client.post(f"{API}/memories", json={"title": f"Note {number}"})
                assert saved.status_code == 201, saved.text
            with server.new_client() as client:
                assert len(client.get(f"{API}/memories").json()["memories"]) == number + 1
        labels = {"method": "POST", "route": f"{API}/memories", "status": "201"}
        assert samples(server)["recollect_requests_total", frozenset(labels.items())] == 6
        up = samples(server)["recollect_dependency_up", frozenset({("dependency", "database")})]
        assert up == 1
        first = children(server)[0]
        os.kill(first, signal.SIGKILL)
        until(lambda: len(children(server)) == 2 and first not in children(server))
        with server.new_client() as client:
            assert client.get("/healthz").status_code == 200
        assert server.stop() == 0
        with pytest.raises(ProcessLookupError):
            os.killpg(server.process.pid, 0)
        assert "Traceback" not in server.log_text()


@pytest.mark.parametrize("count", ["0", "65"])
def test_a_number_of_workers_that_cannot_be_is_told_in_one_line(tmp_path: Path, count: str) -> None:
    assert "--workers needs a number" in refused_to_start(tmp_path, "--workers", count)
