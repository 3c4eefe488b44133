"""The routes for what becomes of memories: successors, merging, the trash, and many at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.interfaces.http import schemas
from recollect.interfaces.http.memories import ETAG, etag, refuse_change
from recollect.interfaces.http.operations import PREFIX, Call, Operation, ReplySpec, json_response
from recollect.interfaces.lanes import SEARCHES, WRITES
from recollect.memory_json import memory_json
from recollect.store.trash import trashed_json
from recollect.types import Memory


async def supersede(call: Call) -> Response:
    memory = await call.service.ask(call.engine.supersede, call.id, call.body.by)
    return json_response(memory_json(memory), headers=etag(memory))


async def chain(call: Call) -> Response:
    found = await call.service.ask(call.engine.chain, call.id)
    links = {name: list(map(memory_json, some)) for name, some in found._asdict().items()}
    return json_response(links)


async def merge(call: Call) -> Response:
    memory = await call.service.ask(call.engine.merge, call.body.ids, into=call.body.into)
    return json_response(memory_json(memory), headers=etag(memory))


async def trash(call: Call) -> Response:
    asked: schemas.TrashParameters = call.parameters
    filter = asked.filter(call.engine)
    found = await call.service.ask(call.engine.trash, asked.query, filter, asked.limit)
    return json_response({"trash": list(map(trashed_json, found))})


async def empty(call: Call) -> Response:
    return json_response({"purged": await call.service.ask(call.engine.empty_trash)})


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
) -> Operation:
    return Operation(
        "POST", f"{PREFIX}/bulk/{name}", run, about,
        {200: ReplySpec("All of these, in one transaction.", schemas.SelectedIds)},
        body=body, example=example, problems=(404,), needs=needs, lane=WRITES,
        refuse=_refuse_fields,
        details="Name the memories by `ids`, or by filters and `query`, of which a memory must "
        "hold every word. `dry_run` names them and changes nothing.",
    )  # fmt: skip


OPERATIONS = (
    Operation(
        "GET", f"{PREFIX}/trash", trash, "What was forgotten",
        {200: ReplySpec("The last first; with `q`, the best first.", schemas.TrashJson)},
        parameters=schemas.TrashParameters, needs=(SEARCH, DELETE), lane=SEARCHES,
        details=f"`{PREFIX}/restore/{{id}}` brings one back.",
    ),
    Operation(
        "DELETE", f"{PREFIX}/trash", empty, "Empty the trash",
        {200: ReplySpec("All of it is deleted permanently.", schemas.PurgedCount)},
        needs=(DELETE,), lane=WRITES,
    ),
    Operation(
        "POST", f"{PREFIX}/supersede/{{id:path}}", supersede, "Put another memory in its place",
        {200: ReplySpec("The memory, which is valid until now.", Memory, headers=ETAG)},
        body=schemas.Successor, example={"by": "auth-jwt-002"}, problems=(404,),
        needs=(WRITE, SEARCH), lane=WRITES,
        details="Searches answer with the other one first. Memories cannot replace each other in a "
        "circle. To save a memory in the place of others, give their ids as `supersedes`.",
    ),
    Operation(
        "GET", f"{PREFIX}/chain/{{id:path}}", chain, "What a memory replaces, and what replaced it",
        {200: ReplySpec("Both, by links.", schemas.ChainJson)}, problems=(404,),
    ),
    Operation(
        "POST", f"{PREFIX}/merge", merge, "Make one memory of several",
        {200: ReplySpec("The merged memory.", Memory, headers=ETAG)},
        body=schemas.MergeBody, example={"ids": ["auth-jwt-001", "auth-jwt-002"]}, problems=(404,),
        needs=(WRITE, DELETE, SEARCH), lane=WRITES,
        details="It keeps what any of them says; the others are forgotten, and their ids are "
        "answered with it.",
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
)  # fmt: skip
