"""The lab: two recipes side by side on one query, with a slider for every constant."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from recollect.engine import Recollect
from recollect.errors import RecollectError, UserError
from recollect.interfaces.http.schemas import SearchParameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.charts import with_sign
from recollect.interfaces.web.lab_sides import (
    LEFT,
    PASSING,
    RIGHT,
    ROWS,
    USUAL,
    LabAddress,
    Pairs,
    compare_memory,
    differing,
    read,
    score_sides,
    side_of,
    text_of,
    with_moves,
)
from recollect.interfaces.web.rendering import page, read_form
from recollect.interfaces.web.search import judge
from recollect.query.terms import keywords

# The filters that have a field: name, label and hint.
FIELDS = (
    ("project", "Project", "any"),
    ("kind", "Kind", "any"),
    ("source", "Source", "any"),
    ("tag", "Tag", "any"),
    ("since", "Since", "2026-03-01 or 7d"),
    ("until", "Until", "2026-03-01 or 7d"),
    ("limit", "Results", str(ROWS)),
)
EXAMPLES = 4
LEAST_WORDS = 4  # shorter queries are rarely questions


async def show(service: Service, request: Request) -> Response:
    bench = await service.ask(read, service.engine, request.query_params)
    if any(name.partition(".")[2] in PASSING for name in request.query_params):
        return _redirect(bench)  # to a short address: a form sends every field
    values = await _values(service, bench._replace(only=""))
    if "score" in request.query_params:
        values["scores"] = await service.ask(score_sides, service.engine, *values["sides"])
    return page("lab.html", request, values)


async def results(service: Service, request: Request) -> Response:
    """Return the pieces that a script asks for, or only the error."""
    try:
        bench = await service.ask(read, service.engine, request.query_params)
        return page("_lab.html", request, await _values(service, bench))
    except RecollectError as error:
        return page("_lab.html", request, {"only": "problem", "problem": str(error)})


async def feedback(service: Service, request: Request) -> Response:
    form = await read_form(request)
    bench = await service.ask(read, service.engine, form)
    await judge(service, form, bench.query)
    return _redirect(bench)


async def reset(service: Service, request: Request) -> Response:
    bench = await service.ask(read, service.engine, await read_form(request))
    await service.ask(service.engine.unlearn)
    return _redirect(bench)


async def save(service: Service, request: Request) -> Response:
    form = await read_form(request)
    bench = await service.ask(read, service.engine, form)
    side = form.get("save")
    if side not in USUAL:
        raise UserError("Choose the side to save: left or right.")
    asked: SearchParameters = getattr(bench, side)
    saved = await service.ask(
        service.engine.save_recipe,
        form.get(f"{side}.as", ""),
        extends=asked.recipe or "",
        changes=asked.set,
        replace=bool(form.get(f"{side}.replace")),
    )
    return _redirect(_plain(bench, side, saved.name))


async def rename(service: Service, request: Request) -> Response:
    """Rename or delete the recipe of a side, which then shows the new name or the default
    recipe."""
    form = await read_form(request)
    bench = await service.ask(read, service.engine, form)
    action = request.url.path.rpartition("/")[2]
    side = form.get(action)
    if side not in USUAL:
        raise UserError(f"Choose the side to {action}: left or right.")
    name = getattr(bench, side).recipe
    if action == "delete":
        await service.ask(service.engine.remove_recipe, name)
        return _redirect(_plain(bench, side, USUAL[side]))
    renamed = await service.ask(service.engine.rename_recipe, name, form.get(f"{side}.name", ""))
    return _redirect(_plain(bench, side, renamed.name))


def _plain(bench: LabAddress, side: str, recipe: str) -> LabAddress:
    """Return the lab's address with this recipe, without changes, on that side."""
    asked = msgspec.structs.replace(getattr(bench, side), recipe=recipe, set={})
    return bench._replace(left=asked) if side == LEFT else bench._replace(right=asked)


def _redirect(bench: LabAddress) -> Response:
    return RedirectResponse(_address(bench) + ("#compare" if bench.open else ""), 303)


# The page


async def _values(service: Service, bench: LabAddress) -> dict[str, Any]:
    """Return the values of the templates. A side that is not wanted is not searched."""
    engine = service.engine
    if bench.only in USUAL:
        asked = bench.left if bench.only == LEFT else bench.right
        side = await service.ask(side_of, engine, bench.only, asked, search=True)
        return {"bench": bench, "only": bench.only, "side": side}
    search = bench.only == "" or (bench.only == "below" and bench.open != "")
    left, right = await asyncio.gather(
        service.ask(side_of, engine, LEFT, bench.left, search=search),
        service.ask(side_of, engine, RIGHT, bench.right, search=search),
    )
    if bench.only == "score":
        scores = await service.ask(score_sides, engine, left, right)
        return {"bench": bench, "only": bench.only, "scores": scores, "sides": (left, right)}
    if search:
        left, right = with_moves(left, right), with_moves(right, left)
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
        "compared": await service.ask(compare_memory, engine, bench.open, left, right),
        "examples": [] if bench.query.strip() else await service.ask(examples, engine),
        "signed": with_sign,
        "text_of": text_of,
        "narrowing": bool(bench.kept) and not bench.query.strip(),
        "scores": None,
        "scored": _address(bench) + "&score=1",
    }


def examples(engine: Recollect) -> list[str]:
    """Return a few example queries: recent ones with feedback, and titles across the vault."""
    asked = [query for query in engine.judgements() if LEAST_WORDS <= len(query.split()) < 12]
    listed = [memory.title for memory in engine.list(limit=60)]
    titles = [title for title in listed if len(keywords(title)) > 1]
    spread = titles[:: max(1, len(titles) // EXAMPLES)]
    return list(dict.fromkeys((*asked[: EXAMPLES // 2], *spread)))[:EXAMPLES]


def _fields(bench: LabAddress) -> tuple[list[tuple[str, str, str, str]], Pairs]:
    """Return the filters with a field on the page, and the others, which are hidden inputs."""
    rest = list(bench.kept)
    fields = []
    for name, label, hint in FIELDS:
        at = next((at for at, (other, _) in enumerate(rest) if other == name), None)
        fields.append((name, label, "" if at is None else rest.pop(at)[1], hint))
    return fields, [(name, value) for name, value in rest if value]


def _filters(bench: LabAddress) -> list[tuple[str, str, str]]:
    """Return the filters of both searches, as (name, value, the address without it)."""
    return [
        (name, value, _address(bench._replace(kept=[*bench.kept[:at], *bench.kept[at + 1 :]])))
        for at, (name, value) in enumerate(bench.kept)
        if value
    ]


def _address(bench: LabAddress) -> str:
    return f"/lab?{urlencode(bench.pairs())}"
