"""The palette: pages, commands, recipes, projects and memories, to go to by a few letters; and the
small form that `n` opens."""

from __future__ import annotations

from functools import partial
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.errors import RecollectError
from recollect.interfaces.http.parameters import from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.requests import Query
from recollect.interfaces.web.forms import problem_piece
from recollect.interfaces.web.memory_text import heading
from recollect.interfaces.web.rendering import page, query_string
from recollect.memory_json import id_path

RECENT = 8
FOUND = 6
MOST_PROJECTS = 1000  # that letters find at once; then the page of all of them is offered
# What each leads to, the capability that it needs, and other words that people look for it by.
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
    """Something to go to; `words`: what it is found by beside its label."""

    label: str
    href: str
    words: str = ""


def routes(service: Service) -> list[BaseRoute]:
    return [
        Route("/palette", partial(palette, service)),
        Route("/palette/found", partial(found, service)),
        Route("/palette/capture", partial(capture, service)),
    ]


async def palette(service: Service, request: Request) -> Response:
    """Everything that there is to go to, of which the page shows what fits the letters."""
    groups = await service.ask(_everything, service.engine)
    return page("_palette.html", request, {"groups": groups})


async def found(service: Service, request: Request) -> Response:
    """The memories that answer what was typed so far, without waiting for a reranker."""
    try:
        asked: PaletteQuery = from_parameters(PaletteQuery, request.query_params)
        memories = await service.ask(_found, service.engine, asked.query)
    except RecollectError as error:
        return problem_piece(request, error)
    return page("_palette.html", request, {"groups": [("Memories", memories)]})


async def capture(service: Service, request: Request) -> Response:
    projects = [*(await service.ask(service.engine.facets)).project]
    return page("_capture.html", request, {"projects": projects})


def _everything(engine: Recollect) -> list[tuple[str, list[PaletteOption]]]:
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


def _found(engine: Recollect, query: str) -> list[PaletteOption]:
    results = engine.search(query, limit=FOUND, changes=engine.deferral(query)) if query else ()
    return [
        PaletteOption(heading(result.memory), f"/memory/{id_path(result.id)}") for result in results
    ]
