"""The HTTP API, version 1: every route, each a few lines over the engine."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.draft import draft
from recollect.ingest.saving import saved_json
from recollect.interfaces.cursor import decode_place, encode_place
from recollect.interfaces.http import schemas
from recollect.interfaces.http.asking import Asked, Narrowing
from recollect.interfaces.http.operations import Answer, Call, Operation, answer
from recollect.memory_json import memory_json, revision
from recollect.present.response import as_json, context_json
from recollect.present.schema import ResponseJson
from recollect.recipes.overrides import tree
from recollect.recipes.show import as_toml, facts
from recollect.types import Memory, place_of

PREFIX = "/api/v1"
ETAG = {"ETag": "Which state of the memory this is; send it back as If-Match."}
REDACTED = {"Recollect-Redacted": "How many secrets were replaced; only where there were any."}
IF_MATCH = {"If-Match": "Change it only if it is still in the state with this ETag."}


def etag(memory: Memory) -> dict[str, str]:
    """A browser may keep a memory, if it asks each time whether it is still the same."""
    return {"ETag": f'"{revision(memory)}"', "Cache-Control": "private, no-cache"}


def expected(call: Call) -> str | None:
    """The revision that If-Match names; `*` and nothing name none."""
    told = call.request.headers.get("if-match", "").strip()
    if told in ("", "*"):
        return None
    return told.removeprefix("W/").strip('"')


# Memories


def refuse_memories(body: object) -> None:
    """What the engine says of the first memory that is wrong, and which of several it is."""
    for place, one in enumerate(body if isinstance(body, list) else [body]):
        try:
            if isinstance(one, dict):
                draft(one)
        except UserError as error:
            which = f"[{place}]: " if isinstance(body, list) else ""
            raise UserError(f"{which}{error}") from error


def refuse_change(body: object) -> None:
    told = dict(body) if isinstance(body, dict) else {}
    others = told.keys() - {"add_tags", "remove_tags"}
    draft({name: told[name] for name in told if name in others}, change=True)


async def save(call: Call) -> Response:
    many = isinstance(call.body, list)
    drafts = [draft(schemas.told(one)) for one in (call.body if many else [call.body])]
    saved = await call.service.ask(call.engine.save_all, drafts)
    if many:
        return answer([saved_json(one) for one in saved])
    [one] = saved
    place = quote(one.memory.id, safe="")
    headers = {"Location": f"{PREFIX}/memories/{place}", **etag(one.memory)}
    return answer(saved_json(one), 201 if one.outcome == "added" else 200, headers)


async def browse(call: Call) -> Response:
    asked: schemas.Listing = call.parameters
    after = decode_place(asked.cursor) if asked.cursor else None
    filter = asked.filter(call.engine)
    found = await call.service.ask(call.engine.list, filter, asked.limit + 1, after)
    page, more = found[: asked.limit], len(found) > asked.limit
    last = page[-1] if more else None
    behind = encode_place(place_of(last)) if last else None
    return answer({"memories": [memory_json(one) for one in page], "next": behind})


async def show(call: Call) -> Response:
    federate = call.parameters.federate
    [memory] = await call.service.ask(call.engine.show, [call.id], federate=federate)
    told = call.request.headers.get("if-none-match", "").split(",")
    known = {tag.strip().removeprefix("W/") for tag in told}  # a proxy that packs weakens it
    if {etag(memory)["ETag"], "*"} & known:
        return Response(status_code=304, headers=etag(memory))
    return answer(memory_json(memory), headers=etag(memory))


async def change(call: Call) -> Response:
    fields = schemas.told(call.body)
    ask = call.service.ask
    done = await ask(call.engine.edited, call.id, if_revision=expected(call), **fields)
    replaced = {"Recollect-Redacted": str(sum(done.redacted.values()))} if done.redacted else {}
    return answer(memory_json(done.memory), headers=etag(done.memory) | replaced)


async def forget(call: Call) -> Response:
    await call.service.ask(
        call.engine.forget, [call.id], purge=call.parameters.purge, if_revision=expected(call)
    )
    return Response(status_code=204)


async def restore(call: Call) -> Response:
    await call.service.ask(call.engine.forget, [call.id], undo=True)
    [memory] = await call.service.ask(call.engine.show, [call.id])
    return answer(memory_json(memory), headers=etag(memory))


async def related(call: Call) -> Response:
    found = await call.service.ask(call.engine.related, call.id, call.parameters.limit)
    return answer(as_json(found))


async def common(call: Call) -> Response:
    found = await call.service.ask(call.engine.facets, call.parameters.filter(call.engine))
    return answer(found._asdict())


# Searching


async def search(call: Call) -> Response:
    asked: Asked = call.parameters if call.body is None else call.body
    response = await call.service.ask(asked.answered, call.engine)
    call.metrics.search(response)
    return answer(as_json(response, asked.explain, whole=asked.whole))


async def context(call: Call) -> Response:
    asked: schemas.AskedContext = call.parameters
    found = await call.service.ask(
        call.engine.context,
        asked.query,
        limit=asked.limit,
        max_tokens=asked.max_tokens,
        filter=asked.filter(call.engine),
        semantic=asked.semantic,
        topup_recent=asked.topup_recent,
    )
    return answer(context_json(found))


async def feedback(call: Call) -> Response:
    said: schemas.Opinion = call.body
    call.engine.recipe(said.recipe)  # an unknown one is refused before anything is noted
    accepted, dismissed = await call.service.ask(
        call.engine.feedback, said.query, said.id, accept=said.accepted
    )
    weights = await call.service.ask(call.engine.learned, said.recipe)
    return answer(
        {
            "accepted": accepted,
            "dismissed": dismissed,
            "weights": {name: {"declared": a, "now": b} for name, (a, b) in weights.items()},
        }
    )


# Recipes


def _facts(engine: Recollect, name: str) -> dict[str, Any]:
    return facts(engine.recipe(name)) | {"default": name == engine.settings.search.recipe}


async def recipes(call: Call) -> Response:
    return answer(await call.service.ask(_recipes, call.engine))


def _recipes(engine: Recollect) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    broken: dict[str, str] = {}
    for name in engine.recipes.names():
        try:
            found.append(_facts(engine, name))
        except UserError as error:
            broken[name] = str(error)
    return {"recipes": found, "broken": broken}


async def recipe(call: Call) -> Response:
    return answer(await call.service.ask(_recipe, call.engine, call.request.path_params["name"]))


def _recipe(engine: Recollect, name: str) -> dict[str, Any]:
    declared = engine.recipe(name)
    return _facts(engine, name) | {"declared": tree(declared), "toml": as_toml(declared)}


async def save_recipe(call: Call) -> Response:
    new: schemas.NewRecipe = call.body
    await call.service.ask(
        call.engine.save_recipe, new.name, extends=new.extends, changes=new.set, replace=new.replace
    )
    headers = {"Location": f"{PREFIX}/recipes/{new.name}"}
    return answer(await call.service.ask(_recipe, call.engine, new.name), 201, headers)


FOUND = {200: Answer("The best results, first first.", ResponseJson)}
OPERATIONS = (
    Operation(
        "POST", f"{PREFIX}/memories", save, "Save one memory or several",
        {
            200: Answer(
                "Saved; one memory that was there already was updated or is as it was.",
                schemas.Saved | list[schemas.Saved],
            ),
            201: Answer(
                "A new memory was saved.", schemas.Saved,
                headers={"Location": "Where it is.", **ETAG},
            ),
        },
        body=schemas.NewMemory | schemas.Several, refuse=refuse_memories, needs=(WRITE,),
        example={
            "title": "Switched to JWT", "text": "Sessions became signed tokens.",
            "tags": ["auth"], "kind": "decision", "project": "harbor-api",
        },
        details=f"Several (a list, up to {schemas.MOST_SAVED}) are saved all or none. The same id "
        "again updates; so does a memory without an id that repeats one of its project. Durable "
        "when this answers.",
    ),
    Operation(
        "GET", f"{PREFIX}/memories", browse, "Browse memories",
        {200: Answer("A page of memories.", schemas.Listed)},
        parameters=schemas.Listing,
        details="Core, then captures, then files; newest first in each. `next` is the cursor of "
        "the next page: it stays right while memories come and go.",
    ),
    Operation(
        "GET", f"{PREFIX}/memories/{{id:path}}", show, "One memory, whole",
        {
            200: Answer("The memory.", Memory, headers=ETAG),
            304: Answer("It is as If-None-Match knows it.", headers=ETAG),
        },
        headers={"If-None-Match": "Answer 304 if it is still in the state with this ETag."},
        parameters=schemas.Showing, problems=(404,), anywhere=True,
    ),
    Operation(
        "PATCH", f"{PREFIX}/memories/{{id:path}}", change, "Change a memory",
        {200: Answer("The memory as it is now.", Memory, headers={**ETAG, **REDACTED})},
        body=schemas.Change, example={"severity": "warning", "add_tags": ["auth"]},
        headers=IF_MATCH, problems=(404, 412), refuse=refuse_change, needs=(WRITE,),
        details="Whoever may write and not search is answered with the id and the times alone.",
    ),
    Operation(
        "DELETE", f"{PREFIX}/memories/{{id:path}}", forget, "Forget a memory",
        {204: Answer("It is out of every answer.")},
        parameters=schemas.Deletion, headers=IF_MATCH, problems=(404, 412), needs=(DELETE,),
        details=f"It can be brought back by `{PREFIX}/restore/{{id}}`, unless it was purged.",
    ),
    Operation(
        "POST", f"{PREFIX}/restore/{{id:path}}", restore, "Bring a forgotten memory back",
        {200: Answer("The memory, live again.", Memory, headers=ETAG)}, problems=(404,),
        needs=(DELETE, SEARCH),
    ),
    Operation(
        "GET", f"{PREFIX}/related/{{id:path}}", related, "Memories about the same thing",
        FOUND, parameters=schemas.Near, problems=(404,),
    ),
    Operation(
        "GET", f"{PREFIX}/facets", common, "What memories have in common",
        {200: Answer("Counts by project, kind, source, tag and age.", schemas.CommonValues)},
        parameters=Narrowing,
    ),
    Operation(
        "POST", f"{PREFIX}/search", search, "Search", FOUND, body=Asked,
        example={"query": "how do we refresh tokens", "limit": 5, "explain": True}, problems=(404,),
        anywhere=True,
        details="`explain` adds to each result how its score came about; `facets` counts what all "
        "that was found has in common; `set` sets constants of the recipe otherwise; `whole` adds "
        "the memory to each result whatever the view; `vaults` narrows to these, and without "
        "`federate` this server's own vault answers alone.",
    ),
    Operation(
        "GET", f"{PREFIX}/search", search, "Search, with the query in the address", FOUND,
        parameters=Asked, problems=(404,), anywhere=True,
    ),
    Operation(
        "GET", f"{PREFIX}/context", context, "What an agent should know when it starts",
        {200: Answer("Memories, best first.", schemas.ContextFound)},
        parameters=schemas.AskedContext,
    ),
    Operation(
        "POST", f"{PREFIX}/feedback", feedback, "Say whether a result was right",
        {200: Answer("Noted.", schemas.OpinionNoted)}, body=schemas.Opinion,
        example={"query": "refresh tokens", "id": "auth-jwt-001", "accepted": True},
        problems=(404,), needs=(WRITE, SEARCH),
    ),
    Operation(
        "GET", f"{PREFIX}/recipes", recipes, "The rankings there are",
        {200: Answer("Each in short.", schemas.RecipeList)}, anywhere=True,
    ),
    Operation(
        "POST", f"{PREFIX}/recipes", save_recipe, "Keep a ranking of your own",
        {201: Answer("It is saved.", schemas.RecipeShown, headers={"Location": "Where it is."})},
        body=schemas.NewRecipe,
        example={"name": "mine", "extends": "blend", "set": {"fuse.weights.vector": 2.0}},
        problems=(404, 409), needs=(ADMIN, SEARCH),
    ),
    Operation(
        "GET", f"{PREFIX}/recipes/{{name}}", recipe, "A ranking, with everything it declares",
        {200: Answer("The recipe.", schemas.RecipeShown)}, problems=(404,), anywhere=True,
    ),
)  # fmt: skip
