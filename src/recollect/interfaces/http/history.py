"""The routes that show what a memory was, and take changes back."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from recollect.auth.capabilities import SEARCH, WRITE
from recollect.engine.history import undone_json
from recollect.interfaces.http.operations import PREFIX, Call, Operation, ReplySpec, json_response
from recollect.interfaces.http.schemas import Id
from recollect.interfaces.lanes import WRITES
from recollect.present.history import VersionJson, history_json

Number = Annotated[int, Meta(ge=1)]


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


OPERATIONS = (
    Operation(
        "GET", f"{PREFIX}/history/{{id:path}}", history, "What a memory was, change by change",
        {200: ReplySpec("Its versions, newest first.", VersionList)}, problems=(404,),
        details="Of a forgotten memory only for callers who may bring it back.",
    ),
    Operation(
        "POST", f"{PREFIX}/undo", undo, "Take a change back",
        {200: ReplySpec("What was taken back.", UndoneJson)}, body=UndoBody,
        example={"id": "auth-jwt-001"}, problems=(404, 412), needs=(WRITE, SEARCH), lane=WRITES,
        details="Taking back is a change as well: it is in the history, and can be taken back. "
        "Where a memory was changed since, nothing is changed.",
    ),
    Operation(
        "POST", f"{PREFIX}/redo", redo, "Do again what the last undo took back",
        {200: ReplySpec("What was done again.", RedoneJson)},
        problems=(404, 412), needs=(WRITE, SEARCH), lane=WRITES,
        details="Where a memory was changed since, nothing is changed.",
    ),
)  # fmt: skip
