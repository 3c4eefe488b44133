"""Memories by their ids: whole ones, what replaced them, and where they stand in files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches
from posixpath import dirname, join, normpath
from typing import Annotated, NamedTuple

from recollect.auth.capabilities import DELETE, SEARCH
from recollect.checks import is_text, named_ids, unknown_memory
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.engine.whole_ids import whole_id
from recollect.errors import NotFound
from recollect.present.visible import shown_id
from recollect.store.history import find_merges_until
from recollect.store.upkeep import Trashed
from recollect.times import day
from recollect.types import Chain, FilePlace, Filter, Memory, about
from recollect.vaults.known import HOME, FoundMemory

MOST_NEAREST = 3
MOST_READ = 100  # ids that begin alike, of which the nearest are named
SHORTEST = 3  # characters that ids have in common
REACH = 1  # passages on each side


@operation(SEARCH, anywhere=True, retry=True)
def show(
    session: Session, ids: Sequence[str], *, federate: bool = True, as_of: datetime | None = None
) -> list[Memory]:
    """Whole memories, in the order asked for; without `federate` from no other vault, with
    `as_of` as they were then. What was merged into another memory is answered with that one."""
    return [found.memory for found in _opened(session.at(as_of), ids, federate=federate)]


@operation(SEARCH, anywhere=True, retry=True)
def looked_up(
    session: Session, ids: Sequence[str], *, as_of: datetime | None = None
) -> list[Memory]:
    """Return whole memories as `show` does, without counting them as opened by the user."""
    return [found.memory for found in _located(session.at(as_of), ids, federate=True)]


@operation(SEARCH, anywhere=True, retry=True)
def located(
    session: Session,
    ids: Sequence[str],
    *,
    federate: bool = True,
    as_of: datetime | None = None,
    opened: bool = True,
) -> list[FoundMemory]:
    """Return memories by id, each with the name of its vault, what it replaces and what
    replaced it. `opened`: count this as opened by the user."""
    session = session.at(as_of)
    every = (_opened if opened else _located)(session, ids, federate=federate)
    return [
        found._replace(chain=_chain(session, found.memory)) if found.vault == HOME else found
        for found in every
    ]


def _opened(session: Session, ids: Sequence[str], *, federate: bool) -> list[FoundMemory]:
    every = _located(session, ids, federate=federate)
    session.used("opened", [found.memory.id for found in every if found.vault == HOME], "open")
    return every


def _located(session: Session, ids: Sequence[str], *, federate: bool) -> list[FoundMemory]:
    found: dict[str, FoundMemory] = {}
    if session.caller.sees(HOME):
        store = session.readable_store()
        own = store.memories.get(named_ids(ids))
        found = {id: FoundMemory(HOME, memory) for id, memory in own.items()}
        if len(found) < len(set(ids)):
            merged = _merged(session, [id for id in ids if id not in found])
            into = store.memories.get(list(merged.values()))
            found |= {
                id: FoundMemory(HOME, into[kept], asked=id)
                for id, kept in merged.items()
                if kept in into
            }
    for id in named_ids(ids):
        if id not in found:
            elsewhere = session.elsewhere(id) if federate else None
            if elsewhere is None:
                raise unknown_memory(id, session.as_of)
            found[id] = elsewhere
    return [found[id] for id in ids]


def _merged(session: Session, ids: Sequence[str]) -> dict[str, str]:
    """The memories that these were merged into, by the moment that the session reads."""
    if session.as_of is None:
        return session.store.trash.find_merges(ids)
    return find_merges_until(session.store.history, ids, session.as_of)


@operation(SEARCH, retry=True, route="GET /chain/{id}")
def chain(session: Session, id: Annotated[str, about("the memory")]) -> Chain:
    """Return what a memory of this vault replaces, by links, and what replaced it."""
    [found] = _located(session, [id], federate=False)
    return _chain(session, found.memory)


def _chain(session: Session, memory: Memory) -> Chain:
    store = session.readable_store()
    later: dict[str, Memory] = {}
    link = memory.superseded_by
    while link and link != memory.id and link not in later:
        found = store.memories.get([link])
        if link not in found:
            break
        later[link] = found[link]
        link = found[link].superseded_by
    earlier: dict[str, Memory] = {}
    ids = [memory.id]
    while ids:
        found = {each.id: each for each in store.memories.list_replaced(ids)}
        ids = [id for id in found if id not in earlier and id != memory.id]
        earlier |= {id: found[id] for id in ids}
    return Chain(tuple(earlier.values()), tuple(later.values()))


class MissingMemory(NamedTuple):
    """An id that names no memory. `forgotten`: what it named; for callers who may bring it back.
    `nearest`: ids that are written almost so."""

    id: str
    forgotten: Trashed | None
    nearest: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What became of it, or what may have been meant."""
        if (gone := self.forgotten) is not None:
            by = f" by {gone.by}" if gone.by else ""
            why = "" if gone.why == "forgotten" else f": {gone.why}"
            return f"The memory {self.id!r} was forgotten on {day(gone.at)}{by}{why}."
        nearest = f"; the nearest: {', '.join(map(shown_id, self.nearest))}" if self.nearest else ""
        return f"There is no memory {self.id!r}{nearest}."


