"""Looking through the vault without a query: lists, counts, days, everything; and what was saved
and changed around a memory, or around a moment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from recollect.checks import bounded, named_ids
from recollect.engine.filters import EVERYTHING, read_filter
from recollect.engine.reading import looked_up
from recollect.engine.session import Session
from recollect.engine.upkeep import salvage_notes
from recollect.errors import NotFound, UserError
from recollect.present.words import state_json
from recollect.store.base import FeedbackEvent, Stored
from recollect.times import in_utc, iso, parse_moment
from recollect.types import Filter, Memory, Place, place_of

EXPORT_BATCH = 1000
MOST_NAMED = 5  # ids in a message
LIMIT = 5  # entries of a timeline on each side
Happened = Literal["saved", "changed"]


class Overview(NamedTuple):
    """What a vault is about."""

    projects: dict[str, int]
    decisions: list[Memory]


def browse(
    session: Session,
    filter: Filter = EVERYTHING,
    limit: int = 20,
    after: str | Place | None = None,
    *,
    newest: bool = False,
    as_of: datetime | None = None,
) -> list[Memory]:
    session = session.at(as_of)
    if isinstance(after, str):
        [memory] = looked_up(session, [after])
        after = place_of(memory)

    with session.store.moment():
        memories = session.held().memories
        listed = memories.newest if newest else memories.browse
        return listed(read_filter(session, filter), bounded(limit), after)


def overview(session: Session, project: str | None, limit: int) -> Overview:
    if session.store.database.locked or session.store.database.at_rest:
        return Overview({}, [])
    memories, now = session.store.memories, session.clock()
    decisions = Filter(kind="decision", valid_at=now)
    newest = memories.newest(replace(decisions, project=project), limit) if project else []
    projects = islice(memories.facets(EVERYTHING, now).project.items(), limit)
    return Overview(dict(projects), newest or memories.newest(decisions, limit))


def expiring(
    session: Session, filter: Filter, limit: int, *, since: datetime | None, until: datetime
) -> Sequence[Memory]:
    """Memories whose validity ends between these moments; without `since` all that end until then,
    latest first."""
    return session.store.memories.expiring(
        read_filter(session, filter), bounded(limit), since=since, until=until
    )


def completed_ids(session: Session, starts: Sequence[str], *, forgotten: bool = False) -> list[str]:
    known = session.store.memories.find(named_ids(starts))
    return [start if start in known else _completed(session, start, forgotten) for start in starts]


def _completed(session: Session, start: str, forgotten: bool) -> str:
    for where in (forgotten, not forgotten) if start else ():
        found = session.store.memories.beginning(start, MOST_NAMED + 1, forgotten=where)
        if len(found) > 1:
            names = ", ".join(found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
            raise UserError(f"Several ids begin with {start!r}: {names}. Type more of the one.")
        if found:
            return found[0]
    return start


def marked(session: Session, marks: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for id in session.store.memories.ids(forgotten=True):
        if len(found) == len(marks):
            break
        if (mark := session.mark(id)) in marks:
            found[mark] = id
    return found


def export(session: Session) -> Iterator[Memory]:
    stored = _stored(session, session.store.memories.ids())
    return (one.memory for one in stored if not one.forgotten)


def export_all(session: Session) -> Iterator[Stored | FeedbackEvent]:
    yield from _stored(session, session.store.memories.ids(forgotten=True))
    yield from session.store.feedback.every()


def export_salvaged(session: Session) -> tuple[Iterator[Stored | FeedbackEvent], list[str]]:
    from recollect.store.rescue.repair import report, salvaging  # noqa: PLC0415  start-up time

    store = session.in_file("Salvaging", "a backup brings back what cannot be read")
    with salvaging(store.database, store.database.path) as salvage:
        return salvage.stored(session.clock()), salvage_notes(report(salvage))


def _stored(session: Session, ids: Sequence[str]) -> Iterator[Stored]:
    """These memories, each as it is when its turn comes, without those purged meanwhile."""
    for first in range(0, len(ids), EXPORT_BATCH):
        batch = ids[first : first + EXPORT_BATCH]
        found = session.store.memories.find(batch)
        yield from (found[id] for id in batch if id in found)


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
