"""What every importer gives: pieces of another tool, in the fields of a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


class Taken(NamedTuple):
    """One piece of another tool.

    `where` names it for a person (`notes/a.md`, `observations, row 12`). `fields` are those of a
    memory, an id among them that is the same whenever the piece is read again: so a repeated import
    updates and makes no twins. None: it cannot be taken, for this `reason`, one sentence.
    `homeless`: what it held that has no place in a memory, by the other tool's name for it; what is
    empty there does not count.
    """

    where: str
    fields: Mapping[str, object] | None
    reason: str = ""
    homeless: tuple[str, ...] = ()


class Importer(NamedTuple):
    """One tool. `path`: what to give as PATH, in words; `source`: where its format is written down;
    `read`: raises `UserError` where PATH is nothing that the tool wrote."""

    name: str
    path: str
    source: str
    read: Callable[[Path], Iterator[Taken]]
