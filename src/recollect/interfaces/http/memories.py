"""Routes for memories: one, many at once, the trash, and decisions of the review."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
from recollect.interfaces.thread_pools import SEARCHES, WRITES
from recollect.memory_json import id_path, memory_json
from recollect.store.upkeep import trashed_json
from recollect.types import Memory

ETAG = {"ETag": "The state of the memory; send it back as If-Match."}
MERGED = {"Content-Location": "The address of the memory that this one was merged into, if any."}
REDACTED = {"Recollect-Redacted": "How many secrets were replaced, if any."}
# The fields that a caller with write but without search access may see.
WITHOUT_SEARCH = ("id", "created_at", "updated_at")
IF_MATCH = {"If-Match": "Change it only if its ETag is still this one."}


def expected_revision(call: Call) -> str | None:
    """Return the revision in If-Match; None for `*` and without the header."""
    tag = call.request.headers.get("if-match", "").strip()
    if tag in ("", "*"):
        return None
    return tag.removeprefix("W/").strip('"')


def refuse_memories(body: object) -> None:
    """Raise UserError for the first invalid memory, with its index if there are several."""
    for index, fields in enumerate(body if isinstance(body, list) else [body]):
        try:
            if isinstance(fields, dict):
                _draft(dict(fields))
        except UserError as error:
            which = f"[{index}]: " if isinstance(body, list) else ""
            raise UserError(f"{which}{error}") from error


def _draft(fields: dict[str, Any]) -> Draft:
    supersedes = fields.pop("supersedes", None)
    return make_draft(fields, supersedes=supersedes)


def refuse_change(body: object) -> None:
    """Raise UserError for the first invalid field of a change."""
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
    parameters: schemas.BrowseParameters = call.parameters
    after = decode_place(parameters.cursor) if parameters.cursor else None
    filter, then = parameters.filter(call.engine), parameters.then(call.engine)
    limit = parameters.limit
    found = await call.service.ask(call.engine.list, filter, limit + 1, after, as_of=then)
    page, cursor = cut_page(found, limit)
    notes = [] if page else await call.service.ask(call.engine.unknown_values, filter)
    memories = [memory_json(memory) for memory in page]
    return json_response({"memories": memories, "next": cursor, "notes": notes})


async def show(call: Call) -> Response:
    parameters: schemas.ShowParameters = call.parameters
    then = read_as_of(structs.asdict(parameters), call.engine.now())
    [memory] = await call.service.ask(
        call.engine.show, [call.id], federate=parameters.federate, as_of=then
    )
    tags = call.request.headers.get("if-none-match", "").split(",")
    known = {tag.strip().removeprefix("W/") for tag in tags}  # a compressing proxy adds W/
    if {etag(memory)["ETag"], "*"} & known:
        return Response(status_code=304, headers=etag(memory))
    place = f"{PREFIX}/memories/{id_path(memory.id)}"
    merged = {"Content-Location": place} if memory.id != call.id else {}
    return json_response(memory_json(memory), headers=etag(memory) | merged)


async def change(call: Call) -> Response:
    fields = schemas.fields_of(call.body)
    ask = call.service.ask
    [done] = await ask(
        call.engine.edit_all, [call.id], if_revision=expected_revision(call), **fields
    )
    redacted = {"Recollect-Redacted": str(sum(done.redacted.values()))} if done.redacted else {}
    shown = memory_json(done.memory)
    if not call.engine.may(SEARCH):
        return json_response({name: shown[name] for name in WITHOUT_SEARCH}, headers=redacted)
    return json_response(shown, headers=etag(done.memory) | redacted)


async def forget(call: Call) -> Response:
    await call.service.ask(
        call.engine.forget,
        [call.id],
        purge=call.parameters.purge,
        if_revision=expected_revision(call),
    )
    return Response(status_code=204)


async def restore(call: Call) -> Response:
    await call.service.ask(call.engine.forget, [call.id], undo=True)
    [memory] = await call.service.ask(call.engine.show, [call.id], opened=False)
    return json_response(memory_json(memory), headers=etag(memory))


# The trash, changes of many memories, decisions


async def trash(call: Call) -> Response:
    parameters: schemas.TrashParameters = call.parameters
    query, filter = parameters.query, parameters.filter(call.engine)

    def read() -> dict[str, object]:
        found = call.engine.trash(query, filter, parameters.limit)
        cut = len(found) == parameters.limit
        total = call.engine.count_trash(query, filter) if cut else len(found)
        return {"trash": list(map(trashed_json, found)), "more": total - len(found)}

    return json_response(await call.service.ask(read))


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
        {200: ReplySpec("Done for all of these, in one transaction.", schemas.SelectedIds)},
        body=body, example=example, problems=(404,), needs=needs, pool=WRITES,
        refuse=_refuse_fields,
        details="Choose the memories by `ids`, or by filters and a `query` whose words a memory "
        "must all contain. `dry_run` lists them and changes nothing.",
    )  # fmt: skip


async def decide(call: Call) -> Response:
    body: schemas.DecisionBody = call.body
    changes: dict[str, Any] = schemas.fields_of(body.changes)
    if body.memory is not None:
        changes["id"] = body.memory
    done = await call.service.ask(call.engine.decide, call.id, body.decision, changes=changes)
    return json_response(schemas.Decided(call.id, body.decision, done))


OPERATIONS = (
    Endpoint(
        "POST", f"{PREFIX}/memories", save, "Save one memory or several",
        {
            200: ReplySpec(
                "Saved. An existing memory was updated, or was the same already.",
                schemas.SaveOutcome | list[schemas.SaveOutcome],
            ),
            201: ReplySpec(
                "A new memory was saved.", schemas.SaveOutcome,
                headers={"Location": "Its address.", **ETAG},
            ),
        },
        body=schemas.NewMemory | schemas.NewMemories, refuse=refuse_memories, needs=(WRITE,),
        pool=WRITES,
        example={
            "title": "Switched to JWT", "text": "Sessions became signed tokens.",
            "tags": ["auth"], "kind": "decision", "project": "harbor-api",
        },
        details=f"Of several (a list, up to {schemas.MOST_SAVED}), all are saved or none. An "
        "existing id is updated; so is a memory of the project that a memory without an id "
        "repeats. What was answered is durable.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/memories", browse, "Browse memories",
        {200: ReplySpec("A page of memories.", schemas.MemoryPage)},
        parameters=schemas.BrowseParameters,
        details="Core, then captures, then files; newest first in each. `next` is the cursor of "
        "the next page: it stays valid while memories are added and removed.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/memories/{{id:path}}", show, "Get a whole memory",
        {
            200: ReplySpec("The memory.", Memory, headers=ETAG | MERGED),
            304: ReplySpec("Its ETag is still the one in If-None-Match.", headers=ETAG),
        },
        headers={"If-None-Match": "Answer 304 if its ETag is still this one."},
        parameters=schemas.ShowParameters, problems=(404,), anywhere=True,
    ),
    Endpoint(
        "PATCH", f"{PREFIX}/memories/{{id:path}}", change, "Change a memory",
        {200: ReplySpec("The changed memory.", Memory, headers={**ETAG, **REDACTED})},
        body=schemas.MemoryChange, example={"severity": "warning", "add_tags": ["auth"]},
        headers=IF_MATCH, problems=(404, 412), refuse=refuse_change, needs=(WRITE,),
        pool=WRITES,
        details="A caller who may write but not search gets only the id and the times.",
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/memories/{{id:path}}", forget, "Forget a memory",
        {204: ReplySpec("Forgotten: searches no longer find it.")},
        parameters=schemas.ForgetParameters, headers=IF_MATCH, problems=(404, 412), needs=(DELETE,),
        pool=WRITES,
        details=f"`{PREFIX}/restore/{{id}}` restores it, unless it was purged.",
    ),
    Endpoint(
        "POST", f"{PREFIX}/restore/{{id:path}}", restore, "Restore a forgotten memory",
        {200: ReplySpec("The restored memory.", Memory, headers=ETAG)}, problems=(404,),
        needs=(DELETE, SEARCH), pool=WRITES,
    ),
    Endpoint(
        "GET", f"{PREFIX}/trash", trash, "List forgotten memories",
        {200: ReplySpec("Newest first; with `q`, best first.", schemas.TrashJson)},
        parameters=schemas.TrashParameters, needs=(SEARCH, DELETE), pool=SEARCHES,
        details=f"`{PREFIX}/restore/{{id}}` restores one.",
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
        "restore", restore_many, "Restore many forgotten memories", (DELETE, SEARCH),
        schemas.Selected, {"project": "old-site", "dry_run": True},
    ),
    Endpoint(
        "POST", f"{PREFIX}/review/{{id:path}}", decide, "Decide a review item",
        {200: ReplySpec("What was done.", schemas.Decided)}, body=schemas.DecisionBody,
        example={"decision": "merge"}, problems=(404,), needs=(SEARCH, DELETE), pool=WRITES,
    ),
)  # fmt: skip
