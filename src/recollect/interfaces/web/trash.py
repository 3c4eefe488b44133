"""What was forgotten, with the way back, and changes of several memories at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.errors import UserError
from recollect.interfaces.http.parameters import from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.requests import Query
from recollect.interfaces.web.forms import answer_change, submitted
from recollect.interfaces.web.rendering import page
from recollect.present.words import counted

SHOWN = 100
BULK = {
    "pin": "Pinned", "unpin": "Unpinned", "tag": "Tagged", "untag": "Removed the tag of",
    "move": "Moved", "forget": "Forgot",
}  # fmt: skip


class Looking(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to look for in the trash."""

    query: Annotated[Query, Meta(max_length=10_000)] = ""


def routes(service: Service) -> list[BaseRoute]:
    return [
        Route("/trash", partial(trash, service)),
        Route("/bulk", partial(bulk, service), methods=["POST"]),
    ]


async def trash(service: Service, request: Request) -> Response:
    asked: Looking = from_parameters(Looking, request.query_params)
    found = await service.ask(service.engine.trash, asked.query, limit=SHOWN)
    values = {"trash": found, "query": asked.query, "now": service.engine.now(), "shown": SHOWN}
    return page("trash.html", request, values)


async def bulk(service: Service, request: Request) -> Response:
    """Change the memories that were ticked in the list, all or none."""
    form = await submitted(request)
    ids, engine = form.get("id", []), service.engine
    action, value = form.get("action", [""])[-1], form.get("value", [""])[-1].strip()
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
        raise UserError("Tick the memories to change first.")
    await service.ask(changes[action])
    said = f"{BULK[action]} {counted(len(set(ids)), 'memory')}."
    return await answer_change(service, request, said, "/browse", ids[0])