class Retrieved(NamedTuple):
    """The memories that are there, and the ids that name none."""

    found: list[FoundMemory]
    missing: list[MissingMemory]


@operation(SEARCH, anywhere=True, retry=True)
def retrieve(session: Session, ids: Sequence[str], *, as_of: datetime | None = None) -> Retrieved:
    """The memories of these ids, as `located` has them, and those ids that name none. NotFound
    where none of them names one."""
    try:
        return Retrieved(located(session, ids, as_of=as_of), [])
    except NotFound as error:
        refusal = error
    found, missing = [], []
    for id in [whole_id(session, each) for each in ids]:
        try:
            found += located(session, [id], as_of=as_of)
        except NotFound:
            missing.append(_missing(session, id))
    if found:
        return Retrieved(found, missing)
    sentences = [each.sentence for each in missing if each.forgotten or each.nearest]
    raise NotFound(" ".join(sentences)) if sentences else refusal


def _missing(session: Session, id: str) -> MissingMemory:
    if not session.caller.sees(HOME) or not is_text(id):
        return MissingMemory(id, None, ())
    if session.caller.may(DELETE):
        for gone in session.store.trash.list_forgotten(Filter(among=(id,), archived=True), 1):
            return MissingMemory(id, gone, ())
    return MissingMemory(id, None, _nearest(session, id))


def _nearest(session: Session, id: str) -> tuple[str, ...]:
    """Ids that begin alike, the most alike first: only those that begin with half of it, a
    quarter, or the first few characters are read."""
    for length in sorted({len(id) // 2, len(id) // 4, SHORTEST}, reverse=True):
        if length < SHORTEST:
            continue
        known = session.store.memories.beginning(id[:length], MOST_READ)
        if found := get_close_matches(id, known, MOST_NEAREST):
            return tuple(found)
    return ()


class FilePassages(NamedTuple):
    """Where in its file a memory stands, and the passages before and after it."""

    place: FilePlace
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


@operation(SEARCH, retry=True)
def in_file(session: Session, memory: Memory) -> FilePassages | None:
    """The surroundings of a part of a file; None for what is no part of one."""
    places = session.store.folders.places([memory.id]) if memory.path else {}
    if memory.id not in places:
        return None
    file, own = places[memory.id]
    near = session.store.folders.chunks_around(file, own.number, REACH)
    found = session.store.memories.get([chunk.memory_id for chunk in near])
    beside = [(chunk.number, found[chunk.memory_id]) for chunk in near if chunk.memory_id in found]
    return FilePassages(
        FilePlace(memory.path, own.heading, own.first_line, own.last_line),
        tuple(memory for number, memory in beside if number < own.number),
        tuple(memory for number, memory in beside if number > own.number),
    )


@operation(SEARCH, retry=True)
def mentioned(session: Session, names: Sequence[str], *, beside: str = "") -> dict[str, str]:
    """The memories that these names in a text lead to: by their ids, or the first part of a
    file by its path, whole, below its folder, or seen from the file at `beside`."""
    plain = [name for name in names if name and is_text(name)]
    known = session.store.memories.stamps(plain)
    ways = {name: name for name in plain if name not in known}
    if beside:
        ways |= {normpath(join(dirname(beside), name)): name for name in ways}
    files = session.store.folders.first_parts([*ways])
    return {id: id for id in known} | {ways[path]: id for path, id in files.items()}
