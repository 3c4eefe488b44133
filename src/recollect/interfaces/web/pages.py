"""All pages, the capabilities and the lane of each, and their static files."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.interfaces.http.service import INTERFACE, LANE, Service
from recollect.interfaces.lanes import READS, SEARCHES, WRITES, Lane
from recollect.interfaces.web import (
    browse,
    first_steps,
    lab,
    live,
    memories,
    palette,
    places,
    review,
    search,
    timeline,
    trash,
    upkeep,
)
from recollect.interfaces.web.rendering import STATIC

PAGES = (
    search,
    lab,
    live,
    memories,
    browse,
    places,
    trash,
    timeline,
    review,
    palette,
    first_steps,
    upkeep,
)
# Every page shows memories, and so needs search:use; these need more.
MORE: dict[str, str | tuple[str, ...]] = {
    "/feedback": WRITE,
    "/lab/feedback": WRITE,
    "/lab/reset": WRITE,
    "/lab/save": ADMIN,
    "/lab/rename": ADMIN,
    "/lab/delete": ADMIN,
    "/new": WRITE,
    "/new/values": WRITE,
    "/palette/capture": WRITE,
    "/edit/{id:path}": WRITE,
    "/pin/{id:path}": WRITE,
    "/undo": WRITE,
    "/undo/{id:path}": WRITE,
    "/supersede/{id:path}": WRITE,
    "/bulk": WRITE,
    "/samples": (WRITE, DELETE),  # those that were removed are brought back
    "/samples/remove": DELETE,
    "/trash": DELETE,
    "/forget/{id:path}": DELETE,
    "/restore/{id:path}": DELETE,
    "/review/{id:path}": DELETE,
    "/upkeep/work": ADMIN,
    "/unlock": ADMIN,
}
# These search, or read every memory to count something.
SEARCHING = frozenset({
    "/", "/results", "/lab", "/lab/results", "/related/{id:path}", "/browse/filters", "/timeline",
    "/timeline/filters", "/projects", "/project/{id:path}", "/tag/{id:path}", "/new/values",
    "/live", "/palette", "/palette/found", "/palette/capture", "/upkeep", "/review",
    "/review/items", "/trash",
})  # fmt: skip


class KeptFiles(StaticFiles):
    """Static files, which a browser may keep for ever: their address changes with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if response.status_code == 200 and scope.get("query_string", b"").startswith(b"v="):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def routes(service: Service) -> list[BaseRoute]:
    """Every page and the folder of scripts, styles and pictures."""
    found = [route for module in PAGES for route in module.routes(service)]
    guarded = [_guarded(service, route) for route in found]
    return [*guarded, Mount("/static", KeptFiles(directory=STATIC))]


def needed(path: str) -> tuple[str, ...]:
    """The capabilities that a page needs."""
    more = MORE.get(path, ())
    return (SEARCH, *([more] if isinstance(more, str) else more))


def lane(method: str, path: str) -> Lane:
    """Whose threads do a page's work. What a form sends changes something."""
    return WRITES if method == "POST" else SEARCHES if path in SEARCHING else READS


def _guarded(service: Service, route: BaseRoute) -> Route:
    """The same page, which first checks whether the caller may see it."""
    assert isinstance(route, Route)
    methods = sorted(route.methods or ())
    return Route(route.path, partial(_checked, service, route), methods=methods)


async def _checked(service: Service, route: Route, request: Request) -> Response:
    action = f"{request.method} {route.path}"
    service.engine.require(*needed(route.path), action=action)
    LANE.set(lane(request.method, route.path))
    INTERFACE.set("page")
    response: Response = await route.endpoint(request)
    return response
