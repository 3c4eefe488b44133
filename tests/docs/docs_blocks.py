"""The documentation as data: its pages, their fenced blocks and their links; and running blocks.

A comment straight before a block says something about it:
    <!-- not run: WHY -->   the block is read by people only
    <!-- file: NAME -->     the block is a file of that name in the working directory
A `text` block straight after a `python` block is what that block prints. Pages are worked through
without any model, unless they begin with <!-- models: built in -->.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from recollect.interfaces.cli.main import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[a-z ]+): (?P<value>[^\n]*?) -->\n)?"
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
# What differs from one run to the next and is not worth the reader's time.
VARYING = (
    (re.compile(r"\b\d+\.\d+ ms\b"), "N ms"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
)
SCORE = re.compile(r"\d+\.\d{4,}")
# How far apart a built-in model's scores may be on two processors; above 1, this share of them.
NEAR = 0.02
SHELL = re.compile(r"[|<>&;$*`]")
NOTHING = re.compile(
    r"^(No memory matches|This vault is empty|No memories (found|match)|Nothing in the trash)", re.M
)
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")


class Block(NamedTuple):
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str
    mark: str
    value: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def runs(self) -> bool:
        return self.mark != "not run"


class Shown(NamedTuple):
    """One command of a `console` block and the output that the page shows for it."""

    command: str
    output: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start("language")) + 1,
            found["language"],
            found["text"],
            found["mark"] or "",
            found["value"] or "",
        )
        for found in FENCE.finditer(text)
    ]


def with_models(page: Path) -> bool:
    return page.read_text(encoding="utf-8").startswith("<!-- models: built in -->\n")


def links(page: Path) -> list[str]:
    """The targets of a page's links and pictures, those in code left out."""
    return [found["target"] for found in LINK.finditer(CODE.sub("", page.read_text("utf-8")))]


def anchors(page: Path) -> set[str]:
    """The names of a page's headings in links: lower case, hyphens for blanks, no signs."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    return {
        re.sub(r"[^\w\- ]", "", name).lower().replace(" ", "-") for name in HEADING.findall(text)
    }


def shown(block: Block) -> Iterator[Shown]:
    """The commands of a `console` block; a line that ends in a backslash goes on in the next."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        length = 1
        while lines[length - 1].endswith("\\"):
            length += 1
        yield Shown("\n".join(lines[:length]), "\n".join(lines[length:]))


def matches(expected: str, printed: str, near: float = 0.0) -> bool:
    """Whether the output is what the page shows; `...` stands for anything: alone in a line for
    any number of lines, within a line for the rest of a word or more.

    With `near`, scores may differ by that much, those above 1 by that share: a model of 8 bits
    gives not quite the same numbers on every processor.
    """
    pattern = ""
    for line in plain(expected).splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += re.escape(line).replace(r"\.\.\.", r"[^\n]*") + r"\n"
    scores = [float(score) for score in SCORE.findall(plain(expected))] if near else []
    if near:
        pattern = re.sub(r"\d+\\\.\d{4,}", r"(\\d+\\.\\d+)", pattern)
    found = re.fullmatch(pattern, plain(printed))
    return found is not None and all(
        abs(score - float(other)) <= near * max(1.0, score)
        for score, other in zip(scores, found.groups(), strict=True)
    )


def plain(text: str) -> str:
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return "".join(f"{line}\n" for line in lines)


class Reader:
    """Somebody who works through one page: a home, a working directory, a shell's variables."""

    def __init__(self, folder: Path, *, models: bool = False) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONUTF8": "1",
            "RECOLLECT_HOME": str(folder / "home"),
        }
        if not models:
            self.environment["RECOLLECT_EMBEDDING__PROVIDER"] = "none"
            self.environment["RECOLLECT_RERANK__PROVIDER"] = "none"
        self.near = NEAR if models else 0.0
        self.exit_code = 0
        self.names: dict[str, Any] = {"__name__": "example"}

    def write(self, block: Block) -> None:
        file = self.folder / block.value
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text, encoding="utf-8")

    def console(self, block: Block) -> None:
        """Run each command and hold its output and its exit code against the page."""
        for command, expected in shown(block):
            printed = self.shell(command)
            assert matches(expected, printed, self.near), (
                f"{block.place}: $ {command}\nshown:\n{expected}\n\nprinted:\n{printed}"
            )
            fails = expected.startswith(("recollect: ", "usage: ")) or "\nrecollect: " in expected
            fails = fails or NOTHING.search(printed) is not None
            asked = re.search(re.escape(command) + r"\n(?:(?!\$ ).*\n)*\$ echo \$\?", block.text)
            assert asked or (self.exit_code != 0) == fails, (
                f"{block.place}: $ {command}\nended with {self.exit_code}:\n{printed}"
            )

    def python(self, block: Block) -> str:
        """Run the block in the page's one namespace; returns what it prints."""
        with self._in_place() as printed:
            exec(compile(block.text, block.place, "exec"), self.names)
        return printed.text()

    def shell(self, command: str) -> str:
        """What the command prints, standard error included. `recollect` itself runs in this
        process, which is quicker; whatever needs a shell gets one."""
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        if command == "echo $?":
            code, self.exit_code = self.exit_code, 0
            return f"{code}\n"
        if words[0] == "export":
            self.environment.update(dict([words[1].split("=", 1)]))
            return ""
        if words[0] == "unset":
            del self.environment[words[1]]
            return ""
        given = {}
        while ASSIGNMENT.fullmatch(words[0]):
            name, _, given[name] = words.pop(0).partition("=")
        if words[0] != "recollect" or SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", command)):
            return self._bash(command)
        with self._in_place(given) as printed:
            try:
                self.exit_code = main(words[1:])
            except SystemExit as end:  # argparse: --help and wrong usage
                self.exit_code = int(end.code or 0)
        return printed.text()

    def _bash(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            check=False,
        )
        self.exit_code = done.returncode
        return done.stdout

    def _in_place(self, given: dict[str, str] | None = None) -> _Captured:
        return _Captured(self.folder, self.environment | (given or {}))


class _Captured:
    """This process as if it had been started there: directory, variables, empty input, output."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._raw = io.BytesIO()
        self._stream = io.TextIOWrapper(self._raw, encoding="utf-8", write_through=True)
        self._held = (
            chdir(folder),
            patch.dict(os.environ, environment, clear=True),
            patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
            redirect_stdout(self._stream),
            redirect_stderr(self._stream),
        )

    def __enter__(self) -> _Captured:
        for one in self._held:
            one.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        for one in reversed(self._held):
            one.__exit__(*failure)

    def text(self) -> str:
        return self._raw.getvalue().decode()
