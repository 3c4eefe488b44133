"""The review inbox, with one form for each item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from recollect.engine import Recollect
from recollect.errors import RecollectError
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.rendering import (
    answer_form,
    last_operation,
    memory_id,
    page,
    problem_piece,
    query_string,
    read_form,
)
from recollect.types import ReviewKind

LABELS = {
    "keep": "Keep",
    "edit": "Edit",
    "merge": "Merge",
    "supersede": "Supersede",
    "forget": "Forget",
    "later": "Later",
}

UNCHANGING = ("keep", "later")  # decisions that change no memory


async def inbox(service: Service, request: Request) -> Response:
    """Show the page. A script loads the items later, as finding them takes seconds in a large
    vault. Without script the address has `items`."""
    kind = request.query_params.get("kind") or None
    values = {"address": f"/review/items?{query_string(kind=kind)}", "kind": kind, "items": None}
    if "items" in request.query_params:
        values |= await _find_items(service, kind)
    return page("review.html", request, values)


async def items(service: Service, request: Request) -> Response:
    """Show the items with their forms, as a piece of the page."""
    try:
        values = await _find_items(service, request.query_params.get("kind") or None)
    except RecollectError as error:
        return problem_piece(request, error)
    return page("_review.html", request, values)


async def _find_items(service: Service, kind: str | None) -> dict[str, Any]:
    # The engine refuses an unknown kind.
    found = await service.ask(service.engine.review, kind=cast(ReviewKind | None, kind))
    return {
        "items": found.items,
        "counts": found.counts,
        "total": sum(found.counts.values()),
        "kind": kind,
        "labels": LABELS,
        "now": service.engine.now(),
    }


async def decide(service: Service, request: Request) -> Response:
    """Carry out a decision and show the remaining items. `text`: the edited text of a proposal."""
    fields = await read_form(request)
    decision = fields.get("decision", "")
    text = fields.get("text", "") if decision == "edit" else ""
    changes = {"text": text} if text else None
    done = await service.ask(service.engine.decide, memory_id(request), decision, changes=changes)
    operations = await service.ask(_last_operations, service.engine, fields.getlist("memory"))
    undo = {"operation": max(operations)} if operations and decision not in UNCHANGING else {}
    kind = request.query_params.get("kind")
    return answer_form(request, done, f"/review?{query_string(kind=kind, items=True)}", undo)


def _last_operations(engine: Recollect, ids: Sequence[str]) -> list[int]:
    """Return the numbers of the last operations on these memories."""
    return [number for id in ids if (number := last_operation(engine, id))]
