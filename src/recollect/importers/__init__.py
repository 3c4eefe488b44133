"""Memories of other tools: one file a tool, each with an `IMPORTER`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from recollect.errors import UserError
from recollect.importers.base import Importer
from recollect.ingest.draft import draft
from recollect.ingest.jsonl import Line

# Each is a module of that name; only the one that is used is imported.
TOOLS = (
    "echovault", "soleri", "basic-memory", "obsidian", "claude-mem", "mem0", "mempalace",
    "mcp-memory", "chatgpt-export", "claude-export", "markdown",
)  # fmt: skip

USUAL = re.compile(r"\((~/[^)]+)\)")  # in what an importer says of its path


def importer(name: str) -> Importer:
    """The importer for that tool."""
    if name not in TOOLS:
        raise UserError(f"There is no importer for {name!r}; there are: {', '.join(TOOLS)}.")
    found = import_module(f"recollect.importers.{name.replace('-', '_')}").IMPORTER
    assert isinstance(found, Importer)
    return found


def detected(home: Path) -> list[tuple[str, str]]:
    """The tools whose usual folder is in that home, with the folder as their importers name it."""
    found = ((name, USUAL.search(importer(name).path)) for name in TOOLS)
    return [(name, usual[1]) for name, usual in found if usual and (home / usual[1][2:]).exists()]


class ForeignMemories:
    """The records of another tool as lines to import; a bad one has its reason.

    `where` has the place of each record by its number; `unmapped` counts the values that no field
    of a memory holds.
    """

    def __init__(self, tool: Importer, path: Path) -> None:
        self._tool = tool
        self._path = path
        self.where: dict[int, str] = {}
        self.unmapped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Line]:
        for number, record in enumerate(self._tool.read(self._path), start=1):
            self.where[number] = record.where
            self.unmapped.update(record.unmapped)
            if record.fields is None:
                yield Line(number, None, record.reason, 1)
                continue
            try:
                yield Line(number, draft(record.fields), "", 1)
            except UserError as error:
                yield Line(number, None, str(error), 1)
