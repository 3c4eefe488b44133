"""Memories of other tools: what an importer gives, and which importers are installed (entry points
of the group `recollect.importers`, named after their tools)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, cast

from recollect.entry_points import entry_points_of
from recollect.errors import UserError
from recollect.ingest.draft import make_draft
from recollect.ingest.jsonl import Line

GROUP = "recollect.importers"
USUAL = re.compile(r"\((~/[^)]+)\)")  # in what an importer says of its path


class ImportedRecord(NamedTuple):
    """One record of another tool.

    - `where`: its place, for a person (`notes/a.md`, `observations, row 12`).
    - `fields`: those of a memory. The id is the same whenever the record is read again, so that a
      repeated import updates. None: the record cannot be imported.
    - `reason`: why not, one sentence.
    - `unmapped`: the other tool's names of values that no field of a memory holds; empty values do
      not count.
    """

    where: str
    fields: Mapping[str, object] | None
    reason: str = ""
    unmapped: tuple[str, ...] = ()


def refuse_record(where: str, reason: str) -> ImportedRecord:
    """A record that cannot be imported, and why."""
    return ImportedRecord(where, None, reason)


class Importer(NamedTuple):
    """One tool. `path`: what to give as PATH, in words; `source`: where its format is written down;
    `read`: raises `UserError` where the tool did not write PATH."""

    name: str
    path: str
    source: str
    read: Callable[[Path], Iterator[ImportedRecord]]


def list_tools() -> list[str]:
    """Return the names of the tools that memories can be imported from."""
    return [*entry_points_of(GROUP)]


def load_importer(name: str) -> Importer:
    """The importer for that tool."""
    known = entry_points_of(GROUP)
    if name not in known:
        raise UserError(f"There is no importer for {name!r}; there are: {', '.join(known)}.")
    return cast(Importer, known[name].load())


def detect_tools(home: Path) -> list[tuple[str, str]]:
    """The tools whose usual folder is in that home, with the folder as their importers name it."""
    found = ((name, USUAL.search(load_importer(name).path)) for name in list_tools())
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
                yield Line(number, make_draft(record.fields), "", 1)
            except UserError as error:
                yield Line(number, None, str(error), 1)
