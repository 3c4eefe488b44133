"""Ids that are given in part: the beginning of one, or its end, as the letters after its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from recollect.auth.capabilities import SEARCH
from recollect.checks import is_text
from recollect.engine.session import Session
from recollect.errors import NotFound, UserError
from recollect.ingest.draft import Draft

MOST_NAMED = 5  # ids in a message
SHORTEST_END = 3  # characters; fewer are the end of many ids
# The parameters of operations that are ids of memories, or have some.
IDS = frozenset("id ids by olds new into around after supersedes superseded_by drafts".split())


def whole_id(session: Session, part: str, *, forgotten: bool = False) -> str:
    """Return the one id of this vault that begins so, else the one that ends so; UserError if
    several do. What is an id, or part of none, stays, and so it does for callers who may not read.
    `forgotten`: look in the trash."""
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


def with_whole_id(
    session: Session,
    run: Callable[..., Any],
    refusal: NotFound,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of an operation with the whole id in the place of the one that was
    unknown; raise the refusal where there is none. What is deleted permanently needs whole ids."""
    part = refusal.id
    whole = part if named.get("purge") else whole_id(session, part, forgotten=refusal.forgotten)
    if not part or whole == part:
        raise refusal

    places = 0

    def put(name: str, value: Any) -> Any:
        nonlocal places
        if isinstance(value, Draft):
            links = {"superseded_by": put("new", value.fields.get("superseded_by", ""))}
            fields = {name: links.get(name, each) for name, each in value.fields.items()}
            return replace(value, fields=fields, supersedes=put("ids", value.supersedes))
        if name in IDS and isinstance(value, list | tuple):
            return tuple(put(name, each) for each in value)
        if name not in IDS or value != part:
            return value
        places += 1
        return whole

    names = run.__code__.co_varnames[1:]  # the first is the session
    given = tuple(put(name, value) for name, value in zip(names, args, strict=False))
    filled = {name: put(name, value) for name, value in named.items()}
    if not places:
        raise refusal
    return given, filled
