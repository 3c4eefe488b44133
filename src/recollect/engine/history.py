"""What memories were, and taking changes back, which is a change like any other; what happened
in the vault: writes from its history, reads from the log of reads, as one list.

Both are there whichever process did it, so whoever watches needs no word from any of them: it asks
for the `pulse` again and again, which reads next to nothing, and for what is new once it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import groupby, islice
from typing import Annotated, NamedTuple

from msgspec import Meta

from recollect.auth.audit import NumberedRead
from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.checks import bounded, named_ids, unknown_memory
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.errors import Changed, NotFound, UserError
from recollect.present.history import history_json
from recollect.store.base import Writing
from recollect.store.history import Author, Done, Version
from recollect.times import from_micros, iso, minute
from recollect.types import Memory, about

MOST_OPERATIONS = 100  # that are looked at for one that can be taken back
NAMED = 3  # memories of an entry; its count says how many there are
LAST = 1 << 62
MOST_CLIENTS = 1000  # writes that are looked through for who writes
# Who searches letter by letter, or five times for one answer, has searched: it is one entry.
SAME_MICROS = 10_000_000


class Undone(NamedTuple):
    """What was taken back or done again: an action, when it was first done, and its memories as
    they are now. Those of `forgotten` went to the trash, those of `restored` came out of it."""

    action: str
    at: datetime
    memories: tuple[Memory, ...]
    forgotten: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


def undone_json(done: Undone) -> dict[str, object]:
    """Return for programs what was taken back."""
    return {"undone": done.action} | _done_json(done)


def redone_json(done: Undone) -> dict[str, object]:
    """Return for programs what was done again."""
    return {"redone": done.action} | _done_json(done)


def _done_json(done: Undone) -> dict[str, object]:
    ids = [memory.id for memory in done.memories]
    return {"at": iso(done.at), "ids": ids, "forgotten": list(done.forgotten)}


def versions_json(versions: Sequence[Version]) -> dict[str, object]:
    """Return the versions of a memory for programs."""
    return {"versions": history_json(versions)}


Agree = Callable[[Undone], None]  # called before anything is written; raises to prevent it


class _Step(NamedTuple):
    """A memory, its newest version, and the one to go back to; None: it was not there."""

    id: str
    newest: Version
    back_to: Version | None

    @property
    def memory(self) -> Memory:
        return self.newest.memory if self.back_to is None else self.back_to.memory

    @property
    def forgotten(self) -> bool:
        return self.back_to is None or self.back_to.forgotten_at is not None

    @property
    def was_forgotten(self) -> bool:
        return self.newest.forgotten_at is not None

    @property
    def done(self) -> bool:
        """Whether the memory is so already."""
        if self.back_to is None:
            return self.was_forgotten
        return self.back_to.state == self.newest.state


@operation(
    SEARCH, retry=True, route="GET /history/{id}", as_json=versions_json, answer="VersionsJson"
)
def history(session: Session, id: Annotated[str, about("the memory")]) -> list[Version]:
    """List the versions of a memory, newest first. Those of a forgotten one are for callers who may
    bring it back."""
    named_ids([id])
    versions = session.store.history.of(id)
    if not versions:
        other = session.elsewhere(id)
        if other is not None:
            message = f"The memory {id!r} is not yours but in {other.vault!r}; ask for its history"
            raise NotFound(f"{message} there.")
        raise unknown_memory(id)
    if versions[0].forgotten_at is not None and not session.caller.may(DELETE):
        raise unknown_memory(id)
    return versions


@operation(WRITE, retry=True, route="POST /undo", as_json=undone_json, answer="UndoneJson")
def undo(
    session: Session,
    id: Annotated[str | None, about("the memory; without it, your own last change")] = None,
    *,
    to: Annotated[int | None, about("the version to go back to", metavar="V"), Meta(ge=1)] = None,
    if_version: Annotated[
        int | None, about("only while this is the newest version"), Meta(ge=1)
    ] = None,
    operation: int | None = None,
    agree: Agree | None = None,
) -> Undone:
    """Take back the last change that this caller asked for, or the one of that `operation`; with
    `id` the last change of that memory, or all since the version `to`. Taking back is a change as
    well: it is in the history, and can be taken back. Raises Changed, and changes nothing, where a
    memory was changed since."""
    if id is not None:
        return _undo_memory(session, id, to, if_version, agree)
    if to is not None:
        raise UserError("Name the memory whose version it is: recollect undo ID --to VERSION")
    for done in session.store.history.operations(session.user, MOST_OPERATIONS):
        if operation in (None, done.number) and (steps := _steps(session, done)):
            return _taken_back(session, steps, done.action, done.at, done.number, agree)
    raise NotFound("There is nothing to undo: no change of yours is left in this vault.")


@operation(WRITE, retry=True, route="POST /redo", as_json=redone_json, answer="RedoneJson")
def redo(session: Session, *, agree: Agree | None = None) -> Undone:
    """Do again what the caller's last undo took back; history names it as it did the first time.
    Raises Changed, and changes nothing, where a memory was changed since."""
    for undone in session.store.history.operations(session.user, MOST_OPERATIONS, undone=True):
        if steps := _steps(session, undone):
            versions = session.store.history.of(steps[0].id)
            first = next((one for one in versions if one.operation == undone.undoes), None)
            if first is None:  # only a part of an operation was taken back
                return _taken_back(session, steps, undone.action, undone.at, None, agree, "redo")
            return _taken_back(
                session, steps, first.action, first.at, undone.number, agree,
                first.action, first.reason, first.target,
            )  # fmt: skip
    raise NotFound("There is nothing to redo: no undo of yours is left to take back.")


def _steps(session: Session, operation: Done) -> list[_Step]:
    """What is left to do to take an operation back, a step for each memory."""
    steps = [_step(session, operation, id) for id in operation.ids]
    return [step for step in steps if not step.done]


def _undo_memory(
    session: Session, id: str, to: int | None, if_version: int | None, agree: Agree | None
) -> Undone:
    try:
        versions = history(session, id)
    except NotFound as error:
        if session.elsewhere(id) is not None:
            raise
        message = f"There is no memory {id!r}; what was purged cannot be brought back."
        raise NotFound(message, id) from error
    newest = versions[0]
    if if_version is not None and newest.number != if_version:
        raise Changed(f"The memory {id!r} has changed meanwhile; look at its history again first.")
    if to is not None:
        back_to = _numbered(versions, to)
        what = f"all after version {to}"
        return _taken_back(session, [_Step(id, newest, back_to)], what, back_to.at, None, agree)
    place = _last_standing(versions)
    undone = versions[place]
    if undone.write == 0:
        raise NotFound(f"There is nothing to undo: no earlier version of {id!r} is kept.")
    before = versions[place + 1] if place + 1 < len(versions) else None
    alone = session.store.history.alone(undone.operation)
    return _taken_back(
        session, [_Step(id, newest, before)], undone.action, undone.at,
        undone.operation if alone else None, agree,
    )  # fmt: skip


def _last_standing(versions: Sequence[Version]) -> int:
    """The place of the last change that was not taken back: an undo or redo stands for the version
    whose state it brought back."""
    place = 0
    while versions[place].action in ("undo", "redo"):
        same = (
            older
            for older in range(place + 1, len(versions))
            if versions[older].state == versions[place].state
        )
        found = next(same, None)
        if found is None:
            break
        place = found
    return place


def _numbered(versions: Sequence[Version], number: int) -> Version:
    for version in versions:
        if version.number == number:
            return version
    last, first = versions[0], versions[-1]
    raise UserError(
        f"The memory {last.memory.id!r} has no version {number}; it has {first.number} to "
        f"{last.number}."
    )


def _step(session: Session, operation: Done, id: str) -> _Step:
    """What taking an operation back means for a memory. Changed where it was changed since."""
    versions = session.store.history.of(id)
    places = [
        place for place, version in enumerate(versions) if version.operation == operation.number
    ]
    back_to = versions[places[-1] + 1] if places[-1] + 1 < len(versions) else None
    step = _Step(id, versions[0], back_to)
    if not step.done and versions[0].state != versions[places[0]].state:
        since = versions[places[0] - 1]
        raise Changed(
            f"The {operation.action} of {minute(operation.at)} cannot be undone: {id!r} was "
            f"changed since, by {since.action} on {minute(since.at)}. "
            f"`recollect history {id}` shows its versions, and `recollect undo {id} --to VERSION` "
            "goes back to one."
        )
    return step


def _taken_back(
    session: Session,
    steps: Sequence[_Step],
    action: str,
    at: datetime,
    undoes: int | None,
    agree: Agree | None,
    what: str = "undo",
    reason: str = "",
    target: str = "",
) -> Undone:
    """Bring the memories back to what they were, all or none. `action` and `at`: the change that is
    taken back or done again; `what`, `reason` and `target`: those of the write in history."""
    moving = [step for step in steps if step.forgotten != step.was_forgotten]
    if moving:
        session.require(DELETE, action=what)
    done = Undone(
        action,
        at,
        tuple([session.shown(step.memory) for step in steps]),
        tuple([step.id for step in moving if step.forgotten]),
        tuple([step.id for step in moving if not step.forgotten]),
    )
    if agree is not None:
        agree(done)
    with session.writing(what, reason=reason, target=target, undoes=undoes) as write:
        for step in steps:
            _put_back(session, write, step)
    session.wrote(what, [step.id for step in steps if not step.done])
    session.embed_soon([step.memory for step in steps if not step.forgotten])
    return done


def _put_back(session: Session, write: Writing, step: _Step) -> None:
    stored = write.find([step.id]).get(step.id)
    if stored is None or (stored.memory, stored.forgotten) != step.newest.state:
        raise Changed(f"The memory {step.id!r} has changed meanwhile; look at it again first.")
    if step.memory != stored.memory:
        stored = write.replace(stored, step.memory)
    if step.forgotten and not stored.forgotten:
        write.forget(stored, session.clock())
    elif stored.forgotten and not step.forgotten:
        write.restore(stored)


class ActivityPlace(NamedTuple):
    """A place in both logs: the number of a write, and the end of a read's line."""

    write: int
    read: int


