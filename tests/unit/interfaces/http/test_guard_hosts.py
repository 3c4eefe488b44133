"""The Host and Origin headers that the guard accepts, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.auth.access import HomeAccess
from recollect.auth.audit import Audit
from recollect.auth.credentials import Credentials
from recollect.interfaces.http.guard import Guard
from recollect.interfaces.http.problems import ProblemResponses
from recollect.interfaces.web.rendering import problem_page

# Each looks like one of the server's names to a parser that reads only its beginning or its end.
HOSTILE = [
    "[::1]evil.com", "[::1]evil.com:7117", "[::1].evil.com", "[::1]@evil.com",
    "[::1]:7117@evil.com", "[::1]:7117.evil.com", "[::1", "::1", "::1]", "[::1]]",
    "[[::1]]", "[::1%25lo]", "[::1]:", "[]",
    "[127.0.0.1]", "[localhost]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]",
    "localhost:evil.com", "localhost:7117:evil.com", "localhost:7117evil", "localhost:-1",
    "localhost:123456", "localhost#evil.com", "localhost?evil.com", "localhost/evil.com",
    "localhost\\evil.com", "localhost@evil.com", "evil.com@localhost", "user:pass@localhost",
    "localhost evil.com", "localhost,evil.com", "localhost;evil.com", "localhost\tevil.com",
    "localhost..", ".localhost", "localhost.evil.com", "evil-localhost", "localhostevil.com",
    "127.0.0.1.evil.com", "127.0.0.1evil.com", "127.0.0.1:7117.evil.com", "127.1", "2130706433",
    "0x7f.0.0.1", "0177.0.0.1", "127.0.0.01", "127.0.0.2", "0.0.0.0", "0", "", ".", ":", ":7117",
    "loc%61lhost", "localhost%00", "localhost\x00", "\uff4cocalhost", "localho\u017ft", "evil.com",
]  # fmt: skip
KNOWN = [
    "localhost", "localhost:7117", "LOCALHOST:7117", "localhost.", "localhost.:7117", "127.0.0.1",
    "127.0.0.1:7117", "[::1]", "[::1]:7117", "memory.lan", "Memory.LAN:80", "[fe80::7]:7117",
]  # fmt: skip
FOREIGN = [
    "http://evil.com", "http://localhost:7118", "http://localhost", "null", "", "localhost:7117",
    "http://localhost:7117.evil.com", "http://localhost:7117@evil.com", "http://[::1]evil.com",
    "ftp://localhost:7117", "http://localhost:7117/", "http://localhost:7117 http://evil.com",
    "javascript://localhost:7117", "http:///localhost:7117", "http://127.0.0.1:7117",
]  # fmt: skip


class Door:
    """The guard before an application that lets everybody in."""

    def __init__(self, home: Path) -> None:
        self.audit = Audit(HomeAccess(home))
        self._guard = Guard(
            self._inside, names=["fe80::7", "memory.lan", "not a name", ""],
            credentials=Credentials(), audit=self.audit,
            problems=ProblemResponses(problem_page),
        )  # fmt: skip

    async def _inside(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    def status(self, host: str, **headers: str) -> int:
        """The status of a request with these headers, as bytes on the wire become text."""
        sent = [
            (name.encode(), value.encode().decode("latin-1").encode("latin-1"))
            for name, value in {"host": host, **headers}.items()
        ]
        answers: list[Any] = []

        async def send(message: Any) -> None:
            answers.append(message)

        scope = {
            "type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"",
            "headers": sent, "server": ("127.0.0.1", 7117), "scheme": "http", "root_path": "",
        }  # fmt: skip
        asked = self._guard(scope, None, send)  # type: ignore[arg-type]
        with pytest.raises(StopIteration):  # it waits for nothing, so it needs no event loop:
            asked.send(None)  # the browser's tests may have left one running in this thread
        status: int = answers[0]["status"]
        return status


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def test_hosts_that_only_resemble_the_server_are_refused(door: Door) -> None:
    assert [host for host in HOSTILE if door.status(host) != 421] == []
    assert next(door.audit.entries())["outcome"] == "refused"


def test_hosts_that_the_server_goes_by_are_let_in(door: Door) -> None:
    assert [host for host in KNOWN if door.status(host) != 200] == []


def test_origins_that_only_resemble_the_server_are_refused(door: Door) -> None:
    assert [
        origin for origin in FOREIGN if door.status("localhost:7117", origin=origin) != 403
    ] == []
    for origin in ("http://localhost:7117", "https://localhost:7117", "HTTP://LOCALHOST:7117"):
        assert door.status("localhost:7117", origin=origin) == 200
