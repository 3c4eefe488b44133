"""The pages there are, what each needs its caller to be allowed, and the files they need."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.interfaces.http.service import Service
from recollect.interfaces.web import browse, lab, memories, search, timeline, upkeep
from recollect.interfaces.web.rendering import STATIC

PAGES = (search, lab, memories, browse, timeline, upkeep)
# Every page shows memories, and so needs search:use; these need more.
MORE = {
    "/feedback": WRITE,
    "/lab/feedback": WRITE,
    "/lab/save": ADMIN,
    "/new": WRITE,
    "/new/values": WRITE,
    "/edit/{id:path}": WRITE,
    "/pin/{id:path}": WRITE,
    "/forget/{id:path}": DELETE,
    "/restore/{id:path}": DELETE,
    "/upkeep/check": ADMIN,
    "/upkeep/repair": ADMIN,
    "/upkeep/embed": ADMIN,
}


class KeptFiles(StaticFiles):
    """Their address changes with what they hold, so a browser may keep them for ever."""

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
    """What the caller of a page must be allowed."""
    return (SEARCH, MORE[path]) if path in MORE else (SEARCH,)


def _guarded(service: Service, route: BaseRoute) -> Route:
    """The same page, which asks whether the caller may see it before it does anything."""
    assert isinstance(route, Route)
    methods = sorted(route.methods or ())
    return Route(route.path, partial(_checked, service, route), methods=methods)


async def _checked(service: Service, route: Route, request: Request) -> Response:
    action = f"{request.method} {route.path}"
    service.engine.require(*needed(route.path), action=action)
    response: Response = await route.endpoint(request)
    return response
