"""Lists of memories: browsing with filters, changes of selected ones, the trash, projects and tags,
and the review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import Annotated, Any, cast
from urllib.parse import parse_qsl

from markupsafe import Markup
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace
from starlette.requests import Request
from starlette.responses import Response

from recollect.engine import Recollect
from recollect.errors import NotFound, RecollectError, UserError
from recollect.interfaces.http.schemas import (
    PARAMETERS,
    FilterParameters,
    PastFilterParameters,
    from_parameters,
)
from recollect.interfaces.http.service import Service
from recollect.interfaces.requests import Query, cut_page, decode_place
from recollect.interfaces.web.chips import (
    Address,
    chip_groups,
    chosen_chips,
    count_unfiltered,
    facets_without,
)
from recollect.interfaces.web.rendering import (
    answer_change,
    answer_form,
    date_field,
    heading,
    last_operation,
    memory_id,
    opening,
    page,
    problem_piece,
    query_string,
    read_form,
)
from recollect.memory_json import id_of_path, id_path
from recollect.present import sentences
from recollect.present.sentences import counted
from recollect.times import shift
from recollect.types import Filter, Memory, ReviewKind

PER_PAGE = 50
SOON = timedelta(days=30)
LINE = 300  # characters of a memory; a line shows as many as fit
# Earlier pages that the address remembers; more would make it too long for some servers.
MOST_BACK = 20
TIERS = {"core": "Core, pinned", "capture": "Captured", "file": "From files"}

Cursor = Annotated[str, Meta(max_length=2000)]
Trail = Annotated[str, Meta(max_length=50_000)]


class Browsing(PastFilterParameters):
    """A page of the list. `after`: the cursor it starts at. `back`: cursors of earlier pages."""

    after: Cursor | None = None
    back: Trail | None = None


async def browse(service: Service, request: Request) -> Response:
    """Show one page. The filters load later, as their counts read every memory."""
    asked: Browsing = from_parameters(Browsing, request.query_params)
    narrowed = await service.ask(asked.filter, service.engine)
    place = decode_place(asked.after) if asked.after else None
    then, now = asked.then(service.engine), service.engine.now()
    try:
        found = await service.ask(service.engine.list, narrowed, PER_PAGE + 1, place, as_of=then)
        as_of = sentences.as_of(then)
    except UserError as error:
        if then is None:
            raise
        found, as_of = [], str(error).rstrip(".")  # history begins later
    shown, following = cut_page(found, PER_PAGE)
    values = {
        "groups": group_by_tier(shown),
        "tiers": TIERS,
        "continued": place.tier if place else None,
        "now": then or now,
        "as_of": as_of,
        **date_field(asked.as_of or "", now, await service.ask(service.engine.history_begins)),
        "older": _older(asked, following) if following else None,
        "newer": _newer(asked) if asked.after else None,
        "first": narrowing_path("/browse", asked),
        "present": narrowing_path("/browse", asked, {"as_of": None}),
        "kept": filters_of("/browse", asked).without("as_of").pairs,
        "narrows": narrowed.narrows(),
        "notes": [] if found else await service.ask(service.engine.unknown_values, narrowed),
        "chips": chosen_chips(filters_of("/browse", asked)),
        "filters": f"/browse/filters?{query_string(**parameters(asked))}",
        "asked": asked,
    }
    return page("browse.html", request, values)


async def filters(path: str, service: Service, request: Request) -> Response:
    """Show the filter chips with counts, as a piece of the page at `path`."""
    try:
        asked: PastFilterParameters = from_parameters(PastFilterParameters, request.query_params)
        narrowed, then = await service.ask(asked.filter, service.engine), asked.then(service.engine)
        facets = await service.ask(service.engine.facets, narrowed, as_of=then)
        dates = await service.ask(service.engine.dates, narrowed, as_of=then)
    except RecollectError as error:
        return problem_piece(request, error)
    everything = await service.ask(service.engine.facets)
    address = filters_of(path, asked)
    without = partial(facets_without, service.engine, narrowed, None)
    others = await service.ask(count_unfiltered, address, without)
    groups = chip_groups(address, facets._asdict(), everything._asdict(), others)
    values = {"groups": groups, "total": sum(dates.made.values())}
    return page("_filters.html", request, values)


def group_by_tier(
    memories: list[Memory],
) -> list[tuple[str, list[tuple[Memory, str, Markup | str]]]]:
    """Group sorted memories by tier, each with its heading and the beginning of its text, which is
    empty if it is the heading."""
    return [
        (
            tier,
            [
                (memory, heading(memory), opening(memory, LINE) if memory.title.strip() else "")
                for memory in run
            ],
        )
        for tier, run in groupby(memories, key=lambda memory: memory.tier)
    ]


# Filters


def parameters(asked: FilterParameters) -> dict[str, Any]:
    """Return the filters by their names in a query string, without other parameters of the page."""
    fields = {name: value for name, value in asdict(asked).items() if value}
    names = PastFilterParameters.__struct_fields__
    return {PARAMETERS.get(name, name): fields[name] for name in names if name in fields}


def filters_of(path: str, asked: FilterParameters) -> Address:
    """Return the address of a page with its filters."""
    return Address(tuple(parse_qsl(query_string(**parameters(asked)))), path)


def narrowing_path(
    path: str, asked: FilterParameters, change: Mapping[str, object] | None = None
) -> str:
    """Return the path of the first page with these filters and changes."""
    query = query_string(**(parameters(asked) | dict(change or {})))
    return f"{path}?{query}" if query else path


# Paging


def _older(asked: Browsing, following: str) -> str:
    trail = (asked.back.split(".") if asked.back else []) + ([asked.after] if asked.after else [])
    back = ".".join(trail[-MOST_BACK:])
    return narrowing_path("/browse", asked, {"after": following, "back": back})


def _newer(asked: Browsing) -> str:
    """Return the path of the previous page; the first if `back` is empty."""
    trail = asked.back.split(".") if asked.back else []
    change = {"after": trail[-1], "back": ".".join(trail[:-1])} if trail else {}
    return narrowing_path("/browse", asked, change)


# The trash, and changes of several memories at once

SHOWN = 100
BULK = {
    "pin": "Pinned", "unpin": "Unpinned", "tag": "Tagged", "untag": "Removed the tag of",
    "move": "Moved", "forget": "Forgot",
}  # fmt: skip


class Looking(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words to search the trash for."""

    query: Annotated[Query, Meta(max_length=10_000)] = ""


