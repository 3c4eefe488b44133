"""The search page: results while typing, filters, explanations; and first steps for an empty
vault."""

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
from recollect.demo import sample
from recollect.engine import Recollect
from recollect.errors import RecollectError, StoreError
from recollect.ingest.exchange import detect_tools
from recollect.interfaces.http.problems import status_of
from recollect.interfaces.http.schemas import SearchParameters, from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.setup.clients import CLIENTS, Machine
from recollect.interfaces.web.charts import not_shown, scale_of, took
from recollect.interfaces.web.chips import (
    Address,
    Counts,
    chip_groups,
    chosen_chips,
    count_unfiltered,
    deep_chip,
    facets_without,
    filter_names,
    reading_chips,
)
from recollect.interfaces.web.memories import editor_link
from recollect.interfaces.web.rendering import answer_change, date_field, opening, page, read_form
from recollect.present import sentences
from recollect.present.sentences import counted
from recollect.types import TIMES, Filter, Memory, Result
from recollect.vaults.known import HOME

LIMITS = (10, 20, 50, 100)  # at first, and after each "more"; Browse shows everything
NEWEST = 6
EXAMPLES = 5
START_CHARACTERS = 240


# The buttons of a result, here and in the lab → the feedback that each gives.
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
    """Record the feedback of the button that sent the form."""
    for name, verdict in VERDICTS.items():
        if id := form.get(name):
            await service.ask(service.engine.feedback, query, id, **verdict)


async def feedback(service: Service, request: Request) -> Response:
    form = await read_form(request)
    await judge(service, form, form.get("query", ""))
    back = urlencode(parse_qsl(form.get("back", "")))
    return RedirectResponse(f"/?{back}", 303)


def _values(engine: Recollect, parameters: QueryParams) -> dict[str, Any]:
    """Return the values of the templates; an error replaces the results."""
    address = Address(tuple(p for p in parameters.multi_items() if p[0] != "quick"))
    values: dict[str, Any] = {
        "address": address,
        "text": parameters.get("q", ""),
        "now": engine.now(),
        "recipes": engine.recipes.names(),
        "default": engine.settings.search.recipe,
        "recipe": parameters.get("recipe") or engine.settings.search.recipe,
        "chosen": chosen_chips(address),
        "cleared": address.without(*filter_names(address)).link(),
        "error": None, "status": 200, "response": None, "pending": False, "groups": [],
        **date_field("".join(address.values("as_of")[-1:]), engine.now(), engine.history_begins()),
    }  # fmt: skip
    try:
        asked = _read_search(address)
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


def _read_search(address: Address) -> SearchParameters:
    """Return the search in the address, with the view and facets of the page."""
    pairs = address.without("facets", "explain", "view").pairs
    asked: SearchParameters = from_parameters(SearchParameters, QueryParams([("q", ""), *pairs]))
    limit = asked.limit or LIMITS[0]
    return msgspec.structs.replace(asked, facets=True, limit=limit, view="scan")


# With a query


def _found(
    engine: Recollect, asked: SearchParameters, address: Address, *, quick: bool
) -> dict[str, Any]:
    """Return the results and remarks on them. `quick`: skip slow parts while a person is typing;
    the page then asks again."""
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
        "reranking": ("", "Reranking the best results…") if pending else _rerank_note(response),
        "degraded": [_describe_degraded(part, response) for part in response.degraded],
        "warned": [_describe_degraded(part, response) for part in warned],
        "found": sentences.count_found(response),
        "groups": chip_groups(
            address,
            response.facets,
            engine.facets()._asdict(),
            {} if quick else count_unfiltered(address, partial(_facets_without, engine, asked)),
        ),
        "scale": scale_of(result.explain for result in response),
        "judged": engine.feedback_on(response.query, [result.id for result in response]),
        "more": _more(asked, response, address),
        "did": _describe_work(response),
        "readings": reading_chips(address, response),
        "literally": address.without("ignore").set("literal", "true").link(),
        "understanding": _not_literal_link(address),
        "start_of": start_of,
        "editors": {
            result.id: editor_link(engine.settings.serve.editor, result.file)
            for result in response
            if result.file and result.vault == HOME and not response.as_of
        },
    }


