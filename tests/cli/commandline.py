"""Run the command, installed in a process of its own or within the test's process.

`Home` is a temporary RECOLLECT_HOME. `run` starts the installed command; `call` runs the same
`main` in this process, which is ten times as quick. Neither sees the machine's settings, and no
model is used unless a test sets it.
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import pty
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import pytest
from jsonschema import Draft202012Validator

from recollect.interfaces.cli.main import main
from recollect.interfaces.cli.schemas import make_schema

RECOLLECT = str(Path(sys.executable).with_name("recollect"))
NOW = "2026-03-01T12:00:00Z"
LONGEST_S = 60  # far more than any command needs; one that hangs fails its test
ESCAPE = "\x1b"
with closing(sqlite3.connect(":memory:")) as connection:
    connection.execute("CREATE TABLE shopping (item)")
    SHOPPING = connection.serialize()  # a database that is no vault


def check_schema(name: str, printed: Any) -> None:
    """Check printed JSON against the schema of that name, without additional fields."""
    Draft202012Validator(_without_additional_fields(make_schema(name))).validate(printed)


def _without_additional_fields(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_additional_fields(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    only = {"additionalProperties": False} if "properties" in schema else {}
    return only | {name: _without_additional_fields(part) for name, part in schema.items()}


class Ran(NamedTuple):
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        # 1 and no error: nothing was found.
        assert self.code == 0 or (self.code == 1 and not self.err), self.err
        return json.loads(self.out)


class Home:
    """A temporary home, and commands run in it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.vault = folder / "vault.db"
        self.config = folder / "config.toml"
        # Nothing of RECOLLECT_* or of a person's preferences leaks in.
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ},
            "HOME": str(folder),
            "RECOLLECT_HOME": str(folder),
            "RECOLLECT_EMBEDDING__PROVIDER": "none",
            "RECOLLECT_RERANK__PROVIDER": "none",
            **environment,
        }

    def run(
        self,
        *args: str | bytes,
        stdin: bytes = b"",
        cwd: Path | None = None,
        through: tuple[str, ...] = (),
        using: dict[str, str] | None = None,
    ) -> Ran:
        """Run the installed command, its output in pipes. `through`: a command that starts it;
        `using`: further environment variables."""
        done = subprocess.run(
            [*through, RECOLLECT, *args],
            input=stdin,
            capture_output=True,
            timeout=LONGEST_S,
            cwd=cwd or self.folder.parent,
            env=self.environment | (using or {}),
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """Start the installed command, with a pipe for each of its streams."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [RECOLLECT, *args], stdin=pipe, stdout=pipe, stderr=pipe, env=self.environment
        )

    def call(self, *args: str, stdin: bytes = b"", using: dict[str, str] | None = None) -> Ran:
        """Run the command in this process."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        read = io.TextIOWrapper(io.BytesIO(stdin))
        with (
            _environment(self.environment | (using or {})),
            mock.patch.object(sys, "stdin", read),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main(args)
        return Ran(code, _read_stream(out), _read_stream(err))

    def json(self, *args: str, using: dict[str, str] | None = None) -> Any:
        """Return what a command prints with `--json`."""
        return self.call(*args, "--json", using=using).json()

    def save(self, *args: str, using: dict[str, str] | None = None) -> str:
        """Save a memory; return its id."""
        done = self.call("save", *args, using=using)
        assert (done.code, done.err) == (0, ""), done.err
        return done.out.strip()

    def search(self, *args: str, using: dict[str, str] | None = None) -> Any:
        """Return the response to a search."""
        return self.json("search", *args, using=using)

    def search_ids(self, *args: str) -> list[str]:
        """Return the ids of a search's results, best first."""
        return [result["id"] for result in self.search(*args)["results"]]

    def list_ids(self, *args: str) -> list[str]:
        return [memory["id"] for memory in self.json("list", "--limit", "100000", *args)]

    def import_memories(self, *memories: dict[str, Any], args: tuple[str, ...] = ()) -> Ran:
        """Import these memories."""
        return self.call("import", "-", *args, stdin=lines(*memories))

    def import_json(self, *memories: dict[str, Any]) -> Any:
        return self.import_memories(*memories, args=("--json",)).json()

    def is_sound(self) -> bool:
        """Return whether the doctor finds no problem."""
        return self.call("doctor").code == 0

    def on_terminal(
        self, *args: str, stdin: bytes = b"", using: dict[str, str] | None = None
    ) -> Ran:
        """Run the installed command with a terminal for its output and another for its errors."""
        (out_here, out_there), (err_here, err_there) = pty.openpty(), pty.openpty()
        process = subprocess.Popen(
            [RECOLLECT, *args],
            stdin=subprocess.PIPE,
            stdout=out_there,
            stderr=err_there,
            cwd=self.folder.parent,
            env=self.environment | {"TERM": "xterm-256color"} | (using or {}),
        )
        os.close(out_there)
        os.close(err_there)
        assert process.stdin is not None
        with ThreadPoolExecutor(2) as readers:
            reading = readers.map(_read_terminal, (out_here, err_here))
            with process.stdin as stream:
                stream.write(stdin)
            out, err = reading
        return Ran(process.wait(LONGEST_S), out, err)

    def in_window(
        self,
        *args: str,
        rows: int = 24,
        key: str = "",
        typed: tuple[str, ...] = (),
        using: dict[str, str] | None = None,
    ) -> Ran:
        """Run the installed command in a terminal of 80 columns. Press the key as soon as it shows
        something; answer each prompt with the next typed line."""
        here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
        process = subprocess.Popen(
            [RECOLLECT, *args],
            stdin=there,
            stdout=there,
            stderr=there,
            start_new_session=True,
            cwd=self.folder.parent,
            env=self.environment | {"TERM": "xterm-256color"} | (using or {}),
        )
        os.close(there)
        shown = os.read(here, 1).decode()
        os.write(here, key.encode())
        for line in typed:
            while not shown.endswith((": ", "] ")):
                shown += os.read(here, 4096).decode()
            os.write(here, f"{line}\n".encode())
            shown += "\n"
        out = _read_terminal(here)
        return Ran(process.wait(LONGEST_S), shown + out, "")


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set this environment, and its time zone, within the context."""
    try:
        with mock.patch.dict(os.environ, variables, clear=True):
            time.tzset()
            yield
    finally:
        time.tzset()


def _read_stream(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode()


def _read_terminal(here: int) -> str:
    """Read until the end; Linux reports EIO when the other side has closed."""
    read = bytearray()
    with os.fdopen(here, "rb", buffering=0) as stream:
        while True:
            try:
                piece = stream.read(65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                piece = b""
            if not piece:
                return read.decode().replace("\r\n", "\n")
            read += piece


def lines(*memories: dict[str, Any]) -> bytes:
    """Return the memories as JSON Lines."""
    return b"".join(json.dumps(memory).encode() + b"\n" for memory in memories)


@contextmanager
def home_and_project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """Yield a home, with a project folder harbor-api as the working directory; its path is short
    enough for the name of a socket."""
    with TemporaryDirectory(prefix="rc") as folder:
        project = Path(folder) / "harbor-api"
        (project / ".git").mkdir(parents=True)
        monkeypatch.chdir(project)
        yield Home(Path(folder) / "home")


def check_error(ran: Ran, *holding: str, code: int = 1) -> str:
    """Check that the command failed with one sentence on stderr, or as JSON, and nothing on stdout;
    return the sentence."""
    assert ran.code == code, (ran.code, ran.err)
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") == 1, ran.err
    if ran.err.startswith("{"):
        error = json.loads(ran.err)
        assert set(error) == {"code", "message"}
        sentence = error["message"]
    else:
        assert ran.err.startswith("recollect: ")
        sentence = ran.err.removeprefix("recollect: ").strip()
    assert sentence.endswith((".", "?")), ran.err
    for part in holding:
        assert part in sentence, ran.err
    return str(sentence)


def check_usage_error(ran: Ran, *holding: str) -> None:
    """Check that the command reported wrong usage, with exit code 2."""
    assert ran.code == 2, (ran.code, ran.err)
    assert ran.out == ""
    assert "Traceback" not in ran.err
    for part in holding:
        assert part in ran.err, ran.err


OPERATIONS: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "max": max,
    "min": min,
    "product": lambda values: values[0] * values[1],
}


def recompute_node(node: dict[str, Any]) -> float:
    """Compute the value of an explanation's node from its parts, and check it."""
    assert {"name", "value", "formula", "parts"} <= set(node)
    assert set(node) <= {"name", "value", "formula", "weight", "raw", "how", "parts"}
    value: float = node["value"]
    if node["parts"]:
        value = OPERATIONS[node["formula"]]([recompute_node(part) for part in node["parts"]])
    elif "weight" in node:
        value = node["weight"] * node["raw"]
    assert abs(value - node["value"]) < 1e-12, node
    return value


def part_names(node: dict[str, Any]) -> set[str]:
    """Return the names of a node's parts, recursively."""
    return {part["name"] for part in node["parts"]}.union(*map(part_names, node["parts"]))