async def trash(service: Service, request: Request) -> Response:
    asked: Looking = from_parameters(Looking, request.query_params)
    found = await service.ask(service.engine.trash, asked.query, limit=SHOWN)
    every = await service.ask(service.engine.count_trash, asked.query)
    values = {
        "trash": found, "query": asked.query, "now": service.engine.now(),
        "more": every - len(found),
    }  # fmt: skip
    return page("trash.html", request, values)


async def bulk(service: Service, request: Request) -> Response:
    """Change the selected memories, all or none."""
    form = await read_form(request)
    ids, engine = form.getlist("id"), service.engine
    action, value = form.get("action", ""), form.get("value", "").strip()
    changes: dict[str, Callable[[], object]] = {
        "pin": partial(engine.pin, ids),
        "unpin": partial(engine.unpin, ids),
        "tag": partial(engine.tag, ids, add=[value] if value else []),
        "untag": partial(engine.tag, ids, remove=[value] if value else []),
        "move": partial(engine.move, ids, project=value),
        "forget": partial(engine.forget, ids),
    }
    if action not in changes:
        raise UserError(f"action cannot be {action!r}; allowed are: {', '.join(changes)}.")
    if not ids:
        raise UserError("Select the memories to change first.")
    await service.ask(changes[action])
    message = f"{BULK[action]} {counted(len(set(ids)), 'memory')}."
    return await answer_change(service, request, message, "/browse", ids[0])


# Projects and tags

PLACE_LISTED = 6  # memories in each part of the page of a project or tag
TAGS_IN_COMMON = 6  # of a project's own tags, by which other projects are related


async def list_places(service: Service, request: Request) -> Response:
    """List all projects and tags."""
    counts = await service.ask(service.engine.facets)
    values = {"projects": _links("project", counts.project), "tags": _links("tag", counts.tags)}
    return page("projects.html", request, values)


async def place(what: str, service: Service, request: Request) -> Response:
    name = id_of_path(request.path_params["id"])
    return page("place.html", request, await service.ask(about, service.engine, what, name))


