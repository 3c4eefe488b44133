"""Importers of other tools' memories: their protocol, and those that are installed (entry points of
the group `recollect.importers`, named after their tools)."""

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
USUAL = re.compile(r"\((~/[^)]+)\)")  # the usual folder in an importer's `path`


class ImportedRecord(NamedTuple):
    """One record of another tool.

    - `where`: its place, for a person (`notes/a.md`, `observations, row 12`).
    - `fields`: those of a memory, or None if the record cannot be imported. The id is the same each
      time the record is read, so that a repeated import updates.
    - `reason`: why it cannot be imported, in one sentence.
    - `unmapped`: the other tool's names of non-empty values that fit no field of a memory.
    """

    where: str
    fields: Mapping[str, object] | None
    reason: str = ""
    unmapped: tuple[str, ...] = ()


def refuse_record(where: str, reason: str) -> ImportedRecord:
    """Return a record that cannot be imported, with the reason."""
    return ImportedRecord(where, None, reason)


class Importer(NamedTuple):
    """An importer for one tool. `path`: what to give as PATH, in words; `source`: where its format
    is documented; `read`: yields the records, or raises `UserError` if PATH is not the tool's."""

    name: str
    path: str
    source: str
    read: Callable[[Path], Iterator[ImportedRecord]]


def list_tools() -> list[str]:
    """Return the names of the tools that memories can be imported from."""
    return [*entry_points_of(GROUP)]


def load_importer(name: str) -> Importer:
    """Load the importer for a tool; raise UserError if there is none."""
    known = entry_points_of(GROUP)
    if name not in known:
        raise UserError(f"There is no importer for {name!r}; there are: {', '.join(known)}.")
    return cast(Importer, known[name].load())


def detect_tools(home: Path) -> list[tuple[str, str]]:
    """Return the tools whose usual folder exists below `home`, each with that folder."""
    found = ((name, USUAL.search(load_importer(name).path)) for name in list_tools())
    return [(name, usual[1]) for name, usual in found if usual and (home / usual[1][2:]).exists()]


class ForeignMemories:
    """The records of another tool as lines to import; a bad one has its reason.

    `where` maps a record's number to its place; `unmapped` counts the values that fit no field of a
    memory.
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
