"""Searching this vault and others, the context of an agent, related and whole memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from recollect.checks import (
    bounded,
    checked_search,
    named_ids,
    unknown_memory,
)
from recollect.deadline import Deadline
from recollect.engine.filters import own_spelling, unknown_values
from recollect.engine.session import Session
from recollect.errors import NotFound
from recollect.pipeline import run, topics
from recollect.recipes.base import Recipe
from recollect.store.base import Store
from recollect.types import Chain, Filter, Memory, Response, Search
from recollect.vaults.known import HOME, FoundMemory

EVERYTHING = Filter()
FORMER_MODEL = "The former embedding model serves until `recollect reindex` has made new vectors."
RELATED_READS = 1000  # characters: what a memory is about stands at its beginning


def search(session: Session, search: Search | str, /, **fields: Any) -> Response:
    session, asked = asked_then(session, search, **fields)
    found = federated(session, _recipe(session, asked), asked)
    if not found.results and session.others.federation is None:
        found = replace(found, notes=(*found.notes, *unknown_values(session, asked.filter)))
    session.used("returned", [result.id for result in found if result.vault == HOME], "search")
    if asked.sort == "newest":
        newest = sorted(found, key=lambda result: result.memory.updated_at, reverse=True)
        found = replace(found, results=tuple(newest))
    return found


def _recipe(session: Session, search: Search) -> Recipe:
    recipe = session.recipe(search.recipe)
    return session.recipes.changed(recipe.name, search.changes) if search.changes else recipe


def run_recipe(
    session: Session, recipe: Recipe, search: Search | str, /, **fields: Any
) -> Response:
    session, asked = asked_then(session, search, **fields)
    return in_vault(session, recipe, asked)


def asked_then(session: Session, search: Search | str, /, **fields: Any) -> tuple[Session, Search]:
    """The search as `completed` makes it, and the session at the moment that it asks for."""
    asked = checked_search(search, **fields)
    session = session.at(asked.as_of)
    return session, completed(session, asked)


def completed(session: Session, search: Search | str, /, **fields: Any) -> Search:
    """The search, checked, with what it leaves to the settings and to the clock."""
    asked = checked_search(search, **fields)
    literal = session.settings.search.literal if asked.literal is None else asked.literal
    return replace(
        asked,
        literal=literal,
        now=asked.now or session.clock(),
        filter=own_spelling(session, asked.filter),
    )


def federated(session: Session, recipe: Recipe, search: Search) -> Response:
    """The search in the home's own vault, and in every other that is asked for."""
    for name in search.vaults:
        session.enter(name)
    federation = session.others.federation if search.federate or search.vaults else None
    if federation is None:
        session.enter(HOME)
        if set(search.vaults) - {HOME}:
            raise NotFound(f"There is no vault {search.vaults[0]!r}; there is: {HOME}.")
        return in_vault(session, recipe, search)
    chosen = federation.chosen(search.vaults, session.caller.sees)
    names = [vault.name for vault in chosen]
    if HOME not in names:  # whatever its history
        session = replace(session, as_of=None)
    if names == [HOME]:
        found = in_vault(session, recipe, search)
    else:
        own = partial(in_vault, session, recipe, search)
        found = federation.search(recipe, search, chosen, own)
    return _noting_untrusted(session, found)


def _noting_untrusted(session: Session, found: Response) -> Response:
    """The response, with a note if a project vault is left out since it is not trusted."""
    if session.caller.token:
        return found  # where things are on this machine is not everybody's business
    project = session.others.untrusted()
    if project is None:
        return found
    note = f"The project vault {project} is not used; `recollect vaults trust` allows it."
    return replace(found, notes=(*found.notes, note))


def in_vault(session: Session, recipe: Recipe, search: Search) -> Response:
    """The search in this vault and the collections behind it."""
    deadline = Deadline(search.deadline_ms)
    session.background.settle(deadline)
    with session.store.searching() as degraded:
        found = _searched(session, recipe, search, session.held(deadline), deadline)
    return replace(found, degraded=(*found.degraded, *degraded)) if degraded else found


