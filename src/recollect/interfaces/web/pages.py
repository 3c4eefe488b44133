"""All pages with the capabilities and the pool they need, their static files, and the palette,
which finds pages, recipes, projects and memories by a few letters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.errors import RecollectError
from recollect.interfaces.http.schemas import from_parameters
from recollect.interfaces.http.service import INTERFACE, POOL, Service
from recollect.interfaces.requests import Query
from recollect.interfaces.thread_pools import READS, SEARCHES, WRITES, ThreadPool
from recollect.interfaces.web import (
    browse,
    lab,
    live,
    memories,
    memory_form,
    search,
    timeline,
    upkeep,
)
from recollect.interfaces.web.charts import strength, waterfall
from recollect.interfaces.web.rendering import (
    STATIC,
    environment,
    heading,
    problem_piece,
    query_string,
)
from recollect.interfaces.web.rendering import page as render_page
from recollect.memory_json import id_path

GET, POST = ("GET",), ("POST",)


class Page(NamedTuple):
    """One page, or the target of a form. `needs`: capabilities besides search:use, which all pages
    need. `pool`: the threads of a GET; a POST uses WRITES."""

    methods: tuple[str, ...]
    path: str
    answer: Callable[[Service, Request], Awaitable[Response]]
    needs: tuple[str, ...] = ()
    pool: ThreadPool = (
        READS  # SEARCHES for those that search, or read every memory to count something
    )

    async def respond(self, service: Service, request: Request) -> Response:
        """Check the caller's capabilities and answer."""
        service.engine.require(SEARCH, *self.needs, action=f"{request.method} {self.path}")
        POOL.set(self.pool_of(request.method))
        INTERFACE.set("page")
        return await self.answer(service, request)

    def pool_of(self, method: str) -> ThreadPool:
        return WRITES if method == "POST" else self.pool


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
    return render_page("_palette.html", request, {"groups": groups})


async def find_in_palette(service: Service, request: Request) -> Response:
    """Search memories for the letters so far, without a reranker."""
    try:
        asked: PaletteQuery = from_parameters(PaletteQuery, request.query_params)
        memories = await service.ask(_find_memories, service.engine, asked.query)
    except RecollectError as error:
        return problem_piece(request, error)
    return render_page("_palette.html", request, {"groups": [("Memories", memories)]})


async def capture_form(service: Service, request: Request) -> Response:
    projects = [*(await service.ask(service.engine.facets)).project]
    return render_page("_capture.html", request, {"projects": projects})


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


# The table of pages

PAGES = (
    Page(GET, "/", search.show, pool=SEARCHES),
    Page(GET, "/results", search.results, pool=SEARCHES),
    Page(POST, "/feedback", search.feedback, (WRITE,)),
    Page(GET, "/lab", lab.show, pool=SEARCHES),
    Page(GET, "/lab/results", lab.results, pool=SEARCHES),
    Page(POST, "/lab/feedback", lab.feedback, (WRITE,)),
    Page(POST, "/lab/reset", lab.reset, (WRITE,)),
    Page(POST, "/lab/save", lab.save, (ADMIN,)),
    Page(POST, "/lab/rename", lab.rename, (ADMIN,)),
    Page(POST, "/lab/delete", lab.rename, (ADMIN,)),
    Page(GET, "/live", live.live, pool=SEARCHES),
    Page(GET, "/live/events", live.events),
    Page(GET, "/memory/{id:path}", memories.show),
    Page(GET, "/preview/{id:path}", memories.preview),
    Page(GET, "/related/{id:path}", memories.related, pool=SEARCHES),
    Page(GET, "/edit/{id:path}", memory_form.edit, (WRITE,)),
    Page(POST, "/edit/{id:path}", memory_form.save_edit, (WRITE,)),
    Page(GET, "/new", memory_form.new, (WRITE,)),
    Page(POST, "/new", memory_form.save_new, (WRITE,)),
    Page(GET, "/new/values", memory_form.values_in_use, (WRITE,), SEARCHES),
    Page(POST, "/forget/{id:path}", memories.forget, (DELETE,)),
    Page(POST, "/restore/{id:path}", memories.restore, (DELETE,)),
    Page(POST, "/pin/{id:path}", memories.pin, (WRITE,)),
    Page(POST, "/undo", memories.undo_last, (WRITE,)),
    Page(POST, "/undo/{id:path}", memories.undo, (WRITE,)),
    Page(POST, "/supersede/{id:path}", memories.supersede, (WRITE,)),
    Page(GET, "/browse", browse.browse),
    Page(GET, "/browse/filters", partial(browse.filters, "/browse"), pool=SEARCHES),
    Page(GET, "/projects", browse.list_places, pool=SEARCHES),
    Page(GET, "/project/{id:path}", partial(browse.place, "project"), pool=SEARCHES),
    Page(GET, "/tag/{id:path}", partial(browse.place, "tag"), pool=SEARCHES),
    Page(GET, "/trash", browse.trash, (DELETE,), SEARCHES),
    Page(POST, "/bulk", browse.bulk, (WRITE,)),
    Page(GET, "/timeline", timeline.timeline, pool=SEARCHES),
    Page(GET, "/timeline/filters", partial(browse.filters, "/timeline"), pool=SEARCHES),
    Page(GET, "/review", browse.inbox, pool=SEARCHES),
    Page(GET, "/review/items", browse.items, pool=SEARCHES),
    Page(POST, "/review/{id:path}", browse.decide, (DELETE,)),
    Page(GET, "/palette", palette, pool=SEARCHES),
    Page(GET, "/palette/found", find_in_palette, pool=SEARCHES),
    Page(GET, "/palette/capture", capture_form, (WRITE,), SEARCHES),
    # The samples that were removed are brought back.
    Page(POST, "/samples", search.load_samples, (WRITE, DELETE)),
    Page(POST, "/samples/remove", search.remove_samples, (DELETE,)),
    Page(GET, "/upkeep", upkeep.overview, pool=SEARCHES),
    Page(GET + POST, "/upkeep/work", upkeep.work, (ADMIN,)),
    Page(POST, "/unlock", upkeep.unlock, (ADMIN,)),
)


class KeptFiles(StaticFiles):
    """Static files that browsers cache for ever: their address changes with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if response.status_code == 200 and scope.get("query_string", b"").startswith(b"v="):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of all pages and of the static files."""
    environment().globals |= {
        "first_steps": search.first_steps,
        "strength": strength,
        "verbs": live.VERBS,
        "waterfall": waterfall,
    }
    return [
        *(
            Route(page.path, partial(page.respond, service), methods=[*page.methods])
            for page in PAGES
        ),
        Mount("/static", KeptFiles(directory=STATIC)),
    ]
