"""Make recorded calls through the command line, HTTP, MCP and Python.

A call is one line of a table in `calls/`:

    cli     search "token refresh" --recipe vault --json
    http    POST /search {"query": "token refresh"}
    mcp     memory_search {"query": "token refresh"}
    python  search("token refresh", recipe="vault")

Each interface is a context manager that yields a function from (time, line) to JSON.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
from commandline import Home
from http_thread import threaded_server
from mcp_sessions import McpSession, connect, text_of

from recollect import Recollect
from recollect.errors import RecollectError
from recollect.interfaces.mcp.server import build
from recollect.settings_reading import load_settings
from recollect.types import Filter, Memory

API = "/api/v1"
Call = Callable[[str, str], Any]


class Clock:
    """A clock that shows the time of the current call."""

    at = datetime.min

    def __call__(self) -> datetime:
        return self.at

    def set(self, now: str) -> None:
        self.at = datetime.fromisoformat(now)


def json_or_lines(text: str) -> Any:
    """Return the text as JSON, else as a list of lines: a difference then names the line."""
    try:
        return json.loads(text)
    except ValueError:
        return text.splitlines()


@contextmanager
def command_line(home: Home) -> Iterator[Call]:
    def call(now: str, line: str) -> Any:
        words, *stdin = line.split(" <<< ")
        given = stdin[0].encode() if stdin else b""
        ran = home.call(*shlex.split(words), stdin=given, using={"RECOLLECT_NOW": now})
        answer = {"code": ran.code, "out": json_or_lines(ran.out), "err": json_or_lines(ran.err)}
        return {name: value for name, value in answer.items() if value}

    yield call


@contextmanager
def http(home: Home) -> Iterator[Call]:
    clock = Clock()
    with threaded_server(home.folder, clock=clock, more=home.environment) as server:

        def call(now: str, line: str) -> Any:
            clock.set(now)
            method, path, *body = line.split(" ", 2)
            place = path if path.startswith("/_") else API + path
            sent = json.loads(body[0]) if body else None
            answer = server.client.request(method, place.replace("/_", "/"), json=sent)
            server.engine.embed_now()
            told = {"status": answer.status_code, "body": json_or_lines(answer.text)}
            headers = {name: answer.headers[name] for name in ("etag",) if name in answer.headers}
            return told | headers

        yield call


def tool_answer(session: McpSession, name: str, given: dict[str, Any]) -> Any:
    result = session.call(name, **given)
    text = json_or_lines(text_of(result))
    if result.is_error:
        return {"error": text}
    if text == result.structured_content:
        return {"answer": text}
    return {"answer": result.structured_content, "text": text}


@contextmanager
def mcp(home: Home) -> Iterator[Call]:
    clock = Clock()
    with opened(home, clock) as engine, connect(build(lambda ctx: engine), "2026-07-28") as session:

        def call(now: str, line: str) -> Any:
            clock.set(now)
            name, _, given = line.partition(" ")
            if name == "tools":
                return {"tools": sorted(session.tools)}
            if name == "resource":
                read = session.ask(session.client.read_resource, given)
                return {
                    "contents": [json_or_lines(getattr(one, "text", "")) for one in read.contents]
                }
            if name == "prompt":
                made = session.ask(session.client.get_prompt, "recall", json.loads(given))
                return {"messages": [getattr(one.content, "text", "") for one in made.messages]}
            answer = tool_answer(session, name, json.loads(given or "{}"))
            engine.embed_now()
            return answer

        yield call


@contextmanager
def python(home: Home) -> Iterator[Call]:
    clock = Clock()
    with opened(home, clock) as engine:
        names = {"Filter": Filter, "at": datetime.fromisoformat, "days": _days}

        def call(now: str, line: str) -> Any:
            clock.set(now)
            try:
                answer = eval(f"memory.{line}", names | {"memory": engine})
            except RecollectError as error:
                return {"error": type(error).__name__, "message": str(error)}
            finally:
                engine.embed_now()
            return plain(answer)

        yield call


def _days(number: float) -> timedelta:
    return timedelta(days=number)


def opened(home: Home, clock: Clock) -> Recollect:
    told = home.environment
    settings = load_settings(home.folder, told)
    return Recollect(home=home.folder, settings=settings, environment=told, clock=clock)


def plain(value: Any, inside: bool = False) -> Any:
    """Return a library's value as JSON, without what is empty. A memory inside another value, such
    as a search result, is its id: other calls show it whole."""
    if isinstance(value, Memory) and inside:
        return value.id
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    elif is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    elif isinstance(value, Enum):
        value = value.value
    if isinstance(value, Mapping):
        made = {str(name): plain(each, True) for name, each in value.items()}
        return {name: each for name, each in made.items() if each not in (None, "", [], {})}
    if isinstance(value, list | tuple | Iterator):
        return [plain(each, inside) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(each, inside) for each in value)
    if isinstance(value, datetime | Path):
        return str(value)
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


INTERFACES = {"cli": command_line, "http": http, "mcp": mcp, "python": python}
