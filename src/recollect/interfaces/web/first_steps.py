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
from recollect.importers import detected
from recollect.interfaces.http.service import Service
from recollect.interfaces.setup.clients import CLIENTS, Machine
from recollect.interfaces.web.forms import redirect
from recollect.interfaces.web.rendering import environment
from recollect.types import Filter

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
    await service.ask(engine.save_all, list(sample(engine.now())))
    return redirect("/")


async def remove(service: Service, request: Request) -> Response:
    """Forget all samples; what somebody has changed since is still one."""
    await service.ask(_forget, service.engine)
    return redirect("/")


def _forget(engine: Recollect) -> None:
    if ids := loaded_samples(engine):
        engine.forget(ids)


def loaded_samples(engine: Recollect) -> list[str]:
    """The ids of the samples that are in the vault."""
    return [memory.id for memory in engine.list(Filter(among=_sample_ids()), MOST_SAMPLES)]


@cache
def _sample_ids() -> tuple[str, ...]:
    return tuple(str(draft.id) for draft in sample(datetime.now(UTC)))
