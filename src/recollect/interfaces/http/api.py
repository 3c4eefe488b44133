"""Version 1 of the HTTP API: its routes, health checks and metrics, and the OpenAPI document."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.auth.capabilities import ADMIN, SEARCH, WRITE
from recollect.errors import RecollectError
from recollect.interfaces.http import memories, operations, schemas
from recollect.interfaces.http.guard import OPEN_PATHS
from recollect.interfaces.http.logs import Metrics
from recollect.interfaces.http.operations import (
    BODIES,
    JSON,
    PREFIX,
    Call,
    Endpoint,
    ReplySpec,
    json_response,
)
from recollect.interfaces.http.problems import MEDIA_TYPE, Problem
from recollect.interfaces.http.schemas import PARAMETERS, SearchParameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.thread_pools import HEALTH, SEARCHES, WRITES
from recollect.present.response import as_json
from recollect.present.schema import ResponseJson
from recollect.recipes.learned import weights_json
from recollect.recipes.registry import RecipeDetails
from recollect.version import __version__

# The OpenAPI document, generated from the operations and their types

REFERENCE = "#/components/schemas/{name}"
# Problem statuses of every route, and those of a route that takes a body.
ALWAYS = (400, 401, 403, 408, 414, 421, 423, 500, 502, 503)
WITH_BODY = (413, 415)
CONVERTOR = re.compile(r":\w+}")
PROBLEMS = {
    400: "The request is not valid; `detail` says why.",
    401: "A token is needed, or this one is not valid.",
    403: "The token does not allow this, or a page of another origin called.",
    404: "What the request names does not exist.",
    408: "The request arrived too slowly.",
    409: "It already exists.",
    412: "It was changed in the meantime, so nothing was written.",
    413: "The request is too large.",
    414: "The address is too long.",
    415: "The body is not JSON.",
    421: "The server does not accept that host name.",
    423: "The vault is locked, and the server does not have its key.",
    500: "The server failed unexpectedly.",
    502: "A model server failed or did not answer.",
    503: "The vault or the server is too busy, or the vault cannot be read.",
}


def openapi(*, required: bool) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document. `required`: callers need a token."""
    kinds: list[Any] = [Problem]
    for operation in OPERATIONS:
        kinds += [reply.type for reply in operation.replies.values() if reply.type is not None]
        kinds += [kind for kind in (operation.body, operation.parameters) if kind is not None]
    made, components = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    schema_of = {str(kind): schema for kind, schema in zip(kinds, made, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        path = CONVERTOR.sub("}", operation.path)
        described = _operation(operation, schema_of, components)
        paths.setdefault(path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Recollect",
            "version": __version__,
            "description": "Memory search for AI agents and the people they work for.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [*([] if required else [{}]), {"token": []}],
    }


def _operation(
    operation: Endpoint, schema_of: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": operation.about,
        "operationId": _name(operation),
    }
    if operation.path.startswith(OPEN_PATHS):
        described["security"] = []
    if operation.needs:
        described["x-capabilities"] = list(operation.needs)
    if operation.details:
        described["description"] = operation.details
    described["parameters"] = _parameters(operation, components)
    if operation.body is not None:
        body = {"schema": schema_of[str(operation.body)], "example": operation.example}
        content = dict.fromkeys(BODIES if operation.method == "PATCH" else (JSON,), body)
        described["requestBody"] = {"required": True, "content": content}
    problem = {MEDIA_TYPE: {"schema": schema_of[str(Problem)]}}
    statuses = (*ALWAYS, *(WITH_BODY if operation.body is not None else ()), *operation.problems)
    described["responses"] = {
        str(status): {
            "description": PROBLEMS.get(status, HTTPStatus(status).phrase), "content": problem
        }
        for status in sorted(statuses)
    }  # fmt: skip
    for status, reply in operation.replies.items():
        described["responses"][str(status)] = _reply(reply, schema_of)
    return described


def _name(operation: Endpoint) -> str:
    """Return a unique id such as `get_memories_id`; generated clients name their method by it."""
    words = re.findall(r"[a-z]+", CONVERTOR.sub("}", operation.path).removeprefix(PREFIX))
    return "_".join([operation.method.lower(), *words])


def _parameters(operation: Endpoint, components: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters in the path, in the query string and in headers."""
    found: list[dict[str, Any]] = [
        {
            "name": name, "in": "path", "required": True,
            "schema": {"type": "string", "minLength": 1},
            "description": "Percent-encoded, slashes included.",
        }
        for name in re.findall(r"{(\w+)", operation.path)
    ]  # fmt: skip
    if operation.parameters is not None:
        schema = components[operation.parameters.__name__]
        required = schema.get("required", ())
        found += [
            {
                "name": PARAMETERS.get(field, field), "in": "query", "required": field in required,
                "schema": _without_null(values),
            }
            for field, values in schema["properties"].items()
            if field != "set"
        ]  # fmt: skip
    return found + [
        {
            "name": name, "in": "header", "required": False, "description": about,
            "schema": {"type": "string"},
        }
        for name, about in operation.headers.items()
    ]  # fmt: skip


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without null, which a query string cannot express. "One value or a list"
    becomes a list."""
    made = {name: value for name, value in schema.items() if name != "default" or value is not None}
    if "anyOf" in made:
        kept = [option for option in made.pop("anyOf") if option != {"type": "null"}]
        lists = [option for option in kept if option.get("type") == "array"]
        made |= (lists or kept)[0] if lists or len(kept) == 1 else {"anyOf": kept}
    if isinstance(made.get("enum"), list):  # an empty parameter counts as absent
        made["enum"] = [value for value in made["enum"] if value is not None] + [""]
    return made


def _reply(reply: ReplySpec, schema_of: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"description": reply.about}
    if reply.headers:
        described["headers"] = {
            name: {"description": about, "schema": {"type": "string"}}
            for name, about in reply.headers.items()
        }
    if reply.type is not None:
        described["content"] = {reply.media: {"schema": schema_of[str(reply.type)]}}
    return described


# Searches, feedback and recipes


async def search(call: Call) -> Response:
    parameters: SearchParameters = call.parameters if call.body is None else call.body
    response = await call.service.ask(parameters.search, call.engine)
    call.metrics.search(response)
    return json_response(as_json(response, parameters.explain, whole=parameters.whole))


async def feedback(call: Call) -> Response:
    body: schemas.FeedbackBody = call.body
    call.engine.recipe(body.recipe)  # refuse an unknown recipe before recording anything
    accepted, dismissed = await call.service.ask(
        call.engine.feedback, body.query, body.id, accept=body.accepted, undo=body.undo
    )
    learned = await call.service.ask(call.engine.learned_weights, body.recipe)
    return json_response(
        {"accepted": accepted, "dismissed": dismissed, "weights": weights_json(learned)}
    )


FOUND = {200: ReplySpec("The results, best first.", ResponseJson)}


async def save_recipe(call: Call) -> Response:
    new: schemas.NewRecipe = call.body
    await call.service.ask(
        call.engine.save_recipe, new.name, extends=new.extends, changes=new.set, replace=new.replace
    )
    saved = await call.service.ask(call.engine.describe_recipe, new.name)
    return json_response(saved, 201, {"Location": f"{PREFIX}/recipes/{new.name}"})


# Health checks and metrics

LONGEST_CHECK_S = 2.0  # monitoring tools give up soon after
NEEDED = ("models", "database")  # for a search
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def health(call: Call) -> Response:
    """Answer that the process is alive, without touching the vault."""
    return json_response(schemas.Health("ok", __version__))


async def ready(call: Call) -> Response:
    """Answer 200 if a search would work now, else 503, with the state of each dependency."""
    problems = await _problems(call.service)
    shown = {name: problem or "ok" for name, problem in problems.items()}
    reason = next((problems[name] for name in NEEDED if problems.get(name)), None)
    if reason is None:
        return json_response(schemas.Health("ready", __version__, dependencies=shown))
    return json_response(schemas.Health("not ready", __version__, reason, shown), 503)


async def _problems(service: Service) -> dict[str, str | None]:
    """Return the problem of each dependency, by its name; None if it works."""
    problems = {"models": None if service.warm.is_set() else "The models are being loaded."}
    try:
        check = service.pools.run(HEALTH, service.own.dependencies)
        return problems | await asyncio.wait_for(check, LONGEST_CHECK_S)
    except RecollectError as error:
        return problems | {"database": str(error)}
    except TimeoutError:
        late = f"The vault did not answer within {LONGEST_CHECK_S:g} seconds."
        return problems | {"database": late}


async def metrics(call: Call) -> Response:
    problems = await _problems(call.service)
    call.metrics.dependencies(problems)
    if problems["database"] is None:
        coverage = await call.service.ask(call.engine.coverage)
        waiting = await call.service.ask(call.engine.waiting)
        call.metrics.vault(coverage.memories, waiting)
    return Response(call.metrics.text(), media_type=METRICS_TYPE)


OPERATIONS = (
    *memories.OPERATIONS,
    Endpoint(
        "POST", f"{PREFIX}/search", search, "Search", FOUND, body=SearchParameters,
        example={"query": "how do we refresh tokens", "limit": 5, "explain": True}, problems=(404,),
        anywhere=True, pool=SEARCHES,
        details="`explain` adds the parts of each score; `facets` counts the values of everything "
        "found; `set` changes constants of the recipe for this search; `whole` adds the memory to "
        "each result in every view; `vaults` searches only these, and `federate: false` only this "
        "server's own vault.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/search", search, "Search, with the query in the address", FOUND,
        parameters=SearchParameters, problems=(404,), anywhere=True, pool=SEARCHES,
    ),
    Endpoint(
        "POST", f"{PREFIX}/feedback", feedback, "Say whether a result was right",
        {200: ReplySpec("Recorded.", schemas.FeedbackCounts)}, body=schemas.FeedbackBody,
        example={"query": "refresh tokens", "id": "auth-jwt-001", "accepted": True},
        problems=(404,), needs=(WRITE, SEARCH), pool=WRITES,
        details="Repeating it changes nothing, the opposite replaces it, and `undo: true` takes "
        "it back.",
    ),
    Endpoint(
        "POST", f"{PREFIX}/recipes", save_recipe, "Save a recipe of your own",
        {201: ReplySpec("Saved.", RecipeDetails, headers={"Location": "Its address."})},
        body=schemas.NewRecipe,
        example={"name": "mine", "extends": "blend", "set": {"fuse.weights.vector": 2.0}},
        problems=(404, 409), needs=(ADMIN, SEARCH), pool=WRITES,
    ),
    *operations.offered_endpoints(),
    Endpoint(
        "GET", "/healthz", health, "Check that the server is alive",
        {200: ReplySpec("It is alive.", schemas.Health)}, needs=None,
    ),
    Endpoint(
        "GET", "/readyz", ready, "Check that the server can answer searches",
        {200: ReplySpec("It can.", schemas.Health), 503: ReplySpec("Not yet.", schemas.Health)},
        needs=None,
    ),
    Endpoint(
        "GET", "/metrics", metrics, "Read metrics for Prometheus",
        {200: ReplySpec("Prometheus's text format.", str, METRICS_TYPE)},
    ),
)  # fmt: skip


def routes(service: Service, metrics: Metrics, *, required: bool) -> list[BaseRoute]:
    """Return every route of the API. `required`: callers need a token."""
    body = msgspec.json.encode(openapi(required=required))

    async def document(request: Request) -> Response:
        return Response(body, media_type=JSON)

    return [
        *operations.routes(OPERATIONS, service, metrics),
        Route("/openapi.json", document, methods=["GET"]),
    ]
