"""What memories were, and taking changes back. Taking back is a change like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from recollect.auth.capabilities import DELETE
from recollect.checks import named_ids, unknown_memory
from recollect.engine.session import Session
from recollect.errors import Changed, NotFound, UserError
from recollect.store.base import Writing
from recollect.store.history import Done, Version
from recollect.times import iso, minute
from recollect.types import Memory

MOST_OPERATIONS = 100  # that are looked at for one that can be taken back


class Undone(NamedTuple):
    """What was taken back or done again: an action, when it was first done, and its memories as
    they are now. Those of `forgotten` went to the trash, those of `restored` came out of it."""

    action: str
    at: datetime
    memories: tuple[Memory, ...]
    forgotten: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


def undone_json(done: Undone, verb: str) -> dict[str, object]:
    """Return it for programs; `verb` is `undone` or `redone`, the name of the action's field."""
    ids = [memory.id for memory in done.memories]
    return {verb: done.action, "at": iso(done.at), "ids": ids, "forgotten": list(done.forgotten)}


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


def history(session: Session, id: str) -> list[Version]:
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


def undo(
    session: Session,
    id: str | None = None,
    *,
    to: int | None = None,
    if_version: int | None = None,
    operation: int | None = None,
    agree: Agree | None = None,
) -> Undone:
    if id is not None:
        return _undo_memory(session, id, to, if_version, agree)
    if to is not None:
        raise UserError("Name the memory whose version it is: recollect undo ID --to VERSION")
    for done in session.store.history.operations(session.user, MOST_OPERATIONS):
        if operation in (None, done.number) and (steps := _steps(session, done)):
            return _taken_back(session, steps, done.action, done.at, done.number, agree)
    raise NotFound("There is nothing to undo: no change of yours is left in this vault.")


def redo(session: Session, *, agree: Agree | None = None) -> Undone:
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
        raise NotFound(message) from error
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