def _searched(
    session: Session, recipe: Recipe, search: Search, store: Store, deadline: Deadline
) -> Response:
    fanned = session.fanned(store)
    found = run(
        recipe,
        search,
        store=fanned or store,
        models=session.models,
        deadline=deadline,
        step=session.step,
    )
    if session.models.serves_former:
        found = replace(found, notes=(*found.notes, FORMER_MODEL))
    return found if fanned is None else fanned.labelled(found)


def related(session: Session, id: str, limit: int | None = None) -> Response:
    from recollect.recipes.related import RELATED  # noqa: PLC0415  start-up time

    [memory] = looked_up(session, [id])
    text = f"{memory.title} {memory.text}"[:RELATED_READS]
    limit = bounded(RELATED.limits.default if limit is None else limit)
    found = in_vault(session, RELATED, completed(session, text, limit=limit + 1, literal=True))
    others = tuple(result for result in found if result.id != id)[:limit]
    return replace(
        found,
        results=others,
        counts=found.counts | {"returned": len(others)},
        topics=topics(others),
    )


def show(
    session: Session, ids: Sequence[str], *, federate: bool = True, as_of: datetime | None = None
) -> list[Memory]:
    return [found.memory for found in _opened(session.at(as_of), ids, federate=federate)]


def looked_up(
    session: Session, ids: Sequence[str], *, as_of: datetime | None = None
) -> list[Memory]:
    return [found.memory for found in _located(session.at(as_of), ids, federate=True)]


def located(
    session: Session,
    ids: Sequence[str],
    *,
    federate: bool = True,
    as_of: datetime | None = None,
    opened: bool = True,
) -> list[FoundMemory]:
    session = session.at(as_of)
    every = (_opened if opened else _located)(session, ids, federate=federate)
    return [
        found._replace(chain=_chain(session, found.memory)) if found.vault == HOME else found
        for found in every
    ]


def _opened(session: Session, ids: Sequence[str], *, federate: bool) -> list[FoundMemory]:
    every = _located(session, ids, federate=federate)
    session.used("opened", [found.memory.id for found in every if found.vault == HOME], "open")
    return every


def _located(session: Session, ids: Sequence[str], *, federate: bool) -> list[FoundMemory]:
    found: dict[str, FoundMemory] = {}
    if session.caller.sees(HOME):
        store = session.readable_store()
        own = store.memories.get(named_ids(ids))
        found = {id: FoundMemory(HOME, memory) for id, memory in own.items()}
        if len(found) < len(set(ids)):
            merged = _merged(session, [id for id in ids if id not in found])
            into = store.memories.get(list(merged.values()))
            found |= {
                id: FoundMemory(HOME, into[kept], asked=id)
                for id, kept in merged.items()
                if kept in into
            }
    for id in named_ids(ids):
        if id not in found:
            elsewhere = session.elsewhere(id) if federate else None
            if elsewhere is None:
                raise unknown_memory(id, session.as_of)
            found[id] = elsewhere
    return [found[id] for id in ids]


def _merged(session: Session, ids: Sequence[str]) -> dict[str, str]:
    """The memories that these were merged into, by the moment that the session reads."""
    if session.as_of is None:
        return session.store.trash.merged(ids)
    from recollect.store.history import merged_then  # noqa: PLC0415  start-up time

    return merged_then(session.store.history, ids, session.as_of)


def chain(session: Session, id: str) -> Chain:
    [found] = _located(session, [id], federate=False)
    return _chain(session, found.memory)


def _chain(session: Session, memory: Memory) -> Chain:
    store = session.readable_store()
    later: dict[str, Memory] = {}
    link = memory.superseded_by
    while link and link != memory.id and link not in later:
        found = store.memories.get([link])
        if link not in found:
            break
        later[link] = found[link]
        link = found[link].superseded_by
    earlier: dict[str, Memory] = {}
    ids = [memory.id]
    while ids:
        found = {each.id: each for each in store.memories.replaced(ids)}
        ids = [id for id in found if id not in earlier and id != memory.id]
        earlier |= {id: found[id] for id in ids}
    return Chain(tuple(earlier.values()), tuple(later.values()))
