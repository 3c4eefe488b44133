"""The routes that save, browse, show, change and forget memories."""

from __future__ import annotations

from typing import Any

from msgspec import structs
from starlette.responses import Response

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.errors import UserError
from recollect.ingest.draft import Draft, make_draft
from recollect.ingest.saving import saved_json
from recollect.interfaces.http import schemas
from recollect.interfaces.http.operations import (
    PREFIX,
    Call,
    Endpoint,
    ReplySpec,
    etag,
    json_response,
)
from recollect.interfaces.requests import cut_page, decode_place, read_as_of
from recollect.interfaces.thread_pools import WRITES
from recollect.memory_json import id_path, memory_json
from recollect.types import Memory

ETAG = {"ETag": "Which state of the memory this is; send it back as If-Match."}
MERGED = {"Content-Location": "Where the memory is that this one was merged into, if it was."}
REDACTED = {"Recollect-Redacted": "How many secrets were replaced; only where there were any."}
# All that a caller who may write and not read is told of a memory.
UNREAD = ("id", "created_at", "updated_at")
IF_MATCH = {"If-Match": "Change it only if it is still in the state with this ETag."}


def expected(call: Call) -> str | None:
    """The revision that If-Match names; None for `*` and where there is no such header."""
    tag = call.request.headers.get("if-match", "").strip()
    if tag in ("", "*"):
        return None
    return tag.removeprefix("W/").strip('"')


def refuse_memories(body: object) -> None:
    """Raise what the engine says of the first invalid memory, and which of several it is."""
    for place, fields in enumerate(body if isinstance(body, list) else [body]):
        try:
            if isinstance(fields, dict):
                _draft(dict(fields))
        except UserError as error:
            which = f"[{place}]: " if isinstance(body, list) else ""
            raise UserError(f"{which}{error}") from error


def _draft(fields: dict[str, Any]) -> Draft:
    supersedes = fields.pop("supersedes", None)
    return make_draft(fields, supersedes=supersedes)


def refuse_change(body: object) -> None:
    fields = dict(body) if isinstance(body, dict) else {}
    others = ("add_tags", "remove_tags", "append", "section")
    make_draft({name: fields[name] for name in fields if name not in others}, change=True)


async def save(call: Call) -> Response:
    many = isinstance(call.body, list)
    drafts = [_draft(schemas.fields_of(body)) for body in (call.body if many else [call.body])]
    outcomes = await call.service.ask(call.engine.save_all, drafts)
    if many:
        return json_response([saved_json(saved) for saved in outcomes])
    [saved] = outcomes
    similar = await call.service.ask(call.engine.similar, saved.memory)
    place = id_path(saved.memory.id)
    headers = {"Location": f"{PREFIX}/memories/{place}", **etag(saved.memory)}
    return json_response(
        saved_json(saved, similar), 201 if saved.outcome == "added" else 200, headers
    )


async def browse(call: Call) -> Response:
    asked: schemas.BrowseParameters = call.parameters
    after = decode_place(asked.cursor) if asked.cursor else None
    filter = asked.filter(call.engine)
    then = asked.then(call.engine)
    found = await call.service.ask(call.engine.list, filter, asked.limit + 1, after, as_of=then)
    page, cursor = cut_page(found, asked.limit)
    notes = [] if page else await call.service.ask(call.engine.unknown_values, filter)
    memories = [memory_json(memory) for memory in page]
    return json_response({"memories": memories, "next": cursor, "notes": notes})


async def show(call: Call) -> Response:
    asked: schemas.ShowParameters = call.parameters
    then = read_as_of(structs.asdict(asked), call.engine.now())
    [memory] = await call.service.ask(
        call.engine.show, [call.id], federate=asked.federate, as_of=then
    )
    tags = call.request.headers.get("if-none-match", "").split(",")
    known = {tag.strip().removeprefix("W/") for tag in tags}  # a proxy that compresses weakens it
    if {etag(memory)["ETag"], "*"} & known:
        return Response(status_code=304, headers=etag(memory))
    place = f"{PREFIX}/memories/{id_path(memory.id)}"
    merged = {"Content-Location": place} if memory.id != call.id else {}
    return json_response(memory_json(memory), headers=etag(memory) | merged)


