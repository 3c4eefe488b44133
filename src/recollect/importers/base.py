"""What every importer gives: records of another tool, in the fields of a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


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


def refused(where: str, reason: str) -> ImportedRecord:
    """A record that cannot be imported, and why."""
    return ImportedRecord(where, None, reason)


class Importer(NamedTuple):
    """One tool. `path`: what to give as PATH, in words; `source`: where its format is written down;
    `read`: raises `UserError` where the tool did not write PATH."""

    name: str
    path: str
    source: str
    read: Callable[[Path], Iterator[ImportedRecord]]
