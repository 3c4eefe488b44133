"""Pages of projects and tags with their memories; and the palette, which finds pages, recipes,
projects and memories by a few letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.errors import NotFound, RecollectError
from recollect.interfaces.http.schemas import from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.requests import Query
from recollect.interfaces.web.rendering import heading, page, problem_piece, query_string
from recollect.interfaces.web.timeline import SOON
from recollect.memory_json import id_of_path, id_path
from recollect.types import Filter

LISTED = 6  # memories in each part of the page
TAGS_IN_COMMON = 6  # of a project's own tags, by which other projects are related


async def everything(service: Service, request: Request) -> Response:
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
    parts = (
        ("Newest decisions", "decisions", engine.list(decisions, LISTED, newest=True)),
        ("Core memories", "core", engine.list(replace(here, tier="core"), LISTED)),
        ("Expiring within 30 days", "expiring", engine.expiring(here, LISTED, within=SOON)),
        ("Changed last", "newest", engine.list(here, LISTED, newest=True)),
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


# The palette

RECENT = 8
FOUND = 6
MOST_PROJECTS = 1000  # in the palette; with more, it links to the page of all projects
# Label, path, needed capability, and other words to find it by.
COMMANDS = (
    ("New memory", "/new", WRITE, "write save capture n"),
    ("Search", "/", SEARCH, "find"),
    ("Browse all memories", "/browse", SEARCH, "list"),
    ("Review", "/review", SEARCH, "inbox decide duplicates contradictions"),
    ("Live", "/live", SEARCH, "feed activity log audit"),
    ("Timeline", "/timeline", SEARCH, "history dates"),
    ("Projects and tags", "/projects", SEARCH, ""),
    ("Trash", "/trash", DELETE, "forgotten restore deleted"),
    ("Lab: compare recipes", "/lab", SEARCH, "ranking"),
    ("Upkeep", "/upkeep", SEARCH, "settings models vectors doctor"),
    ("Check the vault", "/upkeep#check", ADMIN, "doctor repair"),
    ("Bookmarklet", "/new#bookmarklet", WRITE, "browser selection clip"),
)


class PaletteQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    query: Annotated[Query, Meta(max_length=200)] = ""


class PaletteOption(NamedTuple):
    """An entry of the palette. `words`: found by these as well as by its label."""

    label: str
    href: str
    words: str = ""


async def palette(service: Service, request: Request) -> Response:
    """Return all entries; the page shows those that match the letters."""
    groups = await service.ask(_palette_groups, service.engine)
    return page("_palette.html", request, {"groups": groups})


async def found(service: Service, request: Request) -> Response:
    """Search memories for the letters so far, without a reranker."""
    try:
        asked: PaletteQuery = from_parameters(PaletteQuery, request.query_params)
        memories = await service.ask(_find_memories, service.engine, asked.query)
    except RecollectError as error:
        return problem_piece(request, error)
    return page("_palette.html", request, {"groups": [("Memories", memories)]})


async def capture(service: Service, request: Request) -> Response:
    projects = [*(await service.ask(service.engine.facets)).project]
    return page("_capture.html", request, {"projects": projects})


def _palette_groups(engine: Recollect) -> list[tuple[str, list[PaletteOption]]]:
    recent = engine.list(limit=RECENT, newest=True)
    commands = [
        PaletteOption(label, href, words)
        for label, href, needs, words in COMMANDS
        if engine.may(needs)
    ]
    recipes = [
        PaletteOption(f"Search with {name}", f"/?{query_string(recipe=name)}", "recipe ranking")
        for name in engine.recipes.names()
    ]
    names = [*engine.facets().project]
    projects = [
        PaletteOption(name, f"/project/{id_path(name)}", "project")
        for name in names[:MOST_PROJECTS]
    ]
    if len(names) > MOST_PROJECTS:
        projects.append(PaletteOption(f"All {len(names):,} projects", "/projects", "project"))
    named = [PaletteOption(heading(memory), f"/memory/{id_path(memory.id)}") for memory in recent]
    return [("Commands", commands), ("Recent", named), ("Projects", projects), ("Recipes", recipes)]


def _find_memories(engine: Recollect, query: str) -> list[PaletteOption]:
    results = engine.search(query, limit=FOUND, changes=engine.deferral(query)) if query else ()
    return [
        PaletteOption(heading(result.memory), f"/memory/{id_path(result.id)}") for result in results
    ]
