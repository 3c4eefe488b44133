"""Routes as data: path, parameters, replies. `api.py` generates OpenAPI from them."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import NoneType
from typing import Any, NamedTuple

import msgspec
from msgspec import structs
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.auth.capabilities import SEARCH
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces.http.logs import Metrics
from recollect.interfaces.http.schemas import from_parameters
from recollect.interfaces.http.service import POOL, Service
from recollect.interfaces.operations import InterfaceOperation, list_operations
from recollect.interfaces.requests import describe_invalid
from recollect.interfaces.signatures import camel_case, json_struct, json_type
from recollect.interfaces.thread_pools import READS, SEARCHES, WRITES, ThreadPool
from recollect.memory_json import id_of_path, revision
from recollect.types import Memory

# The escape of one half of a surrogate pair without the other half.
HALF_PAIR = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
IN_PATH = re.compile(r"{(\w+)}")
PREFIX = "/api/v1"
JSON = "application/json"
BODIES = (JSON, "application/merge-patch+json")


class Call(NamedTuple):
    """One request, with its parameters and body already checked."""

    service: Service
    metrics: Metrics
    request: Request
    parameters: Any
    body: Any

    @property
    def engine(self) -> Recollect:
        return self.service.engine

    @property
    def id(self) -> str:
        return id_of_path(self.request.path_params["id"])


class ReplySpec(NamedTuple):
    """One kind of reply of a route. `type`: None for an empty body."""

    about: str
    type: Any = None
    media: str = JSON
    headers: Mapping[str, str] = {}


class Endpoint(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    run: Callable[[Call], Awaitable[Response]]
    about: str
    replies: Mapping[int, ReplySpec]
    parameters: type[msgspec.Struct] | None = None
    body: Any = None
    headers: Mapping[str, str] = {}
    problems: tuple[int, ...] = ()
    details: str = ""
    example: Any = None
    refuse: Callable[[object], object] | None = None  # raises the engine's error for a bad body
    # Capabilities, checked first, so that a route of several steps does all of them or none. None:
    # open to everybody, as it reveals nothing of the vault.
    needs: tuple[str, ...] | None = (SEARCH,)
    anywhere: bool = False  # also for callers without access to the home's own vault
    pool: ThreadPool = READS


def offered_endpoints() -> Iterator[Endpoint]:
    """Return a route for each operation that declares one."""
    for offered in list_operations("route"):
        method, path = offered.declared.route.split()
        in_path = IN_PATH.findall(path)
        others = [each for name, each in offered.parameters.items() if name not in in_path]
        kind = json_struct(f"{camel_case(offered.name)}Parameters", others) if others else None
        in_query, changes = method in ("GET", "DELETE"), method != "GET"
        replies = {200: ReplySpec("The result.", json_type(offered.answer))}
        yield Endpoint(
            method, PREFIX + path.replace("{id}", "{id:path}"), partial(_call_offered, offered),
            offered.about, replies if offered.answer is not NoneType else {204: ReplySpec("Done.")},
            parameters=kind if in_query else None, body=None if in_query else kind,
            example={each.name: value for each in others for value in each.examples},
            problems=(404, 409, 412) if changes else (404,), details=offered.details,
            needs=offered.needs, anywhere=offered.declared.anywhere,
            pool=WRITES if changes else SEARCHES,
        )  # fmt: skip


async def _call_offered(offered: InterfaceOperation, call: Call) -> Response:
    in_path = {name: id_of_path(value) for name, value in call.request.path_params.items()}
    others = call.parameters or call.body
    given = in_path | (structs.asdict(others) if others else {})
    answer = await call.service.ask(offered.call, call.engine, given)
    if offered.answer is NoneType:
        return Response(status_code=204)
    headers = etag(answer) if isinstance(answer, Memory) else {}
    return json_response(offered.as_json(answer), headers=headers)


def etag(memory: Memory) -> dict[str, str]:
    """Return headers that let a client cache a memory if it revalidates each time."""
    return {"ETag": f'"{revision(memory)}"', "Cache-Control": "private, no-cache"}


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the value as JSON that no cache may store."""
    sent = {"Cache-Control": "no-store"} | dict(headers or {})
    return Response(msgspec.json.encode(value), status, sent, JSON)


def routes(operations: Sequence[Endpoint], service: Service, metrics: Metrics) -> list[BaseRoute]:
    """Return one route per path, so that a wrong method is answered with the allowed ones."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    return [_route(path, methods, service, metrics) for path, methods in by_path.items()]


def _route(path: str, methods: Mapping[str, Endpoint], service: Service, metrics: Metrics) -> Route:
    async def endpoint(request: Request) -> Response:
        operation = methods["GET" if request.method == "HEAD" else request.method]
        POOL.set(operation.pool)
        if operation.needs is not None:
            service.engine.require(
                *operation.needs, action=f"{operation.method} {path}", anywhere=operation.anywhere
            )
        parameters = None
        if operation.parameters is not None:
            parameters = from_parameters(operation.parameters, request.query_params, commas=True)
        elif request.query_params:
            raise UserError("This address takes no parameters; leave them out.")
        body = None if operation.body is None else await _body(request, operation)
        return await operation.run(Call(service, metrics, request, parameters, body))

    return Route(path, endpoint, methods=list(methods))


async def _body(request: Request, operation: Endpoint) -> Any:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in BODIES:
        raise HTTPException(415, f"The body must be JSON: Content-Type: {JSON}.")
    raw = (await request.body()).removeprefix(BOM_UTF8)  # RFC 8259, section 8.1: it may be ignored
    try:
        return msgspec.json.decode(raw, type=operation.body)
    except msgspec.ValidationError as error:
        given = None
        # After the first wrong field, the body may not even be JSON.
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            given = msgspec.json.decode(raw)
            if operation.refuse is not None:
                operation.refuse(given)
        raise UserError(describe_invalid(error, operation.body, given)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if HALF_PAIR.search(raw):
            raise UserError(
                "The body is not valid JSON: it contains half of a surrogate pair, such as "
                r"\ud83d without \ude00. Send the character itself."
            ) from error
        raise UserError(f"The body is not valid JSON: {error}.") from error
