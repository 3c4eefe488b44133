"""Looking through the vault without a query: lists, counts, days, everything; and what was saved
and changed around a memory, or around a moment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from msgspec.structs import replace

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH
from recollect.checks import LARGEST_LIMIT, bounded, named_ids
from recollect.engine.filters import EVERYTHING, read_filter, selection
from recollect.engine.operations import operation
from recollect.engine.reading import looked_up
from recollect.engine.session import Session
from recollect.engine.whole_ids import whole_id
from recollect.errors import NotFound, UserError
from recollect.present.words import counted, state_json
from recollect.query.time.moments import read_time
from recollect.store.base import Dates, Facets, Stored
from recollect.store.feedback import FeedbackEvent
from recollect.times import TIME_FORMS, in_utc, iso, moved
from recollect.types import Filter, Memory, Place, Use, about, place_of

if TYPE_CHECKING:
    from recollect.store.rescue.repair import SalvageReport

EXPORT_BATCH = 1000
LIMIT = 5  # entries of a timeline on each side
Happened = Literal["saved", "changed"]


class Overview(NamedTuple):
    """What a vault is about."""

    projects: dict[str, int]
    decisions: list[Memory]


@operation(SEARCH, retry=True)
def browse(
    session: Session,
    filter: Filter = EVERYTHING,
    limit: int = 20,
    after: str | Place | None = None,
    *,
    newest: bool = False,
    as_of: datetime | None = None,
) -> list[Memory]:
    """Memories in browsing order: core, then capture, then file, the newest first in each; with
    `newest` the newest of all first. `after` goes on behind a memory, or behind the place where
    it stood; `as_of` lists what there was."""
    session = session.at(as_of)
    if isinstance(after, str):
        [memory] = looked_up(session, [after])
        after = place_of(memory)

    with session.store.moment():
        memories = session.held().memories
        listed = memories.newest if newest else memories.browse
        return listed(read_filter(session, filter), bounded(limit), after)


@operation(SEARCH, retry=True)
def overview(session: Session, project: str | None, limit: int) -> Overview:
    """The projects with their counts, most first, and the newest decisions that hold: those of
    the project, or of all where it has none. Nothing of a locked vault."""
    if session.store.database.locked or session.store.database.at_rest:
        return Overview({}, [])
    memories, now = session.store.memories, session.clock()
    decisions = Filter(kind="decision", valid_at=now)
    newest = memories.newest(replace(decisions, project=project), limit) if project else []
    projects = islice(memories.facets(EVERYTHING, now).project.items(), limit)
    return Overview(dict(projects), newest or memories.newest(decisions, limit))


@operation(SEARCH, retry=True)
def ending(
    session: Session,
    filter: Filter = EVERYTHING,
    limit: int = 20,
    *,
    since: datetime | None,
    until: datetime,
) -> Sequence[Memory]:
    """Memories whose validity ends between these moments; without `since` all that end until then,
    latest first."""
    return session.store.memories.expiring(
        read_filter(session, filter), bounded(limit), since=since, until=until
    )


@operation(SEARCH, retry=True)
def completed_ids(session: Session, parts: Sequence[str], *, forgotten: bool = False) -> list[str]:
    """Return each as the whole id that it is part of (see `whole_id`), or as it is. Live memories
    come first, with `forgotten` those in the trash."""
    known = session.store.memories.find(named_ids(parts))
    return [part if part in known else _completed(session, part, forgotten) for part in parts]


def _completed(session: Session, part: str, forgotten: bool) -> str:
    whole = whole_id(session, part, forgotten=forgotten)
    return whole if whole != part else whole_id(session, part, forgotten=not forgotten)


@operation(SEARCH, ADMIN)
def marked(session: Session, marks: Collection[str]) -> dict[str, str]:
    """The ids of memories, forgotten ones included, by their names in the audit log; those that
    were purged have none."""
    found: dict[str, str] = {}
    for id in session.store.memories.ids(forgotten=True):
        if len(found) == len(marks):
            break
        if (mark := session.mark(id)) in marks:
            found[mark] = id
    return found


@operation(SEARCH)
def export(session: Session) -> Iterator[Memory]:
    """Every memory that is live when this begins, in browsing order, as it is when its turn
    comes; one that is forgotten meanwhile is left out."""
    stored = _stored(session, session.store.memories.ids())
    return (one.memory for one in stored if not one.forgotten)


@operation(SEARCH, DELETE)
def export_all(session: Session) -> Iterator[Stored | FeedbackEvent]:
    """Every memory, the forgotten ones after the others, then all feedback."""
    yield from _stored(session, session.store.memories.ids(forgotten=True))
    yield from session.store.feedback.every()


@operation(SEARCH, DELETE)
def export_salvaged(session: Session) -> tuple[Iterator[Stored | FeedbackEvent], list[str]]:
    """Everything that can be read of a damaged vault, as `export_all` gives it, and sentences
    about what cannot. A memory that is not what was saved counts as forgotten."""
    from recollect.store.rescue.repair import report, salvaging  # noqa: PLC0415  start-up time

    store = session.in_file("Salvaging", "a backup brings back what cannot be read")
    with salvaging(store.database, store.database.path) as salvage:
        return salvage.export(session.clock()), salvage_notes(report(salvage))


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


@operation(SEARCH, retry=True)
def timeline(
    session: Session,
    around: str | datetime,
    *,
    limit: int = LIMIT,
    filter: Filter = EVERYTHING,
) -> Timeline:
    """What was saved and changed around a memory, by its id, or around a moment: at most
    `limit` before it and as many after it. A text that is no id is a time: 2026-03-01,
    yesterday, 7d."""
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
            return read_time(around, session.clock(), "around"), None
        except UserError:
            raise NotFound(
                f"There is no memory {around!r}, nor is it a time; write it like {TIME_FORMS}.",
                around,
            ) from None
    return memory.created_at, memory


def _next_to(
    session: Session, at: datetime, own: Memory | None, limit: int, filter: Filter, *, later: bool
) -> list[TimelineEntry]:
    """The nearest first."""
    memories, chosen, most = session.store.memories, read_filter(session, filter), bounded(limit)
    saved = memories.list_around(chosen, at, most + 1, field="created_at", later=later)
    changed = memories.list_around(chosen, at, most + 1, field="updated_at", later=later)
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


@operation(SEARCH, retry=True)
def selected(session: Session, *, query: str = "", filter: Filter = EVERYTHING) -> list[str]:
    """The ids of the memories that pass the filter and hold every keyword of the query, in any
    form, in browsing order. A search would also return what is only like it, so it is not
    asked."""
    chosen = selection(session, query, filter)
    found = session.store.memories.browse(chosen, LARGEST_LIMIT)
    return [memory.id for memory in found]


@operation(SEARCH, retry=True, command="count", route="GET /facets")
def facets(
    session: Session,
    filter: Filter = EVERYTHING,
    *,
    as_of: Annotated[datetime | None, about("the vault as it was then")] = None,
) -> Facets:
    """Count memories by project, kind, source, tag and age."""
    session = session.at(as_of)
    return session.held().memories.facets(read_filter(session, filter), session.clock())


@operation(SEARCH, retry=True)
def dates(session: Session, filter: Filter = EVERYTHING, *, as_of: datetime | None = None) -> Dates:
    """The days on which memories were made, and on which they expire, counted."""
    session = session.at(as_of)
    return session.held().memories.dates(read_filter(session, filter))


@operation(SEARCH, retry=True)
def expiring(
    session: Session, filter: Filter = EVERYTHING, limit: int = 20, *, within: timedelta
) -> Sequence[Memory]:
    """Memories that expire within that time from now, soonest first."""
    now = session.clock()
    return ending(session, filter, limit, since=now, until=moved(now, within))


@operation(SEARCH, retry=True)
def expired(session: Session, filter: Filter = EVERYTHING, limit: int = 20) -> Sequence[Memory]:
    """Memories that have expired, latest first."""
    return ending(session, filter, limit, since=None, until=session.clock())


@operation(SEARCH, retry=True)
def usage(session: Session, ids: Sequence[str]) -> dict[str, Use]:
    """How often each of these memories was returned, opened and accepted; those that never
    were, or are in another vault, are left out."""
    return session.store.usage.of(named_ids(ids)) if session.settings.usage.keep else {}


@operation(SEARCH)
def pulse(session: Session) -> tuple[int, int]:
    """Two numbers of which one changes when somebody else writes or reads. Asking is no use of
    the vault, and opens none that is at rest: then the first is -1. It counts for the thread
    that asks."""
    resting = session.store.database.at_rest
    return -1 if resting else session.store.changes(), session.audit.read_position()


def salvage_notes(report: SalvageReport) -> list[str]:
    """What damage cost, in sentences."""
    losses = (
        (report.lost, "could not be read and {are} lost"),
        (report.altered, "{are} not what was saved, so {are} forgotten; to look at one: "
         "recollect forget --undo ID"),
        (report.untagged, "lost tags"),
    )  # fmt: skip
    return [
        f"{counted(len(ids), 'memory')} {outcome.format(are='is' if len(ids) == 1 else 'are')} "
        f"({', '.join(ids)})."
        for ids, outcome in losses
        if ids
    ] + report.others
