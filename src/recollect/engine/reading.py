"""Reading memories by id, with what replaced them and their places in files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches
from posixpath import dirname, join, normpath
from typing import Annotated, NamedTuple

from recollect.auth.capabilities import DELETE, SEARCH
from recollect.checks import check_ids, is_text, unknown_memory
from recollect.engine.operations import operation, whole_id
from recollect.engine.session import Session
from recollect.errors import NotFound
from recollect.present.sentences import shown_id
from recollect.store.history import find_merges_until
from recollect.store.upkeep import ForgottenMemory
from recollect.times import day
from recollect.types import Chain, FilePlace, Filter, Memory, about
from recollect.vaults.known import HOME, FoundMemory

MOST_NEAREST = 3
MOST_READ = 100  # ids with the same beginning, among which similar ones are searched
SHORTEST = 3  # characters of that beginning
REACH = 1  # passages on each side


@operation(SEARCH, anywhere=True, retry=True)
def show(
    session: Session,
    ids: Sequence[str],
    *,
    federate: bool = True,
    as_of: datetime | None = None,
    opened: bool = True,
) -> list[Memory]:
    """Return memories in the order of their ids. An id that was merged into another memory returns
    that memory.

    federate: also look in other vaults.
    as_of: as they were then.
    opened: count them as opened by the user.
    """
    return [found.memory for found in _find_memories(session.at(as_of), ids, federate, opened)]


@operation(SEARCH, anywhere=True, retry=True)
def locate(
    session: Session,
    ids: Sequence[str],
    *,
    federate: bool = True,
    as_of: datetime | None = None,
    opened: bool = True,
) -> list[FoundMemory]:
    """Return memories as `show` does, with their vaults, what they replace and are replaced by."""
    session = session.at(as_of)
    return [
        found._replace(chain=_read_chain(session, found.memory)) if found.vault == HOME else found
        for found in _find_memories(session, ids, federate, opened)
    ]


def _find_memories(
    session: Session, ids: Sequence[str], federate: bool, opened: bool
) -> list[FoundMemory]:
    found: dict[str, FoundMemory] = {}
    if session.caller.sees(HOME):
        store = session.readable_store()
        own = store.memories.get(check_ids(ids))
        found = {id: FoundMemory(HOME, memory) for id, memory in own.items()}
        if len(found) < len(set(ids)):
            missing = [id for id in ids if id not in found]
            if session.as_of is None:
                merged = session.store.trash.find_merges(missing)
            else:
                merged = find_merges_until(session.store.history, missing, session.as_of)
            into = store.memories.get(list(merged.values()))
            found |= {
                id: FoundMemory(HOME, into[kept], asked=id)
                for id, kept in merged.items()
                if kept in into
            }
    for id in check_ids(ids):
        if id not in found:
            elsewhere = session.find_elsewhere(id) if federate else None
            if elsewhere is None:
                raise unknown_memory(id, session.as_of, in_trash=_is_in_trash(session, id))
            found[id] = elsewhere
    if opened:
        own_ids = [found[id].memory.id for id in ids if found[id].vault == HOME]
        session.count_use("opened", own_ids, "open")
    return [found[id] for id in ids]


def _is_in_trash(session: Session, id: str) -> bool:
    """Return whether the memory is in the trash and the caller may restore it."""
    if session.as_of is not None or not (session.caller.sees(HOME) and session.caller.may(DELETE)):
        return False
    return id in session.store.memories.find([id])


@operation(SEARCH, retry=True, route="GET /chain/{id}")
def chain(session: Session, id: Annotated[str, about("the memory")]) -> Chain:
    """Return what a memory of this vault replaces, by links, and what replaced it."""
    [found] = _find_memories(session, [id], federate=False, opened=False)
    return _read_chain(session, found.memory)


def _read_chain(session: Session, memory: Memory) -> Chain:
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
    """An unknown id. `forgotten`: its memory in the trash, if the caller may restore it; `nearest`:
    similar ids."""

    id: str
    forgotten: ForgottenMemory | None
    nearest: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """A sentence about the forgotten memory, or with the ids that may be meant."""
        if (gone := self.forgotten) is not None:
            by = f" by {gone.by}" if gone.by else ""
            why = "" if gone.why == "forgotten" else f": {gone.why}"
            return f"The memory {self.id!r} was forgotten on {day(gone.at)}{by}{why}."
        nearest = f"; the nearest: {', '.join(map(shown_id, self.nearest))}" if self.nearest else ""
        return f"There is no memory {self.id!r}{nearest}."


class Retrieved(NamedTuple):
    """The memories found, and the unknown ids."""

    found: list[FoundMemory]
    missing: list[MissingMemory]


@operation(SEARCH, anywhere=True, retry=True)
def retrieve(session: Session, ids: Sequence[str], *, as_of: datetime | None = None) -> Retrieved:
    """Return memories as `locate` does, and the unknown ids; raise NotFound if all are unknown."""
    try:
        return Retrieved(locate(session, ids, as_of=as_of), [])
    except NotFound as error:
        refusal = error
    found, missing = [], []
    for id in [whole_id(session, each) for each in ids]:
        try:
            found += locate(session, [id], as_of=as_of)
        except NotFound:
            missing.append(_explain_missing(session, id))
    if found:
        return Retrieved(found, missing)
    sentences = [each.sentence for each in missing if each.forgotten or each.nearest]
    raise NotFound(" ".join(sentences)) if sentences else refusal


def _explain_missing(session: Session, id: str) -> MissingMemory:
    if not session.caller.sees(HOME) or not is_text(id):
        return MissingMemory(id, None, ())
    if session.caller.may(DELETE):
        for gone in session.store.trash.list_forgotten(Filter(among=(id,), archived=True), 1):
            return MissingMemory(id, gone, ())
    return MissingMemory(id, None, _find_similar_ids(session, id))


def _find_similar_ids(session: Session, id: str) -> tuple[str, ...]:
    """Return similar ids, nearest first, among those with the same beginning: half of the id, a
    quarter, or the first few characters."""
    for length in sorted({len(id) // 2, len(id) // 4, SHORTEST}, reverse=True):
        if length < SHORTEST:
            continue
        known = session.store.memories.beginning(id[:length], MOST_READ)
        if found := get_close_matches(id, known, MOST_NEAREST):
            return tuple(found)
    return ()


class FilePassages(NamedTuple):
    """The place of a memory in its file, and the passages before and after it."""

    place: FilePlace
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


@operation(SEARCH, retry=True)
def in_file(session: Session, memory: Memory) -> FilePassages | None:
    """Return the passages around a part of a file; None for other memories."""
    places = session.store.folders.places([memory.id]) if memory.path else {}
    if memory.id not in places:
        return None
    file, own = places[memory.id]
    near = session.store.folders.chunks_around(file, own.number, REACH)
    found = session.store.memories.get([chunk.memory_id for chunk in near])
    others = [(chunk.number, found[chunk.memory_id]) for chunk in near if chunk.memory_id in found]
    return FilePassages(
        FilePlace(memory.path, own.heading, own.first_line, own.last_line),
        tuple(memory for number, memory in others if number < own.number),
        tuple(memory for number, memory in others if number > own.number),
    )


@operation(SEARCH, retry=True)
def resolve_names(session: Session, names: Sequence[str], *, source: str = "") -> dict[str, str]:
    """Return the ids of the memories that names in a text refer to: ids themselves, or paths of
    files, for their first part. Paths may be absolute, relative to their indexed folder, or
    relative to the file `source` that names them."""
    plain = [name for name in names if name and is_text(name)]
    known = session.store.memories.stamps(plain)
    paths = {name: name for name in plain if name not in known}
    if source:
        paths |= {normpath(join(dirname(source), name)): name for name in paths}
    files = session.store.folders.first_parts([*paths])
    return {id: id for id in known} | {paths[path]: id for path, id in files.items()}