async def change(call: Call) -> Response:
    fields = schemas.fields_of(call.body)
    ask = call.service.ask
    done = await ask(call.engine.edited, call.id, if_revision=expected(call), **fields)
    replaced = {"Recollect-Redacted": str(sum(done.redacted.values()))} if done.redacted else {}
    if not call.engine.may(SEARCH):
        shown = memory_json(done.memory)
        return json_response({name: shown[name] for name in UNREAD}, headers=replaced)
    return json_response(memory_json(done.memory), headers=etag(done.memory) | replaced)


async def forget(call: Call) -> Response:
    await call.service.ask(
        call.engine.forget, [call.id], purge=call.parameters.purge, if_revision=expected(call)
    )
    return Response(status_code=204)


async def restore(call: Call) -> Response:
    await call.service.ask(call.engine.forget, [call.id], undo=True)
    [memory] = await call.service.ask(call.engine.looked_up, [call.id])
    return json_response(memory_json(memory), headers=etag(memory))


OPERATIONS = (
    Endpoint(
        "POST", f"{PREFIX}/memories", save, "Save one memory or several",
        {
            200: ReplySpec(
                "Saved. A memory that existed already was updated, or had nothing to change.",
                schemas.SaveOutcome | list[schemas.SaveOutcome],
            ),
            201: ReplySpec(
                "A new memory was saved.", schemas.SaveOutcome,
                headers={"Location": "Where it is.", **ETAG},
            ),
        },
        body=schemas.NewMemory | schemas.NewMemories, refuse=refuse_memories, needs=(WRITE,),
        pool=WRITES,
        example={
            "title": "Switched to JWT", "text": "Sessions became signed tokens.",
            "tags": ["auth"], "kind": "decision", "project": "harbor-api",
        },
        details=f"Several (a list, up to {schemas.MOST_SAVED}) are saved all or none. The same id "
        "again updates; so does a memory without an id that repeats one of its project. Durable "
        "when this answers.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/memories", browse, "Browse memories",
        {200: ReplySpec("A page of memories.", schemas.MemoryPage)},
        parameters=schemas.BrowseParameters,
        details="Core, then captures, then files; newest first in each. `next` is the cursor of "
        "the next page: it stays right while memories come and go.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/memories/{{id:path}}", show, "One memory, whole",
        {
            200: ReplySpec("The memory.", Memory, headers=ETAG | MERGED),
            304: ReplySpec("It is unchanged since the ETag in If-None-Match.", headers=ETAG),
        },
        headers={"If-None-Match": "Answer 304 if it is still in the state with this ETag."},
        parameters=schemas.ShowParameters, problems=(404,), anywhere=True,
    ),
    Endpoint(
        "PATCH", f"{PREFIX}/memories/{{id:path}}", change, "Change a memory",
        {200: ReplySpec("The memory as it is now.", Memory, headers={**ETAG, **REDACTED})},
        body=schemas.MemoryChange, example={"severity": "warning", "add_tags": ["auth"]},
        headers=IF_MATCH, problems=(404, 412), refuse=refuse_change, needs=(WRITE,),
        pool=WRITES,
        details="A caller who may write but not search gets the id and the times alone.",
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/memories/{{id:path}}", forget, "Forget a memory",
        {204: ReplySpec("Forgotten: no search finds it any more.")},
        parameters=schemas.ForgetParameters, headers=IF_MATCH, problems=(404, 412), needs=(DELETE,),
        pool=WRITES,
        details=f"It can be restored by `{PREFIX}/restore/{{id}}`, unless it was purged.",
    ),
    Endpoint(
        "POST", f"{PREFIX}/restore/{{id:path}}", restore, "Restore a forgotten memory",
        {200: ReplySpec("The memory, restored.", Memory, headers=ETAG)}, problems=(404,),
        needs=(DELETE, SEARCH), pool=WRITES,
    ),
)  # fmt: skip
