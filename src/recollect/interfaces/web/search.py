"""The search page: one box, results while typing, filters, and the reason for each rank; and what
it shows while the vault is empty."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from recollect import types
from recollect.demo.load import sample
from recollect.engine import Recollect
from recollect.errors import RecollectError, StoreError
from recollect.ingest.exchange import detect_tools
from recollect.interfaces.http.problems import status_of
from recollect.interfaces.http.schemas import SearchParameters, from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.setup.clients import CLIENTS, Machine
from recollect.interfaces.web.chips import (
    Address,
    Counts,
    apart,
    chip_groups,
    chosen_chips,
    deep_chip,
    facets_without,
    narrowing,
    reading_chips,
)
from recollect.interfaces.web.memories import editor_link
from recollect.interfaces.web.rendering import answer_change, dated, opening, page, submitted
from recollect.interfaces.web.waterfall import not_shown, scale_of, took
from recollect.present import sentences
from recollect.present.words import counted
from recollect.types import TIMES, Filter, Memory, Result
from recollect.vaults.known import HOME

LIMITS = (10, 20, 50, 100)  # shown at first, and after each "more"; Browse shows everything
NEWEST = 6
EXAMPLES = 5
START_CHARACTERS = 240


# The buttons of a result, here and in the lab, and what each of them says.
VERDICTS: dict[str, dict[str, bool]] = {
    "right": {"accept": True},
    "accept": {"accept": True},
    "wrong": {"accept": False},
    "dismiss": {"accept": False},
    "undo": {"undo": True},
}


async def show(service: Service, request: Request) -> Response:
    values = await service.ask(_values, service.engine, request.query_params)
    if isinstance(values["error"], StoreError):
        raise values["error"]
    return page("search.html", request, values, status=values["status"])


async def results(service: Service, request: Request) -> Response:
    values = await service.ask(_values, service.engine, request.query_params)
    return page("_results.html", request, values, status=values["status"])


async def judge(service: Service, form: QueryParams, query: str) -> None:
    """Record what the button that sent the form says of a result."""
    for name, verdict in VERDICTS.items():
        if id := form.get(name):
            await service.ask(service.engine.feedback, query, id, **verdict)


async def feedback(service: Service, request: Request) -> Response:
    form = await submitted(request)
    await judge(service, form, form.get("query", ""))
    back = urlencode(parse_qsl(form.get("back", "")))
    return RedirectResponse(f"/?{back}", 303)


def _values(engine: Recollect, parameters: QueryParams) -> dict[str, Any]:
    """Everything the templates need; an error takes the place of the results."""
    address = Address(tuple(p for p in parameters.multi_items() if p[0] != "quick"))
    values: dict[str, Any] = {
        "address": address,
        "text": parameters.get("q", ""),
        "now": engine.now(),
        "recipes": engine.recipes.names(),
        "default": engine.settings.search.recipe,
        "recipe": parameters.get("recipe") or engine.settings.search.recipe,
        "chosen": chosen_chips(address),
        "cleared": address.without(*narrowing(address)).link(),
        "error": None, "status": 200, "response": None, "pending": False, "groups": [],
        **dated("".join(address.values("as_of")[-1:]), engine.now(), engine.history_begins()),
    }  # fmt: skip
    try:
        asked = _asked(address)
        then = asked.then(engine)
        values |= {"as_of": sentences.as_of(then), "now": then or engine.now()}
        recipe = engine.recipe(asked.recipe)
        values |= {"deep": deep_chip(recipe, address), "about": recipe.about}
        if asked.query.strip():
            values |= _found(engine, asked, address, quick="quick" in parameters)
        else:
            values |= _start(engine, asked, address)
    except RecollectError as error:
        return {"deep": None, "about": "", **values, "error": error, "status": status_of(error)}
    return values


def _asked(address: Address) -> SearchParameters:
    """The search that the address asks for, with the view and facets of the page."""
    pairs = address.without("facets", "explain", "view").pairs
    asked: SearchParameters = from_parameters(SearchParameters, QueryParams([("q", ""), *pairs]))
    limit = asked.limit or LIMITS[0]
    return msgspec.structs.replace(asked, facets=True, limit=limit, view="scan")


# With a query


def _found(
    engine: Recollect, asked: SearchParameters, address: Address, *, quick: bool
) -> dict[str, Any]:
    """The answer and what the page says about it. `quick` skips what a person who still types would
    wait for; the page then asks again."""
    deferred = engine.deferral(asked.query, asked.recipe) if quick else {}
    pending = bool(deferred) or (quick and asked.deep)
    if pending:
        asked = msgspec.structs.replace(asked, deep=False, set=asked.set | deferred)
    response = asked.search(engine, mark=True)
    warned = [
        part
        for part in response.degraded
        if part.channel != "rerank" or not sentences.took_part(part, response)
    ]
    return {
        "response": response,
        "pending": pending,
        "evidence": sentences.evidence(response),
        "nothing": sentences.no_results(response, "").rstrip("."),
        "unanswered": response.evidence == "none" and bool(response.results),
        "reranking": ("", "Reranking the best results…") if pending else _reranking(response),
        "degraded": [_degraded(part, response) for part in response.degraded],
        "warned": [_degraded(part, response) for part in warned],
        "found": sentences.found(response),
        "groups": chip_groups(
            address,
            response.facets,
            engine.facets()._asdict(),
            {} if quick else apart(address, partial(_found_without, engine, asked)),
        ),
        "scale": scale_of(result.explain for result in response),
        "judged": engine.judged(response.query, [result.id for result in response]),
        "more": _more(asked, response, address),
        "did": _did(response),
        "readings": reading_chips(address, response),
        "literally": address.without("ignore").putting("literal", "true").link(),
        "understanding": _understands_again(address),
        "start_of": start_of,
        "editors": {
            result.id: editor_link(engine.settings.serve.editor, result.file)
            for result in response
            if result.file and result.vault == HOME and not response.as_of
        },
    }


def _found_without(engine: Recollect, asked: SearchParameters, facet: str) -> Counts:
    """The counts of what would be found without the filter of this name."""
    changes = asked.set | engine.deferral(asked.query, asked.recipe)
    wider = {facet: None, "limit": 1, "deep": False, "set": changes}
    return msgspec.structs.replace(asked, **wider).search(engine).facets


def _reranking(response: types.Response) -> tuple[str, str] | None:
    """What came of reranking: the style and the words. None where the deadline cut it short:
    `_degraded` says that."""
    read = response.counts["reranked"]
    if any(part.channel == "rerank" for part in response.degraded):
        return None if read else ("warn", "Not reranked")
    return ("", f"Reranked the best {read}") if read else None


def _degraded(part: types.Degraded, response: types.Response) -> tuple[str, str]:
    """What is missing and why, and what that means for the results."""
    if not sentences.took_part(part, response):
        means = "The results come from the other channels alone."
        if part.channel == "rerank":
            means = "The order is that of the first ranking."
    elif part.channel == "rerank":
        means = "What it did not read counts as no better than the worst it read."
    else:
        means = "It took part as far as it could."
    return sentences.degraded(part, response).rstrip("."), means


def _more(
    asked: SearchParameters, response: types.Response, address: Address
) -> tuple[int, str] | None:
    dropped = response.counts["dropped"]
    assert isinstance(dropped, dict)
    larger = next((limit for limit in LIMITS if limit > (asked.limit or 0)), None)
    if larger is None or not dropped.get("limit"):
        return None
    return larger, "/?" + address.putting("limit", str(larger)).query()


def _did(response: types.Response) -> dict[str, Any]:
    """What the search did, in numbers."""
    counts = dict(response.counts)
    dropped = counts.pop("dropped")
    assert isinstance(dropped, dict)
    steps = {name: counts.pop(name) for name in ("pool", "reranked", "returned")}
    return {
        "channels": counts,
        **steps,
        "dropped": not_shown(dropped),
        "took": took(response.timings_ms),
        "total": response.timings_ms["total"],
    }


def _understands_again(address: Address) -> str | None:
    """The link that takes the query no longer literally, where it is."""
    off = address.values("literal")[-1:] == ["true"]
    return address.without("literal").link() if off else None


def start_of(result: Result) -> str:
    """The beginning of a memory's text, for one that no keyword matched."""
    return opening(result.memory, START_CHARACTERS)


