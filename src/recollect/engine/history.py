"""Versions of memories, undo and redo, and the activity log: writes from the history and reads from
the log of reads, as one list.

Both logs have the activity of all processes. To follow it, poll `pulse`, which is cheap, and read
the new entries when it changes.
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
from recollect.checks import check_ids, check_limit, unknown_memory
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.errors import Changed, NotFound, UserError
from recollect.present.history import history_json
from recollect.store.base import Writing
from recollect.store.history import Author, PastOperation, Version
from recollect.times import from_micros, iso, minute
from recollect.types import Memory, about

MOST_OPERATIONS = 100  # searched for one that can be undone
NAMED = 3  # memories shown for an entry
LAST = 1 << 62
MOST_CLIENTS = 1000  # writes searched for names of clients
SAME_MICROS = 10_000_000  # reads closer than this are one entry, as when someone types a query


class Undone(NamedTuple):
    """An action that was undone or redone, when it was first done, and its memories as they are
    now. Those in `forgotten` went to the trash, those in `restored` came out of it."""

    action: str
    at: datetime
    memories: tuple[Memory, ...]
    forgotten: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


def undone_json(done: Undone) -> dict[str, object]:
    """Return for programs what was undone."""
    return {"undone": done.action} | _done_json(done)


def redone_json(done: Undone) -> dict[str, object]:
    """Return for programs what was redone."""
    return {"redone": done.action} | _done_json(done)


def _done_json(done: Undone) -> dict[str, object]:
    ids = [memory.id for memory in done.memories]
    return {"at": iso(done.at), "ids": ids, "forgotten": list(done.forgotten)}


def versions_json(versions: Sequence[Version]) -> dict[str, object]:
    """Return the versions of a memory for programs."""
    return {"versions": history_json(versions)}


Agree = Callable[[Undone], None]  # called before anything is written; raises to prevent it


class _Step(NamedTuple):
    """A memory, its newest version, and the version to go back to; None: it did not exist."""

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
        """Whether the memory already has this state."""
        if self.back_to is None:
            return self.was_forgotten
        return self.back_to.state == self.newest.state


@operation(
    SEARCH, retry=True, route="GET /history/{id}", as_json=versions_json, answer="VersionsJson"
)
def history(session: Session, id: Annotated[str, about("the memory")]) -> list[Version]:
    """List the versions of a memory, newest first. Those of a forgotten memory need the right to
    restore it."""
    check_ids([id])
    versions = session.store.history.versions(id)
    if not versions:
        other = session.find_elsewhere(id)
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
        if operation in (None, done.number) and (steps := _undo_steps_of(session, done)):
            return _apply_steps(session, steps, done.action, done.at, done.number, agree)
    raise NotFound("There is nothing to undo: no change of yours is left in this vault.")


@operation(WRITE, retry=True, route="POST /redo", as_json=redone_json, answer="RedoneJson")
def redo(session: Session, *, agree: Agree | None = None) -> Undone:
    """Do again what the caller's last undo took back; history names it as it did the first time.
    Raises Changed, and changes nothing, where a memory was changed since."""
    for undone in session.store.history.operations(session.user, MOST_OPERATIONS, undone=True):
        if steps := _undo_steps_of(session, undone):
            versions = session.store.history.versions(steps[0].id)
            first = next((one for one in versions if one.operation == undone.undoes), None)
            if first is None:  # only a part of an operation was undone
                return _apply_steps(session, steps, undone.action, undone.at, None, agree, "redo")
            return _apply_steps(
                session, steps, first.action, first.at, undone.number, agree,
                first.action, first.reason, first.target,
            )  # fmt: skip
    raise NotFound("There is nothing to redo: no undo of yours is left to take back.")


def _undo_steps_of(session: Session, operation: PastOperation) -> list[_Step]:
    """Return the steps left to undo an operation, one for each memory."""
    steps = [_undo_step(session, operation, id) for id in operation.ids]
    return [step for step in steps if not step.done]


def _undo_memory(
    session: Session, id: str, to: int | None, if_version: int | None, agree: Agree | None
) -> Undone:
    try:
        versions = history(session, id)
    except NotFound as error:
        if session.find_elsewhere(id) is not None:
            raise
        message = f"There is no memory {id!r}; what was purged cannot be brought back."
        raise NotFound(message, id) from error
    newest = versions[0]
    if if_version is not None and newest.number != if_version:
        raise Changed(f"The memory {id!r} has changed meanwhile; look at its history again first.")
    if to is not None:
        back_to = _version_by_number(versions, to)
        what = f"all after version {to}"
        return _apply_steps(session, [_Step(id, newest, back_to)], what, back_to.at, None, agree)
    last = _last_effective(versions)
    undone = versions[last]
    if undone.write == 0:
        raise NotFound(f"There is nothing to undo: no earlier version of {id!r} is kept.")
    before = versions[last + 1] if last + 1 < len(versions) else None
    alone = session.store.history.changed_one(undone.operation)
    return _apply_steps(
        session, [_Step(id, newest, before)], undone.action, undone.at,
        undone.operation if alone else None, agree,
    )  # fmt: skip


def _last_effective(versions: Sequence[Version]) -> int:
    """Return the index of the last change that was not undone. An undo or redo counts as the older
    version whose state it brought back."""
    index = 0
    while versions[index].action in ("undo", "redo"):
        same = (
            older
            for older in range(index + 1, len(versions))
            if versions[older].state == versions[index].state
        )
        found = next(same, None)
        if found is None:
            break
        index = found
    return index


def _version_by_number(versions: Sequence[Version], number: int) -> Version:
    for version in versions:
        if version.number == number:
            return version
    last, first = versions[0], versions[-1]
    raise UserError(
        f"The memory {last.memory.id!r} has no version {number}; it has {first.number} to "
        f"{last.number}."
    )


def _undo_step(session: Session, operation: PastOperation, id: str) -> _Step:
    """Return the step that undoes an operation for a memory; raise Changed if it was changed
    since."""
    versions = session.store.history.versions(id)
    own = [index for index, each in enumerate(versions) if each.operation == operation.number]
    back_to = versions[own[-1] + 1] if own[-1] + 1 < len(versions) else None
    step = _Step(id, versions[0], back_to)
    if not step.done and versions[0].state != versions[own[0]].state:
        since = versions[own[0] - 1]
        raise Changed(
            f"The {operation.action} of {minute(operation.at)} cannot be undone: {id!r} was "
            f"changed since, by {since.action} on {minute(since.at)}. "
            f"`recollect history {id}` shows its versions, and `recollect undo {id} --to VERSION` "
            "goes back to one."
        )
    return step


def _apply_steps(
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
    """Bring all memories back to an earlier state, or none. `action` and `at`: the change that is
    undone or redone; `what`, `reason` and `target`: for the entry in the history."""
    moving = [step for step in steps if step.forgotten != step.was_forgotten]
    if moving:
        session.require(DELETE, action=what)
    done = Undone(
        action,
        at,
        tuple([session.visible(step.memory) for step in steps]),
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
    """A position in both logs: the number of a write, and the offset at the end of a read."""

    write: int
    read: int


class ActivityEntry(NamedTuple):
    """A write or a read of `size` memories, of which a few are in `memories`. `times`: reads in a
    row; `write` and `read`: its position in the log, as in ActivityPlace."""

    at: datetime
    action: str
    author: Author
    size: int
    memories: tuple[Memory, ...]
    write: int = 0
    read: int = 0
    times: int = 1


class ActivityPage(NamedTuple):
    """Entries, newest first. `older`: the position to continue at, if there are more; `newest`:
    the position after which all entries are new."""

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
    """List the activity before or after a position, newest first; only of a project, or only `by` a
    client, interface or user of that name."""
    limit, start = check_limit(limit), after or ActivityPlace(0, 0)
    # Entries added while this reads are for the next page.
    last = session.store.history.log(after=start.write, before=LAST, limit=1, project="", by="")
    newest = ActivityPlace(last[0].seq if last else start.write, session.audit.read_position())
    end = before or ActivityPlace(newest.write + 1, newest.read + 1)
    entries = list(islice(merge(
        _read_writes(session, start.write, end.write, limit + 1, project, by),
        _read_reads(session, min(start.read, newest.read), end.read, project, by),
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
    """Return the names of clients that read or wrote lately, or of the interface for unnamed
    ones."""
    writes = session.store.history.log(after=0, before=LAST, limit=MOST_CLIENTS, project="", by="")
    names = {write.author.client or write.author.interface for write in writes}
    reads = (one.read for one in session.audit.reads_since(0))
    return sorted(names | {read.client or read.interface for read in reads})


def _read_writes(
    session: Session, after: int, before: int, limit: int, project: str, by: str
) -> Iterator[ActivityEntry]:
    """Yield writes, newest first; consecutive writes of one operation are one entry."""
    found = session.store.history.log(
        after=after, before=before, limit=limit, project=project, by=by
    )
    for _, several in groupby(found, key=lambda write: write.operation):
        same = list(several)
        memories = _read_memories(session, [key for write in same for key in write.keys][:NAMED])
        size = sum(write.size for write in same)
        yield ActivityEntry(
            same[0].at, same[0].action, same[0].author, size, memories, write=same[-1].seq
        )


def _read_reads(
    session: Session, after: int, before: int, project: str, by: str
) -> Iterator[ActivityEntry]:
    """Yield reads, newest first."""
    found = [
        one
        for one in reversed([*session.audit.reads_since(after)])
        if one.end < before and (not by or by in _reader(one)[1:])
    ]
    for same in _group_reads(found):
        read = same[0].read
        memories = _read_memories(session, read.keys)
        if project and all(memory.project != project for memory in memories):
            continue
        author = Author(read.interface, read.client, read.user)
        yield ActivityEntry(
            from_micros(read.at), read.action, author, read.count, memories[:NAMED],
            read=same[-1].end, times=len(same),
        )  # fmt: skip


def _reader(one: NumberedRead) -> tuple[str, str, str, str]:
    return one.read.action, one.read.interface, one.read.client, one.read.user


def _group_reads(reads: Sequence[NumberedRead]) -> Iterator[list[NumberedRead]]:
    """Yield groups of the same action by the same reader, each within SAME_MICROS of the last."""
    group: list[NumberedRead] = []
    for one in reads:
        if group and (
            _reader(one) != _reader(group[-1]) or group[-1].read.at - one.read.at > SAME_MICROS
        ):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _read_memories(session: Session, keys: Sequence[int]) -> tuple[Memory, ...]:
    """Return the memories of these keys; forgotten ones only if the caller may restore them."""
    found = session.store.memories.find_by_keys(keys)
    stored = [found[key] for key in keys if key in found]
    may_restore = session.caller.may(DELETE)
    return tuple([one.memory for one in stored if may_restore or not one.forgotten])


@operation(SEARCH, retry=True)
def history_begins(session: Session) -> datetime | None:
    """Return when the kept history begins; None in a vault without any write."""
    return session.store.history.begins()
