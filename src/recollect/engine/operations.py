"""Declare operations: what a caller must be allowed to do stands beside the function that does it.

`Recollect` has each of them as a method. Making these from the functions keeps their types, since
`ParamSpec` carries the signature over; Typer's and FastMCP's decorators, which also read
signatures, were not taken for it: they know nothing of capabilities, and add 40 ms to a start.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from importlib import import_module
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from recollect.engine.session import Session
from recollect.engine.whole_ids import with_whole_id
from recollect.errors import NotFound

P = ParamSpec("P")
Answer = TypeVar("Answer")
Declared = TypeVar("Declared", bound=Callable[..., Any])


class Operation(NamedTuple):
    """What is declared of a function of the engine.

    needs: the capabilities that its caller must have.
    anywhere: having them in one of the vaults that a search spans is enough; it uses no other.
    retry: it only reads, or writes once and at its end, so it is repeated when the connection to a
        database is lost.
    command: its command, with the parameters that are words of the line: `chain ID`.
    route: its method and path below /api/v1: `GET /chain/{id}`.
    tool: its name as a tool for agents.
    as_json: makes JSON of its answer, where that is not made of its fields.
    answer: the type of that JSON, or its name in `present.schema`; else what the function returns.

    An interface that has something special to do or to show calls the method by itself; the other
    names here are all that the interfaces need.
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
    """Declare an operation; see `Operation` for what is declared of it."""

    def declare(function: Declared) -> Declared:
        function.operation = Operation(frozenset(needs), anywhere, retry, **offered)  # type: ignore[attr-defined]
        return function

    return declare


class Later:
    """A module of the engine that is imported when one of its operations is first called."""

    def __init__(self, module: str) -> None:
        self._module = f"recollect.engine.{module}"

    def __getattr__(self, name: str) -> LaterOperation:
        return LaterOperation(self._module, name)


class LaterOperation(NamedTuple):
    """An operation of such a module."""

    module: str
    name: str

    def function(self) -> Callable[..., Any]:
        """Import the module and return the function."""
        return getattr(import_module(self.module), self.name)  # type: ignore[no-any-return]


def method(
    function: Callable[Concatenate[Session, P], Answer], name: str = ""
) -> Callable[Concatenate[Any, P], Answer]:
    """Return the method of `Recollect` for an operation. It checks the caller's capabilities before
    anything of the operation runs. `name`: where it is not the function's own."""

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
            except NotFound as refusal:  # the id may be part of one
                given = with_whole_id(session, run, refusal, *given)

    call.function = function  # type: ignore[attr-defined]
    if isinstance(function, LaterOperation):
        call.__doc__ = f"See `{function.name}` in {function.module}."
        return call
    return update_wrapper(call, function)


def declared_function(method: Any) -> Callable[..., Any]:
    """Return the function that `method` made a method of."""
    function = method.function
    return function.function() if isinstance(function, LaterOperation) else function