class ActivityEntry(NamedTuple):
    """Somebody did something with so many memories, of which a few are named; several `times` in a
    row, where it was a read. Of writes the number, of reads where the line ends."""

    at: datetime
    action: str
    author: Author
    size: int
    memories: tuple[Memory, ...]
    write: int = 0
    read: int = 0
    times: int = 1


class ActivityPage(NamedTuple):
    """Entries, newest first; `older` is the place before which there may be more, `newest` the one
    after which everything is new."""

    entries: list[ActivityEntry]
    older: ActivityPlace | None
    newest: ActivityPlace


@operation(SEARCH)
def activity(
    session: Session,
    *,
    limit: int = 50,
    before: ActivityPlace | None = None,
    after: ActivityPlace | None = None,
    project: str = "",
    by: str = "",
) -> ActivityPage:
    """What was done before a place or after it, the newest first: everything, or what concerns
    a project, or what was done `by` a client, an interface or a user of that name."""
    limit, start = bounded(limit), after or ActivityPlace(0, 0)
    # What comes while this is read is for the next time.
    last = session.store.history.log(after=start.write, before=LAST, limit=1, project="", by="")
    newest = ActivityPlace(last[0].seq if last else start.write, session.audit.read_position())
    end = before or ActivityPlace(newest.write + 1, newest.read + 1)
    entries = list(islice(merge(
        _writes(session, start.write, end.write, limit + 1, project, by),
        _reads(session, min(start.read, newest.read), end.read, project, by),
        key=lambda entry: entry.at, reverse=True,
    ), limit + 1))  # fmt: skip
    shown = entries[:limit]
    older = ActivityPlace(
        min((entry.write for entry in shown if entry.write), default=end.write),
        min((entry.read for entry in shown if entry.read), default=end.read),
    )
    return ActivityPage(shown, older if len(entries) > limit else None, newest)


