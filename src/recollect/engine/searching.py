"""Searching this vault and others, the context of an agent, related and whole memories."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from recollect.checks import bounded, checked_search
from recollect.deadline import Deadline
from recollect.engine.filters import own_spelling, unknown_values
from recollect.engine.reading import looked_up
from recollect.engine.session import Session
from recollect.errors import NotFound
from recollect.pipeline import run, topics
from recollect.recipes.base import Recipe
from recollect.recipes.related import RELATED
from recollect.types import Response, Search
from recollect.vaults.known import HOME

FORMER_MODEL = "The former embedding model serves until `recollect reindex` has made new vectors."
RELATED_READS = 1000  # characters: what a memory is about stands at its beginning


def search(session: Session, search: Search | str, /, **fields: Any) -> Response:
    session, asked = prepare_search(session, search, **fields)
    found = federated(session, session.recipe(asked.recipe, asked.changes), asked)
    if not found.results and session.others.federation is None:
        found = replace(found, notes=(*found.notes, *unknown_values(session, asked.filter)))
    session.used("returned", [result.id for result in found if result.vault == HOME], "search")
    if asked.sort == "newest":
        newest = sorted(found, key=lambda result: result.memory.updated_at, reverse=True)
        found = replace(found, results=tuple(newest))
    return found


def run_recipe(
    session: Session, recipe: Recipe, search: Search | str, /, **fields: Any
) -> Response:
    session, asked = prepare_search(session, search, **fields)
    return in_vault(session, recipe, asked)


def prepare_search(
    session: Session, search: Search | str, /, **fields: Any
) -> tuple[Session, Search]:
    """Check a search, and fill in what it leaves to the settings and the clock. Return it with the
    session at the moment that it asks for."""
    asked = checked_search(search, **fields)
    session = session.at(asked.as_of)
    literal = session.settings.search.literal if asked.literal is None else asked.literal
    now, filter = asked.now or session.clock(), own_spelling(session, asked.filter)
    return session, replace(asked, literal=literal, now=now, filter=filter)


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
        store = session.held(deadline)
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
    if fanned is not None:
        found = fanned.labelled(found)
    return replace(found, degraded=(*found.degraded, *degraded)) if degraded else found


def related(session: Session, id: str, limit: int | None = None) -> Response:
    [memory] = looked_up(session, [id])
    text = f"{memory.title} {memory.text}"[:RELATED_READS]
    limit = bounded(RELATED.limits.default if limit is None else limit)
    session, asked = prepare_search(session, text, limit=limit + 1, literal=True)
    found = in_vault(session, RELATED, asked)
    others = tuple(result for result in found if result.id != id)[:limit]
    return replace(
        found,
        results=others,
        counts=found.counts | {"returned": len(others)},
        topics=topics(others),
    )
