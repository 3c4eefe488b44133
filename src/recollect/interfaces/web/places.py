"""Projects and tags as places: what each is about, in one page, and a list of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.engine import Recollect
from recollect.errors import NotFound
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.rendering import page, query_string
from recollect.interfaces.web.timeline import SOON
from recollect.memory_json import id_of_path, id_path
from recollect.types import Filter

LISTED = 6  # memories in each part of the page
TAGS_IN_COMMON = 6  # of a project's own tags, by which other projects are related


def routes(service: Service) -> list[BaseRoute]:
    return [
        Route("/projects", partial(everything, service)),
        Route("/project/{id:path}", partial(place, service, "project")),
        Route("/tag/{id:path}", partial(place, service, "tag")),
    ]


async def everything(service: Service, request: Request) -> Response:
    """The projects and tags there are."""
    counts = await service.ask(service.engine.facets)
    values = {"projects": linked("project", counts.project), "tags": linked("tag", counts.tags)}
    return page("projects.html", request, values)


async def place(service: Service, what: str, request: Request) -> Response:
    name = id_of_path(request.path_params["id"])
    return page("place.html", request, await service.ask(about, service.engine, what, name))


def linked(what: str, counts: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """Each value with the address of its page and its number of memories."""
    return [(value, f"/{what}/{id_path(value)}", count) for value, count in counts.items()]


def about(engine: Recollect, what: str, name: str) -> dict[str, Any]:
    """Everything the page of a project or a tag shows."""
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
        "tags": linked("tag", {tag: n for tag, n in counts.tags.items() if tag != name}),
        "projects": linked("project", counts.project if what == "tag" else related(engine, name)),
        "folders": folders if what == "project" else [],
        "now": engine.now(),
    }


def related(engine: Recollect, project: str) -> dict[str, int]:
    """Other projects, by how many of their memories have a tag that is common in this one."""
    shared: Counter[str] = Counter()
    for tag in [*engine.facets(Filter(project=project)).tags][:TAGS_IN_COMMON]:
        shared.update(engine.facets(Filter(tags=(tag,))).project)
    return {other: count for other, count in shared.most_common() if other != project}
