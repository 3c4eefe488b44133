"""The server as a program meets it: `recollect serve` in a process of its own, on a free port.

No model takes part, and nothing of the machine's own settings leaks in.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2

RECOLLECT = str(Path(sys.executable).with_name("recollect"))
NOW = "2026-03-01T12:00:00Z"
LONGEST_S = 60  # far beyond what any request needs; a hanging one shall fail its test
API = "/api/v1"
SECRET = "a-token-of-twenty-nine-letters"


def environment(home: Path, **more: str) -> dict[str, str]:
    """The options of a server."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_EMBEDDING__PROVIDER": "none",
        "RECOLLECT_RERANK__PROVIDER": "none",
        **more,
    }


class Server:
    """One that runs. `client` asks it as a program does, `raw` with bytes of any kind."""

    def __init__(self, process: subprocess.Popen[str], home: Path, told: Path) -> None:
        assert process.stdout is not None
        self.process = process
        self.home = home
        self._told = told
        self.first_line = process.stdout.readline()
        assert "http://" in self.first_line, told.read_text()
        self.url = next(word for word in self.first_line.split() if word.startswith("http://"))
        self.url = self.url.rstrip("/")
        address = httpx2.URL(self.url)
        assert address.port is not None
        self.host, self.port = address.host, address.port
        self.client = self.new_client()

    def new_client(self) -> httpx2.Client:
        # Plain HTTP: else each client would load all certificates of the machine.
        return httpx2.Client(base_url=self.url, timeout=LONGEST_S, trust_env=False, verify=False)

    def get(self, path: str, **more: Any) -> httpx2.Response:
        return self.client.get(path, **more)

    def post(self, path: str, body: object = None, **more: Any) -> httpx2.Response:
        return self.client.post(path, json=body, **more)

    def patch(self, id: str, body: object, **headers: str) -> httpx2.Response:
        """Change a memory; `If_Match` is sent as the header `If-Match`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.patch(f"{API}/memories/{id}", json=body, headers=named)

    def save(self, **fields: object) -> str:
        """The id of a new memory."""
        answer = self.post(f"{API}/memories", fields)
        assert answer.status_code == 201, answer.text
        id: str = answer.json()["id"]
        return id

    def show(self, id: str) -> httpx2.Response:
        return self.get(f"{API}/memories/{id}")

    def etag(self, id: str) -> str:
        return self.show(id).headers["etag"]

    def list_ids(self, **parameters: Any) -> list[str]:
        """The ids of one page."""
        answer = self.get(f"{API}/memories", params=parameters)
        assert answer.status_code == 200, answer.text
        return [memory["id"] for memory in answer.json()["memories"]]

    def search(self, query: str, **fields: object) -> Any:
        answer = self.post(f"{API}/search", {"query": query, **fields})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def found(self, query: str, **fields: object) -> list[str]:
        return [result["id"] for result in self.search(query, **fields)["results"]]

    def raw(self, request: bytes) -> tuple[int, bytes]:
        """The status and all that comes back for these bytes, each newline sent as CRLF."""
        with socket.create_connection((self.host, self.port), LONGEST_S) as connection:
            connection.sendall(request.replace(b"\n", b"\r\n"))
            answer = bytearray()
            with suppress(ConnectionResetError):
                while piece := connection.recv(65536):
                    answer += piece
        return int(answer.split()[1]), bytes(answer)

    def log(self) -> list[Any]:
        """The lines of the log, each a JSON object."""
        whole = [line for line in self.log_text().splitlines(True) if line.endswith("\n")]
        return [json.loads(line) for line in whole]

    def log_text(self) -> str:
        return self._told.read_text(encoding="utf-8")

    def log_lines(self, answer: httpx2.Response) -> list[Any]:
        """The lines about that request, which are written once its answer is sent."""
        give_up = time.monotonic() + LONGEST_S
        while True:
            about = [one for one in self.log() if one.get("id") == answer.headers["x-request-id"]]
            if about and about[-1]["event"] == "request":
                return about
            assert time.monotonic() < give_up, "It was never logged."
            time.sleep(0.01)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send it the signal; its exit code."""
        self.client.close()
        self.process.send_signal(number)
        code = self.process.wait(LONGEST_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@contextmanager
def serving(home: Path, *told: str, auth: str = "", **more: str) -> Iterator[Server]:
    """A server for that home, which asks for no token unless `auth`; `more` are further variables
    of its environment."""
    home.mkdir(exist_ok=True)
    log = home.parent / f"{home.name}.log"
    with log.open("a") as stderr:
        process = subprocess.Popen(
            [RECOLLECT, "serve", "--port", "0", *([] if auth else ["--no-auth"]), *told],
            env=environment(home, **more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,  # so that its children, if any, are known by its group
        )
    try:
        server = Server(process, home, log)
        try:
            yield server
        finally:
            if process.poll() is None:
                server.stop()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def refused_to_start(home: Path, *told: str, **more: str) -> str:
    """The one sentence with which `recollect serve` ends at once, with exit code 1."""
    done = subprocess.run(
        [RECOLLECT, "serve", *told],
        env=environment(home, **more),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("recollect: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def problem(answer: httpx2.Response, status: int, *holding: str) -> str:
    """The detail of a problem document, which is one as RFC 9457 wants it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert set(document) == {"type", "title", "status", "detail", "request_id"}
    assert document["type"] == "about:blank"
    assert document["title"] == document["title"].strip() != ""
    assert document["status"] == status
    assert document["request_id"] == answer.headers["x-request-id"] != ""
    detail: str = document["detail"]
    assert detail.endswith((".", "?")), detail
    assert "Traceback" not in detail
    for part in holding:
        assert part in detail, detail
    return detail