def _facets_without(engine: Recollect, asked: SearchParameters, facet: str) -> Counts:
    """Return the counts of the results without the filter of this name."""
    changes = asked.set | engine.deferral(asked.query, asked.recipe)
    wider = {facet: None, "limit": 1, "deep": False, "set": changes}
    return msgspec.structs.replace(asked, **wider).search(engine).facets


def _rerank_note(response: types.Response) -> tuple[str, str] | None:
    """Return a style and a note on reranking; None if the deadline cut it short, which
    `_describe_degraded` reports."""
    read = response.counts["reranked"]
    if any(part.channel == "rerank" for part in response.degraded):
        return None if read else ("warn", "Not reranked")
    return ("", f"Reranked the best {read}") if read else None


def _describe_degraded(part: types.Degraded, response: types.Response) -> tuple[str, str]:
    """Return what is missing and why, and the effect on the results."""
    if not sentences.took_part(part, response):
        means = "The results come only from the other channels."
        if part.channel == "rerank":
            means = "The results keep the order before reranking."
    elif part.channel == "rerank":
        means = "Results that it did not read rank below those it read."
    else:
        means = "Its partial results are included."
    return sentences.degraded(part, response).rstrip("."), means


def _more(
    asked: SearchParameters, response: types.Response, address: Address
) -> tuple[int, str] | None:
    dropped = response.counts["dropped"]
    assert isinstance(dropped, dict)
    larger = next((limit for limit in LIMITS if limit > (asked.limit or 0)), None)
    if larger is None or not dropped.get("limit"):
        return None
    return larger, "/?" + address.set("limit", str(larger)).query()


def _describe_work(response: types.Response) -> dict[str, Any]:
    """Return the counts and times of the search."""
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


def _not_literal_link(address: Address) -> str | None:
    """Return the link that ends a literal search; None if it is not literal."""
    off = address.values("literal")[-1:] == ["true"]
    return address.without("literal").link() if off else None


def start_of(result: Result) -> str:
    """Return the beginning of a memory's text, for a result without a matching keyword."""
    return opening(result.memory, START_CHARACTERS)


# Without a query


def _start(engine: Recollect, asked: SearchParameters, address: Address) -> dict[str, Any]:
    """Return the values without a query: counts, the newest memories, and example queries."""
    then, filter = asked.then(engine), asked.filter(engine)
    narrowed = filter.narrows()
    counts = engine.facets(filter, as_of=then)._asdict()
    others = count_unfiltered(address, partial(facets_without, engine, filter, then))
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
    """Return example queries made of titles and tags, with links."""
    titles = [memory.title for memory in memories if 8 < len(memory.title) <= 60]
    words = [*titles[:2], *tags][:EXAMPLES]
    return [(text, address.set("q", text).link()) for text in words]


MOST_SAMPLES = 1000  # there are fewer


def first_steps() -> dict[str, Any]:
    """Return what is on this machine: tools to import from, with their files, and agents."""
    machine = Machine(os.environ)
    agents = [client for client in CLIENTS.values() if client.is_installed(machine)]
    return {"tools": detect_tools(machine.expand("~")), "agents": agents}


# Sample memories


async def load_samples(service: Service, request: Request) -> Response:
    """Save the samples that are missing; restore those that were removed."""
    engine = service.engine
    saved = await service.ask(engine.save_all, list(sample(engine.now())))
    return await answer_change(
        service, request, "The samples were loaded.", "/", saved[0].memory.id
    )


async def remove_samples(service: Service, request: Request) -> Response:
    """Forget the samples that were not changed."""
    ids = await service.ask(loaded_samples, service.engine)
    if ids:
        await service.ask(service.engine.forget, ids)
    message = f"Removed {counted(len(ids), 'sample')}."
    return await answer_change(service, request, message, "/", ids[0] if ids else "")


def loaded_samples(engine: Recollect) -> list[str]:
    """Return the ids of the samples that are unchanged in the vault."""
    samples = _samples()
    found = engine.list(Filter(among=tuple(samples)), MOST_SAMPLES)
    return [
        memory.id
        for memory in found
        if all(getattr(memory, name) == value for name, value in samples[memory.id].items())
    ]


@cache
def _samples() -> dict[str, dict[str, Any]]:
    """Return the fields of each sample by its id, without times, which are relative to now."""
    return {
        str(draft.id): {name: value for name, value in draft.fields.items() if name not in TIMES}
        for draft in sample(datetime.now(UTC))
    }
