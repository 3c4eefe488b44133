"""The pages there are, and the files they need."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from recollect.interfaces.http.service import Service
from recollect.interfaces.web import browse, lab, memories, search, timeline, upkeep
from recollect.interfaces.web.rendering import STATIC

PAGES = (search, lab, memories, browse, timeline, upkeep)


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
    return [*found, Mount("/static", KeptFiles(directory=STATIC))]
