"""The first minutes: what to do with an empty vault, and the samples, which can be loaded and taken
away again."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.demo.load import sample
from recollect.engine import Recollect
from recollect.ingest.foreign import detected
from recollect.interfaces.http.service import Service
from recollect.interfaces.setup.clients import CLIENTS, Machine
from recollect.interfaces.web.forms import answer_change
from recollect.interfaces.web.rendering import environment
from recollect.present.words import counted
from recollect.types import TIMES, Filter

MOST_SAMPLES = 1000  # there are fewer


def routes(service: Service) -> list[BaseRoute]:
    environment().globals |= {"first_steps": first_steps}
    return [
        Route("/samples", partial(load, service), methods=["POST"]),
        Route("/samples/remove", partial(remove, service), methods=["POST"]),
    ]


def first_steps() -> dict[str, Any]:
    """What was found on this machine: tools to import from with their place, agents to connect."""
    machine = Machine(os.environ)
    agents = [client for client in CLIENTS.values() if client.installed(machine)]
    return {"tools": detected(machine.expanded("~")), "agents": agents}


async def load(service: Service, request: Request) -> Response:
    """Save the samples, unless they are there; those that were removed come back."""
    engine = service.engine
    saved = await service.ask(engine.save_all, list(sample(engine.now())))
    return await answer_change(service, request, "The samples are loaded.", "/", saved[0].memory.id)


async def remove(service: Service, request: Request) -> Response:
    """Forget the samples, but for those that somebody changed."""
    ids = await service.ask(loaded_samples, service.engine)
    if ids:
        await service.ask(service.engine.forget, ids)
    said = f"Removed {counted(len(ids), 'sample')}."
    return await answer_change(service, request, said, "/", ids[0] if ids else "")


def loaded_samples(engine: Recollect) -> list[str]:
    """The ids of the samples that are in the vault as they were loaded."""
    samples = _samples()
    found = engine.list(Filter(among=tuple(samples)), MOST_SAMPLES)
    return [
        memory.id
        for memory in found
        if all(getattr(memory, name) == value for name, value in samples[memory.id].items())
    ]


@cache
def _samples() -> dict[str, dict[str, Any]]:
    """The fields of each sample, by its id, without the times: those are relative to now."""
    return {
        str(draft.id): {name: value for name, value in draft.fields.items() if name not in TIMES}
        for draft in sample(datetime.now(UTC))
    }
