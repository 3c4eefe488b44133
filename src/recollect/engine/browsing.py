"""Browsing the vault without a query: lists, counts, the timeline, export."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from msgspec.structs import replace

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH
from recollect.checks import LARGEST_LIMIT, check_ids, check_limit
from recollect.engine.filters import EVERYTHING, read_filter, read_selection
from recollect.engine.operations import operation, whole_id
from recollect.engine.reading import show
from recollect.engine.session import Session
from recollect.errors import NotFound, UserError
from recollect.present.sentences import counted, state_json
from recollect.query.time.moments import read_time
from recollect.store.base import Dates, Facets, Stored
from recollect.store.feedback import FeedbackEvent
from recollect.times import TIME_FORMS, in_utc, iso
from recollect.types import Filter, Memory, Place, Use, about, place_of

if TYPE_CHECKING:
    from recollect.store.rescue.repair import SalvageReport

EXPORT_BATCH = 1000
LIMIT = 5  # entries of a timeline on each side
Happened = Literal["saved", "changed"]


class Overview(NamedTuple):
    """The projects of a vault with their counts, and its newest decisions."""

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
    """List memories in browsing order: core, then capture, then file, each newest first. `newest`:
    newest first across all tiers. `after`: continue after this memory or place. `as_of`: list the
    memories of that time."""
    session = session.at(as_of)
    if isinstance(after, str):
        [memory] = show(session, [after], opened=False)
        after = place_of(memory)
    with session.store.moment():
        memories = session.vault_store().memories
        listed = memories.newest if newest else memories.browse
        return listed(read_filter(session, filter), check_limit(limit), after)


@operation(SEARCH, retry=True)
def overview(session: Session, project: str | None, limit: int) -> Overview:
    """Return the projects, largest first, and the newest valid decisions: those of the project, or
    of all projects if it has none. Empty for a locked vault."""
    if session.store.database.locked or session.store.database.at_rest:
        return Overview({}, [])
    memories, now = session.store.memories, session.clock()
    decisions = Filter(kind="decision", valid_at=now)
    newest = memories.newest(replace(decisions, project=project), limit) if project else []
    projects = islice(memories.facets(EVERYTHING, now).project.items(), limit)
    return Overview(dict(projects), newest or memories.newest(decisions, limit))


@operation(SEARCH, retry=True)
def list_ending(
    session: Session,
    filter: Filter = EVERYTHING,
    limit: int = 20,
    *,
    since: datetime | None,
    until: datetime,
) -> Sequence[Memory]:
    """List memories whose validity ends between these times, soonest first; without `since`, all
    that end before `until`, latest first."""
    return session.store.memories.expiring(
        read_filter(session, filter), check_limit(limit), since=since, until=until
    )


@operation(SEARCH, retry=True)
def complete_ids(session: Session, parts: Sequence[str], *, forgotten: bool = False) -> list[str]:
    """Complete partial ids (see `whole_id`); unknown ones are returned unchanged. Live memories are
    tried first, or with `forgotten` those in the trash."""
    known = session.store.memories.find(check_ids(parts))
    ids = []
    for part in parts:
        id = part if part in known else whole_id(session, part, forgotten=forgotten)
        if id == part and part not in known:
            id = whole_id(session, part, forgotten=not forgotten)
        ids.append(id)
    return ids


@operation(SEARCH, ADMIN)
def ids_by_mark(session: Session, marks: Collection[str]) -> dict[str, str]:
    """Return the ids of memories, also forgotten ones, by their names in the audit log. Purged
    memories are missing."""
    found: dict[str, str] = {}
    for id in session.store.memories.ids(forgotten=True):
        if len(found) == len(marks):
            break
        if (mark := session.mark(id)) in marks:
            found[mark] = id
    return found


@operation(SEARCH)
def export(session: Session) -> Iterator[Memory]:
    """Yield every live memory in browsing order. One that is forgotten meanwhile is left out."""
    stored = _read_batches(session, session.store.memories.ids())
    return (one.memory for one in stored if not one.forgotten)


@operation(SEARCH, DELETE)
def export_all(session: Session) -> Iterator[Stored | FeedbackEvent]:
    """Yield every memory, forgotten ones last, then all feedback."""
    yield from _read_batches(session, session.store.memories.ids(forgotten=True))
    yield from session.store.feedback.list_all()


@operation(SEARCH, DELETE)
def export_salvaged(session: Session) -> tuple[Iterator[Stored | FeedbackEvent], list[str]]:
    """Return all that can be read from a damaged vault, as `export_all` does, and sentences about
    the rest. An altered memory counts as forgotten."""
    from recollect.store.rescue.repair import report, salvaging  # noqa: PLC0415  start-up time

    store = session.sqlite_store("Salvaging", "a backup brings back what cannot be read")
    with salvaging(store.database, store.database.path) as salvage:
        return salvage.export(session.clock()), salvage_notes(report(salvage))


def _read_batches(session: Session, ids: Sequence[str]) -> Iterator[Stored]:
    """Read memories batch by batch; those purged meanwhile are left out."""
    for first in range(0, len(ids), EXPORT_BATCH):
        batch = ids[first : first + EXPORT_BATCH]
        found = session.store.memories.find(batch)
        yield from (found[id] for id in batch if id in found)


class TimelineEntry(NamedTuple):
    """A memory and the time when it was saved or last changed."""

    at: datetime
    what: Happened
    memory: Memory


class Timeline(NamedTuple):
    """The saves and changes before and after a time, oldest first. `around`: the memory saved at
    that time, if the timeline is about one; `now`: the time of the request."""

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
    """Return what was saved and changed around a memory or a time, at most `limit` entries on each
    side. A text that is not an id is read as a time: 2026-03-01, yesterday, 7d."""
    at, memory = _resolve_moment(session, around)
    before = _read_side(session, at, memory, limit, filter, later=False)
    after = _read_side(session, at, memory, limit, filter, later=True)
    return Timeline(at, memory, tuple(reversed(before)), tuple(after), session.clock())


def _resolve_moment(session: Session, around: str | datetime) -> tuple[datetime, Memory | None]:
    if isinstance(around, datetime):
        return in_utc(around, "around"), None
    try:
        [memory] = show(session, [around], opened=False)
    except NotFound:
        try:
            return read_time(around, session.clock(), "around"), None
        except UserError:
            raise NotFound(
                f"{around!r} is neither a memory nor a time. Write a time like {TIME_FORMS}.",
                around,
            ) from None
    return memory.created_at, memory


def _read_side(
    session: Session, at: datetime, own: Memory | None, limit: int, filter: Filter, *, later: bool
) -> list[TimelineEntry]:
    """Return the entries on one side, nearest first."""
    memories, chosen, most = (
        session.store.memories,
        read_filter(session, filter),
        check_limit(limit),
    )
    saved = memories.list_around(chosen, at, most + 1, field="created_at", later=later)
    changed = memories.list_around(chosen, at, most + 1, field="updated_at", later=later)
    found = [TimelineEntry(each.created_at, "saved", each) for each in saved if each != own]
    found += [TimelineEntry(each.updated_at, "changed", each) for each in changed]
    found.sort(key=lambda entry: (entry.at, entry.memory.id), reverse=not later)
    return found[:most]


def timeline_json(found: Timeline) -> dict[str, Any]:
    """Return the timeline for programs; entries have `expired` and `superseded_by` if set."""

    def entry_json(entry: TimelineEntry) -> dict[str, Any]:
        facts = {name: getattr(entry.memory, name) for name in ("id", "title", "kind", "project")}
        state = state_json(entry.memory, found.now)
        return {"at": iso(entry.at), "what": entry.what, **facts, **state}

    return {
        "at": iso(found.at),
        "around": found.around and found.around.id,
        "before": [entry_json(entry) for entry in found.before],
        "after": [entry_json(entry) for entry in found.after],
    }


@operation(SEARCH, retry=True)
def select_ids(session: Session, *, query: str = "", filter: Filter = EVERYTHING) -> list[str]:
    """Return the ids of memories that pass the filter and hold every keyword of the query, in any
    inflection, in browsing order. Unlike a search, it returns exact matches only."""
    chosen = read_selection(session, query, filter)
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
    return session.vault_store().memories.facets(read_filter(session, filter), session.clock())


@operation(SEARCH, retry=True)
def dates(session: Session, filter: Filter = EVERYTHING, *, as_of: datetime | None = None) -> Dates:
    """Count memories by the day they were created and the day they expire."""
    session = session.at(as_of)
    return session.vault_store().memories.dates(read_filter(session, filter))


@operation(SEARCH, retry=True)
def usage(session: Session, ids: Sequence[str]) -> dict[str, Use]:
    """Return how often each memory was returned, opened and accepted. Memories without any use, or
    in another vault, are left out."""
    return session.store.usage.find(check_ids(ids)) if session.settings.usage.keep else {}


@operation(SEARCH)
def pulse(session: Session) -> tuple[int, int]:
    """Return two numbers: the first changes when another process writes, the second when one reads.
    The first is -1 for a vault at rest, which stays closed. Compare within one thread only."""
    resting = session.store.database.at_rest
    return -1 if resting else session.store.changes(), session.audit.read_position()


GET_BACK = (
    "To get them back: `recollect restore --from BACKUP` (replaces the vault), or "
    "`recollect import EXPORT`."
)


def salvage_notes(report: SalvageReport) -> list[str]:
    """Return sentences about what was lost to damage."""
    losses = (
        (report.lost, "could not be read and {are} lost", f" {GET_BACK}"),
        (report.altered, "{are} not what was saved, so {are} forgotten; to look at one: "
         "recollect forget --undo ID", ""),
        (report.untagged, "lost tags", ""),
    )  # fmt: skip
    return [
        f"{counted(len(ids), 'memory')} {outcome.format(are='is' if len(ids) == 1 else 'are')} "
        f"({', '.join(ids)}).{then}"
        for ids, outcome, then in losses
        if ids
    ] + report.others
