"""The command as a person runs it: the installed one in a process of its own, or in this one.

`Home` is a throw-away RECOLLECT_HOME. `run` starts the installed command, as an acceptance check
would; `call` runs the same `main` in this process, which is ten times as quick. Neither sees the
settings of the machine, and no model is switched on unless a test does it.
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
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
LONGEST_S = 60  # far beyond what any command needs; a hanging one shall fail its test
ESCAPE = "\x1b"


def as_its_schema(name: str, printed: Any) -> None:
    """Hold what was printed to the schema of that name; other fields than its own are refused."""
    Draft202012Validator(_closed(make_schema(name))).validate(printed)


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    only = {"additionalProperties": False} if "properties" in schema else {}
    return only | {name: _closed(part) for name, part in schema.items()}


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        # 1 and no error: nothing was found.
        assert self.code == 0 or (self.code == 1 and not self.err), self.err
        return json.loads(self.out)


class Home:
    """A throw-away home, and the command run in it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.vault = folder / "vault.db"
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
        """The installed command, its output in pipes; `through` is a command that starts it,
        `using` are further variables of its environment."""
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

    def call(self, *args: str, stdin: bytes = b"", using: dict[str, str] | None = None) -> Ran:
        """The same in this process."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        read = io.TextIOWrapper(io.BytesIO(stdin))
        with (
            _environment(self.environment | (using or {})),
            mock.patch.object(sys, "stdin", read),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main(args)
        return Ran(code, _written(out), _written(err))

    def json(self, *args: str, using: dict[str, str] | None = None) -> Any:
        """What a command prints with `--json`."""
        return self.call(*args, "--json", using=using).json()

    def save(self, *args: str, using: dict[str, str] | None = None) -> str:
        """The id of a memory saved so."""
        done = self.call("save", *args, using=using)
        assert (done.code, done.err) == (0, ""), done.err
        return done.out.strip()

    def search(self, *args: str, using: dict[str, str] | None = None) -> Any:
        """The response to a search."""
        return self.json("search", *args, using=using)

    def found(self, *args: str) -> list[str]:
        """The ids a search returns, best first."""
        return [result["id"] for result in self.search(*args)["results"]]

    def listed(self, *args: str) -> list[str]:
        return [memory["id"] for memory in self.json("list", "--limit", "100000", *args)]

    def bring_in(self, *memories: dict[str, Any], args: tuple[str, ...] = ()) -> Ran:
        """Import these."""
        return self.call("import", "-", *args, stdin=lines(*memories))

    def json_of_import(self, *memories: dict[str, Any]) -> Any:
        return self.bring_in(*memories, args=("--json",)).json()

    def is_sound(self) -> bool:
        """Whether the doctor finds nothing."""
        return self.call("doctor").code == 0

    def on_terminal(
        self, *args: str, stdin: bytes = b"", using: dict[str, str] | None = None
    ) -> Ran:
        """The installed command with a terminal for its output and its errors, each its own."""
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
        self, *args: str, rows: int = 24, key: str = "", using: dict[str, str] | None = None
    ) -> Ran:
        """The installed command in a terminal's window of 80 columns, with everything that it
        shows; the key is pressed as soon as something is shown."""
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
        shown = os.read(here, 1)
        os.write(here, key.encode())
        out = _read_terminal(here)
        return Ran(process.wait(LONGEST_S), shown.decode() + out, "")


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Have this environment, and the clock of its zone, for the block."""
    try:
        with mock.patch.dict(os.environ, variables, clear=True):
            time.tzset()
            yield
    finally:
        time.tzset()


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode()


def _read_terminal(here: int) -> str:
    """Everything that was written; Linux says EIO where the other side has closed."""
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
    """JSON Lines."""
    return b"".join(json.dumps(memory).encode() + b"\n" for memory in memories)


@contextmanager
def beside_project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home, and the folder of a project, harbor-api, to which a hook goes as its agent does; its
    path is short enough for the name of a socket."""
    with TemporaryDirectory(prefix="rc") as folder:
        project = Path(folder) / "harbor-api"
        (project / ".git").mkdir(parents=True)
        monkeypatch.chdir(project)
        yield Home(Path(folder) / "home")


def refused(ran: Ran, *holding: str, code: int = 1) -> str:
    """The one sentence on stderr of a command that failed as it should, nothing on stdout; in JSON,
    with its code, where the command was to print JSON."""
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


def wrong_usage(ran: Ran, *holding: str) -> None:
    """Whether the command said how it is called, with exit code 2."""
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


def recomputed(node: dict[str, Any]) -> float:
    """The value of an explanation's node from its parts alone, checked against what it says."""
    assert {"name", "value", "formula", "parts"} <= set(node)
    assert set(node) <= {"name", "value", "formula", "weight", "raw", "how", "parts"}
    value: float = node["value"]
    if node["parts"]:
        value = OPERATIONS[node["formula"]]([recomputed(part) for part in node["parts"]])
    elif "weight" in node:
        value = node["weight"] * node["raw"]
    assert abs(value - node["value"]) < 1e-12, node
    return value


def part_names(node: dict[str, Any]) -> set[str]:
    """The names of a node's parts, and of theirs."""
    return {part["name"] for part in node["parts"]}.union(*map(part_names, node["parts"]))
