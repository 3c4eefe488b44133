"""The lab: two recipes on one query, side by side, with a slider for every constant."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from recollect.engine import Recollect
from recollect.errors import RecollectError, UserError
from recollect.interfaces.http.parameters import SearchParameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.forms import submitted
from recollect.interfaces.web.lab_address import (
    LEFT,
    PASSING,
    RIGHT,
    USUAL,
    LabAddress,
    Pairs,
    read,
    text_of,
)
from recollect.interfaces.web.lab_sides import compared, differing, moved, side_of
from recollect.interfaces.web.rendering import page
from recollect.interfaces.web.waterfall import signed, waterfall
from recollect.query.terms import keywords

# The filters that have a field: name, what it is called, and what to type.
FIELDS = (
    ("project", "Project", "any"),
    ("kind", "Kind", "any"),
    ("source", "Source", "any"),
    ("tag", "Tag", "any"),
    ("since", "Since", "2026-03-01 or 7d"),
    ("until", "Until", "2026-03-01 or 7d"),
    ("limit", "Results", "as the recipe says"),
)
# The buttons of a row, and what each of them says.
VERDICTS: dict[str, dict[str, bool]] = {
    "accept": {"accept": True},
    "dismiss": {"accept": False},
    "undo": {"undo": True},
}
EXAMPLES = 3
EXAMPLE_WORDS = 4


def routes(service: Service) -> list[BaseRoute]:
    """The page, the pieces of it that a script asks for, and its forms without script."""
    return [
        Route("/lab", partial(_page, service)),
        Route("/lab/results", partial(_pieces, service)),
        Route("/lab/feedback", partial(_feedback, service), methods=["POST"]),
        Route("/lab/reset", partial(_reset, service), methods=["POST"]),
        Route("/lab/save", partial(_save, service), methods=["POST"]),
    ]


async def _page(service: Service, request: Request) -> Response:
    bench = await service.ask(read, service.engine, request.query_params)
    if any(name.partition(".")[2] in PASSING for name in request.query_params):
        return _redirect(bench)  # a form sends every field; the address keeps what says something
    return page("lab.html", request, await _values(service, bench._replace(only="")))


async def _pieces(service: Service, request: Request) -> Response:
    """The pieces that a script asks for; an error replaces none of them."""
    try:
        bench = await service.ask(read, service.engine, request.query_params)
        return page("_lab.html", request, await _values(service, bench))
    except RecollectError as error:
        return page("_lab.html", request, {"only": "problem", "problem": str(error)})


async def _feedback(service: Service, request: Request) -> Response:
    form = await _form(request)
    bench = await service.ask(read, service.engine, form)
    for name, said in VERDICTS.items():
        if id := form.get(name):
            await service.ask(service.engine.feedback, bench.query, id, **said)
    return _redirect(bench)


async def _reset(service: Service, request: Request) -> Response:
    bench = await service.ask(read, service.engine, await _form(request))
    await service.ask(service.engine.unlearn)
    return _redirect(bench)


async def _save(service: Service, request: Request) -> Response:
    form = await _form(request)
    bench = await service.ask(read, service.engine, form)
    side = form.get("save")
    if side not in USUAL:
        raise UserError("Say which side to save: left or right.")
    asked: SearchParameters = getattr(bench, side)
    saved = await service.ask(
        service.engine.save_recipe,
        form.get(f"{side}.as", ""),
        extends=asked.recipe or "",
        changes=asked.set,
        replace=bool(form.get(f"{side}.replace")),
    )
    plain = msgspec.structs.replace(asked, recipe=saved.name, set={})
    return _redirect(bench._replace(left=plain) if side == LEFT else bench._replace(right=plain))


async def _form(request: Request) -> QueryParams:
    form = await submitted(request)
    return QueryParams([(name, value) for name, values in form.items() for value in values])


def _redirect(bench: LabAddress) -> Response:
    return RedirectResponse(_address(bench) + ("#compare" if bench.open else ""), 303)


# What a side shows


async def _values(service: Service, bench: LabAddress) -> dict[str, Any]:
    """Everything the templates need. A side that is not asked for is not searched."""
    engine = service.engine
    if bench.only in USUAL:
        asked = bench.left if bench.only == LEFT else bench.right
        side = await service.ask(side_of, engine, bench.only, asked, search=True)
        return {"bench": bench, "only": bench.only, "side": side, "waterfall": waterfall}
    search = bench.only == "" or bench.open != ""
    left, right = await asyncio.gather(
        service.ask(side_of, engine, LEFT, bench.left, search=search),
        service.ask(side_of, engine, RIGHT, bench.right, search=search),
    )
    if search:
        left, right = moved(left, right), moved(right, left)
    fields, hidden = _fields(bench)
    return {
        "bench": bench,
        "only": bench.only,
        "closed": _address(bench._replace(open="")),
        "filters": _filters(bench),
        "fields": fields,
        "hidden": hidden,
        "sides": (left, right),
        "recipes": await service.ask(engine.recipes.names),
        "differing": differing(left, right),
        "compared": await service.ask(compared, engine, bench.open, left, right),
        "examples": [] if bench.query.strip() else await service.ask(examples, engine),
        "waterfall": waterfall,
        "signed": signed,
        "text_of": text_of,
        "narrowing": bool(bench.kept) and not bench.query.strip(),
    }


def examples(engine: Recollect) -> list[str]:
    """A few queries to begin with: words of titles from different places in the vault."""
    titles = [keywords(memory.title)[:EXAMPLE_WORDS] for memory in engine.list(limit=60)]
    queries = [" ".join(words) for words in titles if len(words) > 1]
    spread = queries[:: max(1, len(queries) // EXAMPLES)]
    return list(dict.fromkeys(spread))[:EXAMPLES]


def _fields(bench: LabAddress) -> tuple[list[tuple[str, str, str, str]], Pairs]:
    """The filters that have a field on the page, and the others, which are hidden inputs."""
    rest = list(bench.kept)
    fields = []
    for name, label, hint in FIELDS:
        at = next((at for at, (other, _) in enumerate(rest) if other == name), None)
        fields.append((name, label, "" if at is None else rest.pop(at)[1], hint))
    return fields, [(name, value) for name, value in rest if value]


def _filters(bench: LabAddress) -> list[tuple[str, str, str]]:
    """What narrows both searches, as (name, value, the address without it)."""
    return [
        (name, value, _address(bench._replace(kept=[*bench.kept[:at], *bench.kept[at + 1 :]])))
        for at, (name, value) in enumerate(bench.kept)
        if value
    ]


def _address(bench: LabAddress) -> str:
    return f"/lab?{urlencode(bench.pairs())}"
