"""The routes for what becomes of memories: successors, merging, the trash, many at once; history
and undo; the review."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from starlette.responses import Response

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.engine.history import undone_json
from recollect.engine.review import review_json
from recollect.interfaces.http import schemas
from recollect.interfaces.http.memories import ETAG, etag, refuse_change
from recollect.interfaces.http.operations import PREFIX, Call, Endpoint, ReplySpec, json_response
from recollect.interfaces.http.schemas import Id, MemoryChange, fields_of
from recollect.interfaces.lanes import SEARCHES, WRITES
from recollect.memory_json import memory_json
from recollect.present.history import VersionJson, history_json
from recollect.store.trash import trashed_json
from recollect.types import Choice, Memory, ReviewKind

Number = Annotated[int, Meta(ge=1)]
LIMIT, MOST = 20, 1000
Limit = Annotated[int, Meta(ge=1, le=MOST)]


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
) -> Endpoint:
    return Endpoint(
        "POST", f"{PREFIX}/bulk/{name}", run, about,
        {200: ReplySpec("All of these, in one transaction.", schemas.SelectedIds)},
        body=body, example=example, problems=(404,), needs=needs, lane=WRITES,
        refuse=_refuse_fields,
        details="Name the memories by `ids`, or by filters and `query`, of which a memory must "
        "hold every word. `dry_run` names them and changes nothing.",
    )  # fmt: skip


class VersionList(Struct):
    """The versions of a memory, newest first."""

    versions: list[VersionJson]


class UndoBody(Struct, forbid_unknown_fields=True):
    """Without an `id`, the caller's own last change is taken back. `to`: the version of the memory
    to go back to. `if_version`: only while that is the newest one."""

    id: Id | None = None
    to: Number | None = None
    if_version: Number | None = None


class UndoneJson(Struct):
    """What was taken back; those of `forgotten` went to the trash."""

    undone: str
    at: str
    ids: list[str]
    forgotten: list[str]


class RedoneJson(Struct):
    """What was done again; those of `forgotten` went to the trash."""

    redone: str
    at: str
    ids: list[str]
    forgotten: list[str]


async def history(call: Call) -> Response:
    versions = await call.service.ask(call.engine.history, call.id)
    return json_response({"versions": history_json(versions)})


async def undo(call: Call) -> Response:
    body: UndoBody = call.body
    done = await call.service.ask(call.engine.undo, body.id, to=body.to, if_version=body.if_version)
    return json_response(undone_json(done, "undone"))


async def redo(call: Call) -> Response:
    return json_response(undone_json(await call.service.ask(call.engine.redo), "redone"))


class ReviewParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: ReviewKind | None = None
    limit: Limit = LIMIT


class DuplicateParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Limit = LIMIT


class ReviewItemBody(Struct):
    id: str
    kind: ReviewKind
    why: str
    sure: float
    suggested: Choice
    choices: list[Choice]
    proposed: Annotated[str, Meta(description="What an agent would do; empty: none said anything.")]
    memories: list[Memory]


class ReviewBody(Struct):
    items: list[ReviewItemBody]
    counts: dict[str, int]


class DecisionBody(Struct, forbid_unknown_fields=True):
    """A decision; with `edit`, the memory's new fields. `memory`: which one of several."""

    decision: Choice
    changes: MemoryChange = field(default_factory=MemoryChange)
    memory: Id | None = None


class Decided(Struct):
    item: str
    decision: Choice
    done: str


class DuplicateBody(Struct):
    reason: str
    sure: float
    ids: list[str]
    about: str


async def review(call: Call) -> Response:
    asked: ReviewParameters = call.parameters
    found = await call.service.ask(call.engine.review, limit=asked.limit, kind=asked.kind)
    return json_response(review_json(found))


async def decide(call: Call) -> Response:
    body: DecisionBody = call.body
    changes: dict[str, Any] = fields_of(body.changes)
    if body.memory is not None:
        changes["id"] = body.memory
    done = await call.service.ask(call.engine.decide, call.id, body.decision, changes=changes)
    return json_response(Decided(call.id, body.decision, done))


async def duplicates(call: Call) -> Response:
    found = await call.service.ask(call.engine.duplicates)
    return json_response([group._asdict() for group in found[: call.parameters.limit]])


OPERATIONS = (
    Endpoint(
        "GET", f"{PREFIX}/trash", trash, "What was forgotten",
        {200: ReplySpec("The last first; with `q`, the best first.", schemas.TrashJson)},
        parameters=schemas.TrashParameters, needs=(SEARCH, DELETE), lane=SEARCHES,
        details=f"`{PREFIX}/restore/{{id}}` brings one back.",
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/trash", empty, "Empty the trash",
        {200: ReplySpec("All of it is deleted permanently.", schemas.PurgedCount)},
        needs=(DELETE,), lane=WRITES,
    ),
    Endpoint(
        "POST", f"{PREFIX}/supersede/{{id:path}}", supersede, "Put another memory in its place",
        {200: ReplySpec("The memory, which is valid until now.", Memory, headers=ETAG)},
        body=schemas.Successor, example={"by": "auth-jwt-002"}, problems=(404,),
        needs=(WRITE, SEARCH), lane=WRITES,
        details="Searches answer with the other one first. Memories cannot replace each other in a "
        "circle. To save a memory in the place of others, give their ids as `supersedes`.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/chain/{{id:path}}", chain, "What a memory replaces, and what replaced it",
        {200: ReplySpec("Both, by links.", schemas.ChainJson)}, problems=(404,),
    ),
    Endpoint(
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
    Endpoint(
        "GET", f"{PREFIX}/history/{{id:path}}", history, "What a memory was, change by change",
        {200: ReplySpec("Its versions, newest first.", VersionList)}, problems=(404,),
        details="Of a forgotten memory only for callers who may bring it back.",
    ),
    Endpoint(
        "POST", f"{PREFIX}/undo", undo, "Take a change back",
        {200: ReplySpec("What was taken back.", UndoneJson)}, body=UndoBody,
        example={"id": "auth-jwt-001"}, problems=(404, 412), needs=(WRITE, SEARCH), lane=WRITES,
        details="Taking back is a change as well: it is in the history, and can be taken back. "
        "Where a memory was changed since, nothing is changed.",
    ),
    Endpoint(
        "POST", f"{PREFIX}/redo", redo, "Do again what the last undo took back",
        {200: ReplySpec("What was done again.", RedoneJson)},
        problems=(404, 412), needs=(WRITE, SEARCH), lane=WRITES,
        details="Where a memory was changed since, nothing is changed.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/review", review, "What wants a decision",
        {200: ReplySpec("The next items, and how many there are of each kind.", ReviewBody)},
        parameters=ReviewParameters, lane=SEARCHES,
        details="An item has the same id as long as it is about the same memories. One that was "
        "decided comes back when they change.",
    ),
    Endpoint(
        "POST", f"{PREFIX}/review/{{id:path}}", decide, "Decide an item of the review",
        {200: ReplySpec("What was done.", Decided)}, body=DecisionBody,
        example={"decision": "merge"}, problems=(404,), needs=(SEARCH, DELETE), lane=WRITES,
    ),
    Endpoint(
        "GET", f"{PREFIX}/duplicates", duplicates, "Memories that say the same",
        {200: ReplySpec("Groups, the surest first, the one to keep first.", list[DuplicateBody])},
        parameters=DuplicateParameters, lane=SEARCHES,
    ),
)  # fmt: skip
