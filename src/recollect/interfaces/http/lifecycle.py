"""The routes for the trash, for many memories at once, and for decisions of the review."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from starlette.responses import Response

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.interfaces.http import schemas
from recollect.interfaces.http.memories import refuse_change
from recollect.interfaces.http.operations import (
    PREFIX,
    Call,
    Endpoint,
    ReplySpec,
    json_response,
)
from recollect.interfaces.http.schemas import Id, MemoryChange, fields_of
from recollect.interfaces.thread_pools import SEARCHES, WRITES
from recollect.store.trash import trashed_json
from recollect.types import Choice

Number = Annotated[int, Meta(ge=1)]
LIMIT, MOST = 20, 1000
Limit = Annotated[int, Meta(ge=1, le=MOST)]


async def trash(call: Call) -> Response:
    asked: schemas.TrashParameters = call.parameters
    filter = asked.filter(call.engine)

    def look() -> dict[str, object]:
        found = call.engine.trash(asked.query, filter, asked.limit)
        cut = len(found) == asked.limit
        every = call.engine.count_trash(asked.query, filter) if cut else len(found)
        return {"trash": list(map(trashed_json, found)), "more": every - len(found)}

    return json_response(await call.service.ask(look))


async def change_many(call: Call) -> Response:
    body: schemas.SelectedChange = call.body
    fields = schemas.fields_of(body.change)
    return await _with_chosen(
        call, lambda ids: call.engine.edit_all(ids, keep_age=body.keep_age, **fields)
    )


async def forget_many(call: Call) -> Response:
    return await _with_chosen(call, call.engine.forget)


async def restore_many(call: Call) -> Response:
    return await _with_chosen(call, call.engine.restore, forgotten=True)


async def _with_chosen(
    call: Call, work: Callable[[list[str]], object], *, forgotten: bool = False
) -> Response:
    def run() -> list[str]:
        ids: list[str] = call.body.chosen(call.engine, forgotten=forgotten)
        if not call.body.dry_run:
            work(ids)
        return ids

    return json_response({"ids": await call.service.ask(run), "dry_run": call.body.dry_run})


def _refuse_fields(body: object) -> None:
    if isinstance(body, dict):
        refuse_change(body.get("change"))


def _bulk(
    name: str,
    run: Callable[[Call], Awaitable[Response]],
    about: str,
    needs: tuple[str, ...],
    body: type[schemas.Selected],
    example: dict[str, object],
) -> Endpoint:
    return Endpoint(
        "POST", f"{PREFIX}/bulk/{name}", run, about,
        {200: ReplySpec("All of these, in one transaction.", schemas.SelectedIds)},
        body=body, example=example, problems=(404,), needs=needs, pool=WRITES,
        refuse=_refuse_fields,
        details="Name the memories by `ids`, or by filters and `query`, of which a memory must "
        "hold every word. `dry_run` names them and changes nothing.",
    )  # fmt: skip


class DecisionBody(Struct, forbid_unknown_fields=True):
    """A decision; with `edit`, the memory's new fields. `memory`: which one of several."""

    decision: Choice
    changes: MemoryChange = field(default_factory=MemoryChange)
    memory: Id | None = None


class Decided(Struct):
    item: str
    decision: Choice
    done: str


async def decide(call: Call) -> Response:
    body: DecisionBody = call.body
    changes: dict[str, Any] = fields_of(body.changes)
    if body.memory is not None:
        changes["id"] = body.memory
    done = await call.service.ask(call.engine.decide, call.id, body.decision, changes=changes)
    return json_response(Decided(call.id, body.decision, done))


OPERATIONS = (
    Endpoint(
        "GET", f"{PREFIX}/trash", trash, "What was forgotten",
        {200: ReplySpec("The last first; with `q`, the best first.", schemas.TrashJson)},
        parameters=schemas.TrashParameters, needs=(SEARCH, DELETE), pool=SEARCHES,
        details=f"`{PREFIX}/restore/{{id}}` brings one back.",
    ),
    _bulk(
        "change", change_many, "Change many memories", (WRITE, SEARCH), schemas.SelectedChange,
        {"project": "harbor-api", "change": {"add_tags": ["api"]}, "keep_age": True},
    ),
    _bulk(
        "forget", forget_many, "Forget many memories", (DELETE, SEARCH), schemas.Selected,
        {"project": "old-site", "dry_run": True},
    ),
    _bulk(
        "restore", restore_many, "Bring many forgotten memories back", (DELETE, SEARCH),
        schemas.Selected, {"project": "old-site", "dry_run": True},
    ),
    Endpoint(
        "POST", f"{PREFIX}/review/{{id:path}}", decide, "Decide an item of the review",
        {200: ReplySpec("What was done.", Decided)}, body=DecisionBody,
        example={"decision": "merge"}, problems=(404,), needs=(SEARCH, DELETE), pool=WRITES,
    ),
)  # fmt: skip