@operation(SEARCH)
def active_clients(session: Session) -> list[str]:
    """Who read or wrote lately: clients, or the interface where none said its name."""
    writes = session.store.history.log(after=0, before=LAST, limit=MOST_CLIENTS, project="", by="")
    names = {write.author.client or write.author.interface for write in writes}
    reads = (one.read for one in session.audit.reads_since(0))
    return sorted(names | {read.client or read.interface for read in reads})


def _writes(
    session: Session, after: int, before: int, limit: int, project: str, by: str
) -> Iterator[ActivityEntry]:
    """Writes, the newest first; those of one operation in a row are one entry."""
    found = session.store.history.log(
        after=after, before=before, limit=limit, project=project, by=by
    )
    for _, several in groupby(found, key=lambda write: write.operation):
        same = list(several)
        memories = _named(session, [key for write in same for key in write.keys][:NAMED])
        size = sum(write.size for write in same)
        yield ActivityEntry(
            same[0].at, same[0].action, same[0].author, size, memories, write=same[-1].seq
        )


def _reads(
    session: Session, after: int, before: int, project: str, by: str
) -> Iterator[ActivityEntry]:
    """Reads, the newest first."""
    found = [
        one
        for one in reversed([*session.audit.reads_since(after)])
        if one.end < before and (not by or by in _who(one)[1:])
    ]
    for same in _runs(found):
        read = same[0].read
        memories = _named(session, read.keys)
        if project and all(memory.project != project for memory in memories):
            continue
        author = Author(read.interface, read.client, read.user)
        yield ActivityEntry(
            from_micros(read.at), read.action, author, read.count, memories[:NAMED],
            read=same[-1].end, times=len(same),
        )  # fmt: skip


def _who(one: NumberedRead) -> tuple[str, str, str, str]:
    return one.read.action, one.read.interface, one.read.client, one.read.user


def _runs(reads: Sequence[NumberedRead]) -> Iterator[list[NumberedRead]]:
    """Reads of one kind by the same one that follow each other closely."""
    run: list[NumberedRead] = []
    for entry in reads:
        if run and (_who(entry) != _who(run[-1]) or run[-1].read.at - entry.read.at > SAME_MICROS):
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def _named(session: Session, keys: Sequence[int]) -> tuple[Memory, ...]:
    """The memories of these keys. What was forgotten is named to who may bring it back."""
    found = session.store.memories.find_by_keys(keys)
    stored = [found[key] for key in keys if key in found]
    all_of_them = session.caller.may(DELETE)
    return tuple([one.memory for one in stored if all_of_them or not one.forgotten])


@operation(SEARCH, retry=True)
def history_begins(session: Session) -> datetime | None:
    """Return from when on it is known what memories were; None in a vault without any write."""
    return session.store.history.begins()
