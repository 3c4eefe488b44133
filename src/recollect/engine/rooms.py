"""The rooms of the engine as methods of its door. One is imported when it is first used."""
# mypy: implicit-reexport

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from recollect.auth.capabilities import Guarded, needs
from recollect.engine.session import Session

if TYPE_CHECKING:
    from recollect.engine import (  # noqa: F401
        activity,
        backups,
        browsing,
        bulk,
        capture,
        comparison,
        configured,
        context,
        feedback,
        file_places,
        filters,
        folders,
        history,
        importing,
        languages,
        lifecycle,
        policies,
        retrieval,
        review,
        sharing,
        similar,
        timeline,
        upkeep,
        writing,
    )
else:

    def __getattr__(name: str) -> Room:
        if name.startswith("__"):
            raise AttributeError(name)
        return Room(name)


P = ParamSpec("P")
Answer = TypeVar("Answer")


class Door(Guarded):
    """Who has a session, and refuses what its caller may not do."""

    session: Session


class Room:
    """A room that is not imported yet: start-up time."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, function: str) -> RoomFunction:
        return RoomFunction(self._name, function)


class RoomFunction(NamedTuple):
    """A function of such a room."""

    room: str
    name: str


class RoomMethod:
    """Takes a method's place until somebody asks for it."""

    def __init__(
        self, function: RoomFunction, make: Callable[..., Any], capabilities: tuple[str, ...]
    ) -> None:
        self._function, self._make = function, make
        self.needs = frozenset(capabilities)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, door: Door | None, owner: type) -> Any:
        room, name = self._function
        made = self._make(getattr(import_module(f"recollect.engine.{room}"), name))
        setattr(owner, self._name, made)
        return getattr(owner if door is None else door, self._name)


def method(
    function: Callable[Concatenate[Session, P], Answer],
    *capabilities: str,
    anywhere: bool = False,
    again: bool = False,
) -> Callable[Concatenate[Any, P], Answer]:
    """A room's function as a method of the door. That the caller has these capabilities is checked
    before anything of it runs; see `needs`. `again`: it only reads, or writes once and at its end,
    so it is repeated where the connection to a shared database was lost."""

    def made(
        function: Callable[Concatenate[Session, P], Answer],
    ) -> Callable[Concatenate[Door, P], Answer]:
        @needs(*capabilities, anywhere=anywhere)
        @wraps(function)
        def called(door: Door, /, *args: P.args, **named: P.kwargs) -> Answer:
            if not again:
                return function(door.session, *args, **named)
            retrying = door.session.store.database.retrying
            return retrying(lambda: function(door.session, *args, **named))

        return called

    if isinstance(function, RoomFunction):
        return RoomMethod(function, made, capabilities)
    return made(function)


def repeatable(
    function: Callable[Concatenate[Session, P], Answer], *capabilities: str, anywhere: bool = False
) -> Callable[Concatenate[Any, P], Answer]:
    """The same for what may be done again."""
    return method(function, *capabilities, anywhere=anywhere, again=True)
