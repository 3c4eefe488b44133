"""The lab: two recipes on one query, side by side, with a slider for every constant."""

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
from recollect.interfaces.web.lab_sides import (
    LEFT,
    PASSING,
    RIGHT,
    ROWS,
    USUAL,
    LabAddress,
    Pairs,
    compared,
    differing,
    moved,
    read,
    scored,
    side_of,
    text_of,
)
from recollect.interfaces.web.rendering import page, submitted
from recollect.interfaces.web.search import judge
from recollect.interfaces.web.waterfall import signed
from recollect.query.terms import keywords

# The filters that have a field: name, what it is called, and what to type.
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
LEAST_WORDS = 4  # fewer are rarely a question
# What somebody would ask about a memory of this kind, by the first words of its title.
QUESTIONS = {
    "decision": "What did we decide about {}?",
    "bug": "What went wrong with {}?",
}


async def show(service: Service, request: Request) -> Response:
    bench = await service.ask(read, service.engine, request.query_params)
    if any(name.partition(".")[2] in PASSING for name in request.query_params):
        return _redirect(bench)  # a form sends every field; the address keeps what says something
    values = await _values(service, bench._replace(only=""))
    if "score" in request.query_params:
        values["scores"] = await service.ask(scored, service.engine, *values["sides"])
    return page("lab.html", request, values)


async def results(service: Service, request: Request) -> Response:
    """The pieces that a script asks for; an error replaces none of them."""
    try:
        bench = await service.ask(read, service.engine, request.query_params)
        return page("_lab.html", request, await _values(service, bench))
    except RecollectError as error:
        return page("_lab.html", request, {"only": "problem", "problem": str(error)})


async def feedback(service: Service, request: Request) -> Response:
    form = await submitted(request)
    bench = await service.ask(read, service.engine, form)
    await judge(service, form, bench.query)
    return _redirect(bench)


async def reset(service: Service, request: Request) -> Response:
    bench = await service.ask(read, service.engine, await submitted(request))
    await service.ask(service.engine.unlearn)
    return _redirect(bench)


async def save(service: Service, request: Request) -> Response:
    form = await submitted(request)
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
    return _redirect(_plain(bench, side, saved.name))


async def rename(service: Service, request: Request) -> Response:
    """Rename or delete the recipe of a side, which is then the one with the new name, or the
    usual one."""
    form = await submitted(request)
    bench = await service.ask(read, service.engine, form)
    done = request.url.path.rpartition("/")[2]
    side = form.get(done)
    if side not in USUAL:
        raise UserError(f"Say which side to {done}: left or right.")
    name = getattr(bench, side).recipe
    if done == "delete":
        await service.ask(service.engine.remove_recipe, name)
        return _redirect(_plain(bench, side, USUAL[side]))
    renamed = await service.ask(service.engine.rename_recipe, name, form.get(f"{side}.name", ""))
    return _redirect(_plain(bench, side, renamed.name))


def _plain(bench: LabAddress, side: str, recipe: str) -> LabAddress:
    """The lab's address with this recipe on that side, unchanged."""
    asked = msgspec.structs.replace(getattr(bench, side), recipe=recipe, set={})
    return bench._replace(left=asked) if side == LEFT else bench._replace(right=asked)


def _redirect(bench: LabAddress) -> Response:
    return RedirectResponse(_address(bench) + ("#compare" if bench.open else ""), 303)


# What a side shows


async def _values(service: Service, bench: LabAddress) -> dict[str, Any]:
    """Everything the templates need. A side that is not asked for is not searched."""
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
        scores = await service.ask(scored, engine, left, right)
        return {"bench": bench, "only": bench.only, "scores": scores, "sides": (left, right)}
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
        "signed": signed,
        "text_of": text_of,
        "narrowing": bool(bench.kept) and not bench.query.strip(),
        "scores": None,
        "scored": _address(bench) + "&score=1",
    }


def examples(engine: Recollect) -> list[str]:
    """A few questions to begin with: the last that somebody found an answer to, and what one would
    ask of memories from different places in the vault."""
    asked = [query for query in engine.judgements() if LEAST_WORDS <= len(query.split()) < 12]
    topics = [(memory.kind, keywords(memory.title)[:2]) for memory in engine.list(limit=60)]
    titled = [(kind, " ".join(words)) for kind, words in topics if len(words) > 1]
    made = [
        QUESTIONS.get(kind, "What do we know about {}?").format(topic)
        for kind, topic in titled[:: max(1, len(titled) // EXAMPLES)]
    ]
    return list(dict.fromkeys((*asked[: EXAMPLES // 2], *made)))[:EXAMPLES]


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
