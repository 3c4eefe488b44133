"""What was saved and changed around a memory, or around a moment."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple

from recollect.checks import bounded
from recollect.engine.filters import EVERYTHING, read_filter
from recollect.engine.reading import looked_up
from recollect.engine.session import Session
from recollect.errors import NotFound, UserError
from recollect.present.words import state_json
from recollect.times import in_utc, iso, parse_moment
from recollect.types import Filter, Memory

LIMIT = 5
Happened = Literal["saved", "changed"]


class TimelineEntry(NamedTuple):
    """A memory that was saved, or last changed, at that time."""

    at: datetime
    what: Happened
    memory: Memory


class Timeline(NamedTuple):
    """What was saved and changed before a moment and after it, oldest first. `around`: the memory
    that was saved then, where one was asked for. `now`: when it was looked up."""

    at: datetime
    around: Memory | None
    before: tuple[TimelineEntry, ...]
    after: tuple[TimelineEntry, ...]
    now: datetime


def timeline(
    session: Session,
    around: str | datetime,
    *,
    limit: int = LIMIT,
    filter: Filter = EVERYTHING,
) -> Timeline:
    at, memory = _moment(session, around)
    before = _next_to(session, at, memory, limit, filter, later=False)
    after = _next_to(session, at, memory, limit, filter, later=True)
    return Timeline(at, memory, tuple(reversed(before)), tuple(after), session.clock())


def _moment(session: Session, around: str | datetime) -> tuple[datetime, Memory | None]:
    if isinstance(around, datetime):
        return in_utc(around, "around"), None
    try:
        [memory] = looked_up(session, [around])
    except NotFound:
        try:
            return parse_moment(around, session.clock(), "around"), None
        except UserError:
            raise NotFound(
                f"There is no memory {around!r}, nor is it a time, such as 2026-03-01, yesterday "
                "or 7d."
            ) from None
    return memory.created_at, memory


def _next_to(
    session: Session, at: datetime, own: Memory | None, limit: int, filter: Filter, *, later: bool
) -> list[TimelineEntry]:
    """The nearest first."""
    memories, chosen, most = session.store.memories, read_filter(session, filter), bounded(limit)
    saved = memories.around(chosen, at, most + 1, field="created_at", later=later)
    changed = memories.around(chosen, at, most + 1, field="updated_at", later=later)
    found = [TimelineEntry(each.created_at, "saved", each) for each in saved if each != own]
    found += [TimelineEntry(each.updated_at, "changed", each) for each in changed]
    found.sort(key=lambda entry: (entry.at, entry.memory.id), reverse=not later)
    return found[:most]


def timeline_json(found: Timeline) -> dict[str, Any]:
    """The timeline for programs."""
    sides = {"before": found.before, "after": found.after}
    return {
        "at": iso(found.at),
        "around": found.around and found.around.id,
        **{name: [entry_json(entry, found.now) for entry in side] for name, side in sides.items()},
    }


def entry_json(entry: TimelineEntry, now: datetime) -> dict[str, Any]:
    """Return one entry for programs; `expired` and `superseded_by` where they hold."""
    memory = entry.memory
    facts = {"id": memory.id, "title": memory.title, "kind": memory.kind, "project": memory.project}
    return {"at": iso(entry.at), "what": entry.what, **facts, **state_json(memory, now)}
