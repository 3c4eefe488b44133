"""All pages, each with the capabilities and the pool it needs, and their static files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.interfaces.http.service import INTERFACE, POOL, Service
from recollect.interfaces.thread_pools import READS, SEARCHES, WRITES, ThreadPool
from recollect.interfaces.web import (
    browse,
    lab,
    live,
    memories,
    memory_form,
    places,
    review,
    search,
    timeline,
    upkeep,
)
from recollect.interfaces.web.rendering import STATIC, environment
from recollect.interfaces.web.waterfall import strength, waterfall

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
    Page(GET, "/projects", places.everything, pool=SEARCHES),
    Page(GET, "/project/{id:path}", partial(places.place, "project"), pool=SEARCHES),
    Page(GET, "/tag/{id:path}", partial(places.place, "tag"), pool=SEARCHES),
    Page(GET, "/trash", browse.trash, (DELETE,), SEARCHES),
    Page(POST, "/bulk", browse.bulk, (WRITE,)),
    Page(GET, "/timeline", timeline.timeline, pool=SEARCHES),
    Page(GET, "/timeline/filters", partial(browse.filters, "/timeline"), pool=SEARCHES),
    Page(GET, "/review", review.inbox, pool=SEARCHES),
    Page(GET, "/review/items", review.items, pool=SEARCHES),
    Page(POST, "/review/{id:path}", review.decide, (DELETE,)),
    Page(GET, "/palette", places.palette, pool=SEARCHES),
    Page(GET, "/palette/found", places.found, pool=SEARCHES),
    Page(GET, "/palette/capture", places.capture, (WRITE,), SEARCHES),
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
    """Every page and the folder of scripts, styles and pictures."""
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