def _links(what: str, counts: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """Return each value with the path of its page and its number of memories."""
    return [(value, f"/{what}/{id_path(value)}", count) for value, count in counts.items()]


def about(engine: Recollect, what: str, name: str) -> dict[str, Any]:
    """Return the values of the page of a project or a tag."""
    here = Filter(project=name) if what == "project" else Filter(tags=(name,))
    counts = engine.facets(here)
    total = sum(engine.dates(here).made.values())
    if not total:
        raise NotFound(f"No memory has the {what} {name!r}.")
    decisions = replace(here, kind="decision", valid_at=engine.now())
    now = engine.now()
    expiring = engine.list_ending(here, PLACE_LISTED, since=now, until=shift(now, SOON))
    parts = (
        ("Newest decisions", "decisions", engine.list(decisions, PLACE_LISTED, newest=True)),
        ("Core memories", "core", engine.list(replace(here, tier="core"), PLACE_LISTED)),
        ("Expiring within 30 days", "expiring", expiring),
        ("Changed last", "newest", engine.list(here, PLACE_LISTED, newest=True)),
    )
    folders = [folder for folder in engine.folders() if folder.project == name]
    return {
        "what": what,
        "name": name,
        "total": total,
        "kinds": counts.kind,
        "query": query_string(**{what: name}),
        "parts": [(label, key, memories) for label, key, memories in parts if memories],
        "tags": _links("tag", {tag: n for tag, n in counts.tags.items() if tag != name}),
        "projects": _links(
            "project", counts.project if what == "tag" else similar_projects(engine, name)
        ),
        "folders": folders if what == "project" else [],
        "now": engine.now(),
    }


def similar_projects(engine: Recollect, project: str) -> dict[str, int]:
    """Count, for other projects, their memories with a common tag of this project."""
    shared: Counter[str] = Counter()
    for tag in [*engine.facets(Filter(project=project)).tags][:TAGS_IN_COMMON]:
        shared.update(engine.facets(Filter(tags=(tag,))).project)
    return {other: count for other, count in shared.most_common() if other != project}


# The review inbox

LABELS = {
    "keep": "Keep",
    "edit": "Edit",
    "merge": "Merge",
    "supersede": "Supersede",
    "forget": "Forget",
    "later": "Later",
}

UNCHANGING = ("keep", "later")  # decisions that change no memory


async def inbox(service: Service, request: Request) -> Response:
    """Show the page. A script loads the items later, as finding them takes seconds in a large
    vault. Without script the address has `items`."""
    kind = request.query_params.get("kind") or None
    values = {"address": f"/review/items?{query_string(kind=kind)}", "kind": kind, "items": None}
    if "items" in request.query_params:
        values |= await _find_items(service, kind)
    return page("review.html", request, values)


async def items(service: Service, request: Request) -> Response:
    """Show the items with their forms, as a piece of the page."""
    try:
        values = await _find_items(service, request.query_params.get("kind") or None)
    except RecollectError as error:
        return problem_piece(request, error)
    return page("_review.html", request, values)


async def _find_items(service: Service, kind: str | None) -> dict[str, Any]:
    # The engine refuses an unknown kind.
    found = await service.ask(service.engine.review, kind=cast(ReviewKind | None, kind))
    return {
        "items": found.items,
        "counts": found.counts,
        "total": sum(found.counts.values()),
        "kind": kind,
        "labels": LABELS,
        "now": service.engine.now(),
    }


async def decide(service: Service, request: Request) -> Response:
    """Carry out a decision and show the remaining items. `text`: the edited text of a proposal."""
    fields = await read_form(request)
    decision = fields.get("decision", "")
    text = fields.get("text", "") if decision == "edit" else ""
    changes = {"text": text} if text else None
    done = await service.ask(service.engine.decide, memory_id(request), decision, changes=changes)
    operations = await service.ask(_last_operations, service.engine, fields.getlist("memory"))
    undo = {"operation": max(operations)} if operations and decision not in UNCHANGING else {}
    kind = request.query_params.get("kind")
    return answer_form(request, done, f"/review?{query_string(kind=kind, items=True)}", undo)


def _last_operations(engine: Recollect, ids: Sequence[str]) -> list[int]:
    """Return the numbers of the last operations on these memories."""
    return [number for id in ids if (number := last_operation(engine, id))]
