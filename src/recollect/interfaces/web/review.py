"""The inbox: what wants a decision, one form for each item."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.interfaces.http.service import Service
from recollect.interfaces.web.forms import memory_id, redirect, submitted
from recollect.interfaces.web.memory_text import heading
from recollect.interfaces.web.rendering import page, query_string

LABELS = {
    "keep": "Keep",
    "edit": "Edit",
    "merge": "Merge",
    "supersede": "Supersede",
    "forget": "Forget",
    "later": "Later",
}


def routes(service: Service) -> list[BaseRoute]:
    return [
        Route("/review", partial(inbox, service)),
        Route("/review/{id:path}", partial(decide, service), methods=["POST"]),
    ]


async def inbox(service: Service, request: Request) -> Response:
    kind = request.query_params.get("kind") or None
    found = await service.ask(service.engine.review, kind=kind)
    values: dict[str, Any] = {
        "items": found.items,
        "counts": found.counts,
        "total": sum(found.counts.values()),
        "kind": kind,
        "labels": LABELS,
        "heading": heading,
        "done": request.query_params.get("done", ""),
        "now": service.engine.now(),
    }
    return page("review.html", request, values)


async def decide(service: Service, request: Request) -> Response:
    """Carry it out, and go on with the rest. To edit a memory its own page is better;
    what would become one has its text here."""
    fields = await submitted(request)
    decision = fields.get("decision", [""])[0]
    text = fields.get("text", [""])[0] if decision == "edit" else ""
    changes = {"text": text} if text else None
    done = await service.ask(service.engine.decide, memory_id(request), decision, changes=changes)
    kind = request.query_params.get("kind")
    return redirect(f"/review?{query_string(kind=kind, done=done)}")
