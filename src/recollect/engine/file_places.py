"""Where memories stand in files: the passages around one, and what a text calls by its name."""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import dirname, join, normpath
from typing import NamedTuple

from recollect.checks import is_text
from recollect.engine.session import Session
from recollect.types import FilePlace, Memory

REACH = 1  # passages on each side


class FilePassages(NamedTuple):
    """Where in its file a memory stands, and the passages before and after it."""

    place: FilePlace
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


def in_file(session: Session, memory: Memory) -> FilePassages | None:
    places = session.store.folders.places([memory.id]) if memory.path else {}
    if memory.id not in places:
        return None
    file, own = places[memory.id]
    near = session.store.folders.around(file, own.number, REACH)
    found = session.store.memories.get([chunk.memory_id for chunk in near])
    beside = [(chunk.number, found[chunk.memory_id]) for chunk in near if chunk.memory_id in found]
    return FilePassages(
        FilePlace(memory.path, own.heading, own.first_line, own.last_line),
        tuple(memory for number, memory in beside if number < own.number),
        tuple(memory for number, memory in beside if number > own.number),
    )


def mentioned(session: Session, names: Sequence[str], *, beside: str = "") -> dict[str, str]:
    plain = [name for name in names if name and is_text(name)]
    known = session.store.memories.stamps(plain)
    ways = {name: name for name in plain if name not in known}
    if beside:
        ways |= {normpath(join(dirname(beside), name)): name for name in ways}
    files = session.store.folders.first_parts([*ways])
    return {id: id for id in known} | {ways[path]: id for path, id in files.items()}
