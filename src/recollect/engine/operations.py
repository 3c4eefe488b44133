"""Declaring operations: functions with the capabilities they need and their names in interfaces;
and completing the partial ids among their arguments.

`Recollect` has each of them as a method with the same signature, by `ParamSpec`. Typer's and
FastMCP's decorators also read signatures, but know no capabilities and add 40 ms to a start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from importlib import import_module
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from msgspec.structs import replace

from recollect.auth.capabilities import SEARCH
from recollect.checks import is_text
from recollect.engine.session import Session
from recollect.errors import NotFound, UserError
from recollect.ingest.draft import Draft

P = ParamSpec("P")
Answer = TypeVar("Answer")
Declared = TypeVar("Declared", bound=Callable[..., Any])

MOST_NAMED = 5  # ids in a message
SHORTEST_END = 3  # characters; fewer are the end of many ids
# The parameters of operations that are ids of memories, or have some.
IDS = frozenset("id ids by olds new into around after supersedes superseded_by drafts".split())


class Operation(NamedTuple):
    """The declaration of an operation.

    needs: the capabilities that its caller must have.
    anywhere: it is enough to have them in one of the vaults that a search spans.
    retry: repeat it if the connection to a database is lost; it only reads, or writes once at its
        end.
    command: its command, with the positional parameters: `chain ID`.
    route: its method and path below /api/v1: `GET /chain/{id}`.
    tool: its name as a tool for agents.
    as_json: makes JSON of its answer; by default, of the answer's fields.
    answer: the type of that JSON, or its name in `present.schema`; by default the return type.

    Interfaces that do something special call the method themselves.
    """

    needs: frozenset[str]
    anywhere: bool
    retry: bool
    command: str = ""
    route: str = ""
    tool: str = ""
    as_json: Callable[[Any], Any] | None = None
    answer: Any = ""


def operation(
    *needs: str, anywhere: bool = False, retry: bool = False, **offered: Any
) -> Callable[[Declared], Declared]:
    """Declare an operation; see `Operation` for the parameters."""

    def declare(function: Declared) -> Declared:
        function.operation = Operation(frozenset(needs), anywhere, retry, **offered)  # type: ignore[attr-defined]
        return function

    return declare


class LazyModule:
    """A module of the engine that is imported when one of its operations is first called."""

    def __init__(self, module: str) -> None:
        self._module = f"recollect.engine.{module}"

    def __getattr__(self, name: str) -> LazyOperation:
        return LazyOperation(self._module, name)


class LazyOperation(NamedTuple):
    """An operation of a lazy module."""

    module: str
    name: str

    def function(self) -> Callable[..., Any]:
        """Import the module and return the function."""
        return getattr(import_module(self.module), self.name)  # type: ignore[no-any-return]


def method(
    function: Callable[Concatenate[Session, P], Answer], name: str = ""
) -> Callable[Concatenate[Any, P], Answer]:
    """Return the method of `Recollect` for an operation. It first checks the caller's capabilities.
    `name`: if it differs from the function's."""

    def call(self: Any, /, *args: P.args, **named: P.kwargs) -> Answer:
        run: Callable[..., Answer] = declared_function(call)
        declared: Operation = run.operation  # type: ignore[attr-defined]
        session: Session = self.session
        action = name or run.__name__
        session.require(*declared.needs, action=action, anywhere=declared.anywhere)
        given: tuple[Any, dict[str, Any]] = args, named
        while True:
            attempt = partial(run, session, *given[0], **given[1])
            try:
                return session.store.database.retrying(attempt) if declared.retry else attempt()
            except NotFound as refusal:  # an id may be partial
                given = complete_id(session, run, refusal, *given)

    call.function = function  # type: ignore[attr-defined]
    if isinstance(function, LazyOperation):
        call.__doc__ = f"See `{function.name}` in {function.module}."
        return call
    return update_wrapper(call, function)


def declared_function(method: Any) -> Callable[..., Any]:
    """Return the operation's function for a method made by `method`."""
    function = method.function
    return function.function() if isinstance(function, LazyOperation) else function


def whole_id(session: Session, part: str, *, forgotten: bool = False) -> str:
    """Return the only id of this vault that begins with `part`, else the only one that ends with
    it; raise UserError if there are several. Whole and unknown ids are returned unchanged, as are
    all without the right to read. `forgotten`: look in the trash."""
    if not part or not is_text(part) or session.refusal((SEARCH,), anywhere=False) is not None:
        return part
    memories = session.store.memories
    if part in memories.find([part]):
        return part
    for how, find in ("begin", memories.beginning), ("end", memories.ending):
        if how == "end" and len(part) < SHORTEST_END:
            continue
        found = find(part, MOST_NAMED + 1, forgotten=forgotten)
        if len(found) > 1:
            names = ", ".join(found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
            raise UserError(f"Several ids {how} with {part!r}: {names}. Type more of the one.")
        if found:
            return found[0]
    return part


def complete_id(
    session: Session,
    run: Callable[..., Any],
    refusal: NotFound,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of an operation with the partial id that was not found completed; raise
    the refusal if it is unknown. Deleting permanently needs whole ids."""
    part = refusal.id
    whole = part if named.get("purge") else whole_id(session, part, forgotten=refusal.forgotten)
    if not part or whole == part:
        raise refusal

    replaced = 0

    def put(name: str, value: Any) -> Any:
        nonlocal replaced
        if isinstance(value, Draft):
            links = {"superseded_by": put("new", value.fields.get("superseded_by", ""))}
            fields = {name: links.get(name, each) for name, each in value.fields.items()}
            return replace(value, fields=fields, supersedes=put("ids", value.supersedes))
        if name in IDS and isinstance(value, list | tuple):
            return tuple(put(name, each) for each in value)
        if name not in IDS or value != part:
            return value
        replaced += 1
        return whole

    names = run.__code__.co_varnames[1:]  # the first is the session
    given = tuple(put(name, value) for name, value in zip(names, args, strict=False))
    filled = {name: put(name, value) for name, value in named.items()}
    if not replaced:
        raise refusal
    return given, filled
