"""The four interfaces, each with the same few methods: library, command line, MCP and HTTP.

A method returns the JSON of its interface or raises `Refused`. Where an interface answers in its
own form, more is requested from it, so that the same can be compared.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2
import mcp_types as mcp
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.interfaces.cli.main import main
from recollect.memory_json import memory_json
from recollect.present.agent_context import context_json
from recollect.present.response import as_json
from recollect.query.time.moments import read_time
from recollect.settings_reading import load_settings
from recollect.types import Filter, Search

RECOLLECT = str(Path(sys.executable).with_name("recollect"))
API = "/api/v1"
LONGEST_S = 60


class Refused(Exception):
    """The interface refused the request with this sentence."""


def _without_similar(saved: dict[str, Any]) -> dict[str, Any]:
    """Leave out similar memories: they are found only once the model is loaded."""
    saved.pop("similar", None)
    return saved


class Library:
    def __init__(self, engine: Recollect) -> None:
        self._engine = engine

    def _narrow(self, asked: Mapping[str, Any]) -> Filter:
        told = {name: asked[name] for name in Filter.__struct_fields__ if name in asked}
        for name in ("since", "until"):
            if name in told:
                told[name] = read_time(told[name], self._engine.now(), name)
        return Filter(**told)

    def _then(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        text = asked.get("as_of")
        return {"as_of": read_time(text, self._engine.now(), "as_of")} if text else {}

    def save(self, fields: dict[str, Any]) -> Any:
        [saved] = self._engine.save_all([make_draft(fields)])
        return {"id": saved.memory.id, "outcome": saved.outcome, "repeated": saved.repeated}

    def search(self, query: str, asked: dict[str, Any]) -> Any:
        told = {name: asked[name] for name in Search.__struct_fields__ if name in asked}
        told |= self._then(asked)
        found = self._engine.search(query, filter=self._narrow(asked), **told)
        return as_json(found, asked["explain"])

    def show(self, id: str, **asked: Any) -> Any:
        return memory_json(*self._engine.show([id], **self._then(asked)))

    def edit(self, id: str, changes: dict[str, Any]) -> Any:
        return memory_json(self._engine.edit(id, **changes))

    def supersede(self, old: str, new: str) -> Any:
        self._engine.supersede(old, new)
        return self.show(old)

    def merge(self, ids: list[str]) -> Any:
        self._engine.merge(ids)
        return self.show(ids[-1])

    def forget(self, id: str, undo: bool = False) -> Any:
        self._engine.forget([id], undo=undo)

    def feedback(self, query: str, id: str, accepted: bool) -> Any:
        counts = self._engine.feedback(query, id, accept=accepted)
        return dict(zip(("accepted", "dismissed"), counts, strict=True))

    def browse(self, narrow: dict[str, Any]) -> Any:
        found = self._engine.list(self._narrow(narrow), narrow["limit"], **self._then(narrow))
        return [memory_json(memory) for memory in found]

    def context(self, query: str, asked: dict[str, Any]) -> Any:
        told = {name: asked[name] for name in ("limit", "max_tokens")} | self._then(asked)
        return context_json(self._engine.context(query, filter=self._narrow(asked), **told))


class CommandLine:
    """`recollect … --json`, in this process."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment

    def _run(self, *told: str) -> Any:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with (
            mock.patch.dict(os.environ, self._environment, clear=True),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main([told[0], "--json", *told[1:]])
        written = []
        for stream in (out, err):
            stream.flush()
            stream.seek(0)
            written.append(stream.read())
        if code == 1 and not written[1]:
            assert written[0], "Nothing was found, and that is said."
        elif code != 0:
            assert (code, written[0]) == (1, "")
            # The message begins with the option: `--as-of`.
            message = json.loads(written[1])["message"]
            raise Refused(re.sub(r"^--[\w-]+", lambda at: at[0][2:].replace("-", "_"), message))
        return json.loads(written[0])

    def _options(self, told: Mapping[str, Any]) -> list[str]:
        """`tags=["a"]` as `--tag a`, and so on."""
        options = []
        for name, value in told.items():
            option = "--" + name.removesuffix("s" if name.endswith("tags") else "")
            option = option.replace("_", "-")
            if value is None:
                options += ["--clear", name]
            elif isinstance(value, bool):
                options += [option] if value else []
            else:
                for one in value if isinstance(value, list) else [value]:
                    options += [f"{option}={one}"]
        return options

    def save(self, fields: dict[str, Any]) -> Any:
        return _without_similar(self._run("save", *self._options(fields)))

    def search(self, query: str, asked: dict[str, Any]) -> Any:
        return self._run("search", *self._options(asked), "--", query)

    def show(self, id: str, **asked: Any) -> Any:
        [memory] = self._run("show", id, *self._options(asked))
        return memory

    def edit(self, id: str, changes: dict[str, Any]) -> Any:
        return self._run("edit", id, *self._options(changes))

    def supersede(self, old: str, new: str) -> Any:
        self._run("supersede", old, new)
        return self.show(old)

    def merge(self, ids: list[str]) -> Any:
        self._run("merge", *ids)
        memory = self.show(ids[-1])
        for name in ("asked", "replaces"):  # no other interface has them
            memory.pop(name, None)
        return memory

    def forget(self, id: str, undo: bool = False) -> Any:
        done = self._run("forget", id, *self._options({"undo": undo}))
        assert done == {"restored" if undo else "forgotten": [id]}

    def feedback(self, query: str, id: str, accepted: bool) -> Any:
        return self._run("feedback", query, id, "--accept" if accepted else "--dismiss")

    def browse(self, narrow: dict[str, Any]) -> Any:
        return self._run("list", *self._options(narrow))

    def context(self, query: str, asked: dict[str, Any]) -> Any:
        return self._run("context", query, *self._options(asked))


class Http:
    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def _ask(self, method: str, path: str, **told: Any) -> Any:
        answer = self._client.request(method, API + path, **told)
        if answer.is_error:
            assert answer.headers["content-type"] == "application/problem+json"
            raise Refused(answer.json()["detail"])
        return answer.json() if answer.content else None

    def save(self, fields: dict[str, Any]) -> Any:
        return _without_similar(self._ask("POST", "/memories", json=fields))

    def search(self, query: str, asked: dict[str, Any]) -> Any:
        return self._ask("POST", "/search", json={"query": query, **asked})

    def show(self, id: str, **asked: Any) -> Any:
        return self._ask("GET", f"/memories/{id}", params=asked)

    def edit(self, id: str, changes: dict[str, Any]) -> Any:
        return self._ask("PATCH", f"/memories/{id}", json=changes)

    def supersede(self, old: str, new: str) -> Any:
        self._ask("POST", f"/supersede/{old}", json={"by": new})
        return self.show(old)

    def merge(self, ids: list[str]) -> Any:
        self._ask("POST", "/merge", json={"ids": ids})
        return self.show(ids[-1])

    def forget(self, id: str, undo: bool = False) -> Any:
        if undo:
            assert self._ask("POST", f"/restore/{id}")["id"] == id
        else:
            assert self._ask("DELETE", f"/memories/{id}") is None

    def feedback(self, query: str, id: str, accepted: bool) -> Any:
        told = {"query": query, "id": id, "accepted": accepted}
        noted = self._ask("POST", "/feedback", json=told)
        del noted["weights"]  # which no other interface tells
        return noted

    def _parameters(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {"tag" if name == "tags" else name: value for name, value in asked.items()}

    def browse(self, narrow: dict[str, Any]) -> Any:
        return self._ask("GET", "/memories", params=self._parameters(narrow))["memories"]

    def context(self, query: str, asked: dict[str, Any]) -> Any:
        return self._ask("GET", "/context", params=self._parameters({"q": query, **asked}))


class Mcp:
    """The tools, on stdio. What they answer in brief is read in full by `memory_retrieve`."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def _call(self, tool: str, **given: object) -> Any:
        result = self._portal.call(self._client.call_tool, tool, given)
        assert isinstance(result, mcp.CallToolResult)
        if result.is_error:
            [content] = result.content
            assert isinstance(content, mcp.TextContent)
            raise Refused(content.text)
        return result.structured_content

    def _whole(self, brief: list[Any]) -> list[Any]:
        """Return the whole memories; what is shown of them in brief must agree."""
        if not brief:
            return []
        ids = [one["id"] for one in brief]
        whole: list[Any] = self._call("memory_retrieve", ids=ids)["memories"]
        for shown, memory in zip(brief, whole, strict=True):
            common = shown.keys() & memory.keys()
            assert {name: shown[name] for name in common} == {name: memory[name] for name in common}
        return whole

    def save(self, fields: dict[str, Any]) -> Any:
        saved = self._call("memory_save", **fields)
        del saved["title"]
        return _without_similar(saved)

    def search(self, query: str, asked: dict[str, Any]) -> Any:
        """With `explain`, the tool answers what the others do; without, in brief."""
        given = {name: value for name, value in asked.items() if name != "explain"}
        found = self._call("memory_search", query=query, **given, explain=True)
        for result in found["results"] if not asked["explain"] else ():
            del result["explain"]
        return found

    def show(self, id: str, **asked: Any) -> Any:
        [memory] = self._call("memory_retrieve", ids=[id], **asked)["memories"]
        return memory

    def edit(self, id: str, changes: dict[str, Any]) -> Any:
        told = {name: value for name, value in changes.items() if value is not None}
        clear = [name for name, value in changes.items() if value is None]
        self._call("memory_update", id=id, clear=clear, **told)
        return self.show(id)

    def supersede(self, old: str, new: str) -> Any:
        self._call("memory_update", id=old, superseded_by=new)
        return self.show(old)

    def merge(self, ids: list[str]) -> Any:
        self._call("memory_forget", ids=ids, merge_into=ids[0])
        return self.show(ids[-1])

    def forget(self, id: str, undo: bool = False) -> Any:
        done = self._call("memory_forget", ids=[id], undo=undo)
        assert done == {"ids": [id], "outcome": "restored" if undo else "forgotten"}

    def feedback(self, query: str, id: str, accepted: bool) -> Any:
        return self._call("memory_feedback", query=query, id=id, accepted=accepted)

    def browse(self, narrow: dict[str, Any]) -> Any:
        told = {"order": "tier", **narrow}  # its own order is by recency
        return self._whole(self._call("memory_list", **told)["memories"])

    def context(self, query: str, asked: dict[str, Any]) -> Any:
        return self._call("memory_context", query=query, **asked)


Interface = Library | CommandLine | Http | Mcp


@contextmanager
def library(environment: dict[str, str]) -> Iterator[Interface]:
    home = Path(environment["RECOLLECT_HOME"])
    settings = load_settings(home, environment)
    with Recollect(home=home, settings=settings, environment=environment) as engine:
        yield Library(engine)


@contextmanager
def command_line(environment: dict[str, str]) -> Iterator[Interface]:
    yield CommandLine(environment)


@contextmanager
def over_http(environment: dict[str, str]) -> Iterator[Interface]:
    """`recollect serve`, in a process of its own."""
    log = Path(environment["RECOLLECT_HOME"]) / "serve.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [RECOLLECT, "serve", "--port", "0"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdout is not None
    with process, process.stdout as stream:
        try:
            line = stream.readline()
            assert "http://" in line, log.read_text()
            url = next(word for word in line.split() if word.startswith("http://"))
            token = (Path(environment["RECOLLECT_HOME"]) / "token").read_text().strip()
            headers = {"Authorization": f"Bearer {token}"}
            with httpx2.Client(
                base_url=url, timeout=LONGEST_S, trust_env=False, headers=headers
            ) as client:
                yield Http(client)
        finally:
            process.terminate()


@contextmanager
def over_mcp(environment: dict[str, str]) -> Iterator[Interface]:
    """`recollect mcp`, in a process of its own, with the SDK's client."""
    command = StdioServerParameters(command=RECOLLECT, args=["mcp"], env=environment)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(command)) as client,
    ):
        yield Mcp(portal, client)


INTERFACES: dict[str, Callable[[dict[str, str]], Any]] = {
    "library": library,
    "command line": command_line,
    "MCP": over_mcp,
    "HTTP": over_http,
}