# Without a query


def _start(engine: Recollect, asked: SearchParameters, address: Address) -> dict[str, Any]:
    """The page without a query: how much there is, the newest, and example queries."""
    then, filter = asked.then(engine), asked.filter(engine)
    narrowed = filter.narrows()
    counts = engine.facets(filter, as_of=then)._asdict()
    others = apart(address, partial(facets_without, engine, filter, then))
    total = sum(engine.dates(filter, as_of=then).made.values())
    limit = asked.limit if narrowed and asked.limit else NEWEST
    memories = engine.list(filter, limit, as_of=then)
    return {
        "groups": chip_groups(address, counts, engine.facets()._asdict(), others)
        if memories or narrowed
        else [],
        "counts": counts,
        "total": total,
        "samples": 0 if narrowed or then else len(loaded_samples(engine)),
        "narrowed": narrowed,
        "memories": memories,
        "examples": _examples(memories, counts["tags"], address),
    }


def _examples(
    memories: Sequence[Memory], tags: Mapping[str, int], address: Address
) -> list[tuple[str, str]]:
    """Queries that find something here, taken from what is here."""
    titles = [memory.title for memory in memories if 8 < len(memory.title) <= 60]
    words = [*titles[:2], *tags][:EXAMPLES]
    return [(text, address.putting("q", text).link()) for text in words]


MOST_SAMPLES = 1000  # there are fewer


def first_steps() -> dict[str, Any]:
    """What was found on this machine: tools to import from with their place, agents to connect."""
    machine = Machine(os.environ)
    agents = [client for client in CLIENTS.values() if client.is_installed(machine)]
    return {"tools": detect_tools(machine.expand("~")), "agents": agents}


# The first minutes: what to do with an empty vault, and samples to load and take away again


async def load_samples(service: Service, request: Request) -> Response:
    """Save the samples, unless they are there; those that were removed come back."""
    engine = service.engine
    saved = await service.ask(engine.save_all, list(sample(engine.now())))
    return await answer_change(service, request, "The samples are loaded.", "/", saved[0].memory.id)


async def remove_samples(service: Service, request: Request) -> Response:
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
