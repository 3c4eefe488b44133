"""The lab: two recipes on one query, side by side, with every constant of both within reach."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from recollect.engine import Recollect
from recollect.errors import NotFound, ProviderError, RecollectError, UserError
from recollect.interfaces.http.asking import Asked
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.bench import LEFT, PASSING, RIGHT, USUAL, Bench, Pairs, read, text_of
from recollect.interfaces.web.rendering import page
from recollect.interfaces.web.sliders import Group, grouped
from recollect.interfaces.web.waterfall import Scale, scale_of, signed, steps, waterfall
from recollect.query.terms import keywords
from recollect.recipes.base import Recipe
from recollect.recipes.constants import constants
from recollect.recipes.overrides import nested_changes
from recollect.recipes.show import differences, toml_lines
from recollect.types import Response as Answer
from recollect.types import Result, Term

MOST_ROWS = 25  # beyond these nobody follows a line from one list to the other
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
EXAMPLES = 3
EXAMPLE_WORDS = 4


class Move(NamedTuple):
    """Where a memory goes from the left list to the right one; None where it is in one alone."""

    left: int | None
    right: int | None

    @property
    def by(self) -> int | None:
        return None if self.left is None or self.right is None else self.left - self.right

    @property
    def kind(self) -> str:
        if self.by is None:
            return "alone"
        return "same" if self.by == 0 else "up" if self.by > 0 else "down"


class Row(NamedTuple):
    """One result of a list. `said` is what this very query's feedback last said of it."""

    rank: int
    result: Result
    title: str
    said: bool | None
    move: Move | None


class Learning(NamedTuple):
    """What feedback does to a recipe: `weights` where they learn, from `after` events on."""

    accepted: int
    dismissed: int
    after: int
    weights: dict[str, tuple[float, float]]
    signal: float

    @property
    def events(self) -> int:
        return self.accepted + self.dismissed

    @property
    def largest(self) -> float:
        return max((max(pair) for pair in self.weights.values()), default=0) or 1


class Side(Struct, frozen=True, kw_only=True):
    """One side of the bench: what was asked of it, and what came of it."""

    name: str
    asked: Asked
    groups: tuple[Group, ...] = ()
    others: dict[str, str] = {}  # changes of what is no number, which no slider can show
    recipe: Recipe | None = None  # as changed; None when it cannot be had
    about: str = ""
    answer: Answer | None = None
    rows: tuple[Row, ...] = ()
    toml: str = ""
    learning: Learning | None = None
    problem: str = ""

    @property
    def changed(self) -> int:
        return len(self.asked.set)

    @property
    def more(self) -> list[str]:
        """What the list does not show: a script needs its ranks to tell who moved."""
        return [one.id for one in (self.answer or ())][len(self.rows) :]

    @property
    def scale(self) -> Scale:
        """One for the list, so that its bars can be compared."""
        return scale_of(row.result.explain for row in self.rows)

    def place(self, id: str) -> tuple[int, Result] | None:
        """A memory's rank and result, also where the list shows fewer."""
        found = enumerate(self.answer or (), start=1)
        return next(((rank, one) for rank, one in found if one.id == id), None)


def routes(service: Service) -> list[BaseRoute]:
    """The page, the pieces of it that a script asks for, and its two forms without script."""
    return [
        Route("/lab", partial(_page, service)),
        Route("/lab/results", partial(_pieces, service)),
        Route("/lab/feedback", partial(_feedback, service), methods=["POST"]),
        Route("/lab/save", partial(_save, service), methods=["POST"]),
    ]


async def _page(service: Service, request: Request) -> Response:
    bench = await service.ask(read, service.engine, request.query_params)
    if any(name.partition(".")[2] in PASSING for name in request.query_params):
        return _redirect(bench)  # a form sends every field; the address keeps what says something
    return page("lab.html", request, await _values(service, bench._replace(only="")))


async def _pieces(service: Service, request: Request) -> Response:
    """Errors are shown where they belong: the list that stands stays."""
    try:
        bench = await service.ask(read, service.engine, request.query_params)
        return page("_lab.html", request, await _values(service, bench))
    except RecollectError as error:
        return page("_lab.html", request, {"only": "problem", "problem": str(error)})


async def _feedback(service: Service, request: Request) -> Response:
    given = await _form(request)
    bench = await service.ask(read, service.engine, given)
    for name, accept in (("accept", True), ("dismiss", False)):
        if id := given.get(name):
            await service.ask(service.engine.feedback, bench.query, id, accept=accept)
    return _redirect(bench)


async def _save(service: Service, request: Request) -> Response:
    given = await _form(request)
    bench = await service.ask(read, service.engine, given)
    side = given.get("save")
    if side not in USUAL:
        raise UserError("Say which side to save: left or right.")
    asked: Asked = getattr(bench, side)
    saved = await service.ask(
        service.engine.save_recipe,
        given.get(f"{side}.as", ""),
        extends=asked.recipe or "",
        changes=asked.set,
        replace=bool(given.get(f"{side}.replace")),
    )
    plain = msgspec.structs.replace(asked, recipe=saved.name, set={})
    return _redirect(bench._replace(left=plain) if side == LEFT else bench._replace(right=plain))


async def _form(request: Request) -> QueryParams:
    return QueryParams((await request.body()).decode("utf-8", "replace"))


def _redirect(bench: Bench) -> Response:
    return RedirectResponse(_address(bench) + ("#compare" if bench.open else ""), 303)


# What a side shows


async def _values(service: Service, bench: Bench) -> dict[str, Any]:
    """Everything the templates need. A side that is not asked for is not searched."""
    engine = service.engine
    if bench.only in USUAL:
        asked = bench.left if bench.only == LEFT else bench.right
        side = await service.ask(looked, engine, bench.only, asked, search=True)
        return {"bench": bench, "only": bench.only, "side": side, "waterfall": waterfall}
    search = bench.only == "" or bench.open != ""
    left, right = await asyncio.gather(
        service.ask(looked, engine, LEFT, bench.left, search=search),
        service.ask(looked, engine, RIGHT, bench.right, search=search),
    )
    if search:
        left, right = _moved(left, right), _moved(right, left)
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
        "differing": _differing(left, right),
        "compared": await service.ask(_compared, engine, bench.open, left, right),
        "examples": [] if bench.query.strip() else await service.ask(examples, engine),
        "waterfall": waterfall,
        "signed": signed,
        "text_of": text_of,
        "narrowing": bool(bench.kept) and not bench.query.strip(),
    }


def looked(engine: Recollect, name: str, asked: Asked, *, search: bool) -> Side:
    """A side, as far as it can be had: what is wrong with it is part of it."""
    side = Side(name=name, asked=asked)
    try:
        declared = engine.recipe(asked.recipe)
        known = constants(declared)
        names = {one.name for one in known}
        others = {one: text_of(value) for one, value in asked.set.items() if one not in names}
        side = msgspec.structs.replace(
            side, groups=grouped(known, asked.set), others=others, about=declared.about
        )
        recipe = engine.recipes.changed(declared.name, asked.set) if asked.set else declared
        toml = "\n".join(toml_lines({"extends": declared.name} | nested_changes(asked.set)))
        side = msgspec.structs.replace(side, recipe=recipe, toml=toml.rstrip())
        if search:
            learning = _learning(engine, declared.name, recipe)
            side = msgspec.structs.replace(side, learning=learning)
        if search and asked.query.strip():
            answer = asked.answered(engine)
            side = msgspec.structs.replace(side, answer=answer, rows=_rows(engine, answer))
    except (UserError, ProviderError) as error:
        return msgspec.structs.replace(side, problem=str(error))
    return side


def _learning(engine: Recollect, name: str, recipe: Recipe) -> Learning:
    held = {one.name.split(".", 2)[-1]: one.value for one in constants(recipe)}
    return Learning(
        *engine.opinions(),
        after=int(held.get("adaptive.after", 0)),
        weights=engine.learned(name),
        signal=held.get("signals.feedback.weight", 0.0),
    )


def _rows(engine: Recollect, answer: Answer) -> tuple[Row, ...]:
    shown = answer.results[:MOST_ROWS]
    said = engine.judged(answer.query, [one.id for one in shown])
    return tuple(
        Row(rank, one, title_of(one), said.get(one.id), None)
        for rank, one in enumerate(shown, start=1)
    )


def title_of(result: Result) -> str:
    memory = result.memory
    return memory.title or memory.text[:80] or memory.id


def _moved(side: Side, other: Side) -> Side:
    """The rows with where each goes. Nothing moves where one of the lists could not be had."""
    if side.answer is None or other.answer is None:
        return side
    ranks = {one.id: rank for rank, one in enumerate(other.answer, start=1)}
    rows = []
    for row in side.rows:
        there = ranks.get(row.result.id)
        move = Move(row.rank, there) if side.name == LEFT else Move(there, row.rank)
        rows.append(row._replace(move=move))
    return msgspec.structs.replace(side, rows=tuple(rows))


# What stands below both


def _differing(left: Side, right: Side) -> list[tuple[str, str, str]]:
    """What both have and set differently comes first: the rest is that one of them lacks a part."""
    if left.recipe is None or right.recipe is None:
        return []
    found = differences(left.recipe, right.recipe)
    found.sort(key=lambda one: (one[1] is None or one[2] is None, one[1] is None))
    return [(name, text_of(one), text_of(other)) for name, one, other in found]


def _compared(engine: Recollect, id: str, left: Side, right: Side) -> dict[str, Any] | None:
    """One memory as both sides see it, and part by part."""
    if not id or left.answer is None or right.answer is None:
        return None
    places = [(side, side.place(id)) for side in (left, right)]
    try:
        [memory] = engine.show([id])
    except NotFound:
        return None
    sums = [_sums(place[1].explain) if place else {} for _, place in places]
    parts = [
        (name, sums[0].get(name), sums[1].get(name)) for name in dict.fromkeys((*sums[0], *sums[1]))
    ]
    scale = None
    if left.asked.recipe == right.asked.recipe:  # the same parts: comparable to the eye
        scale = scale_of(place[1].explain for _, place in places if place)
    return {"id": id, "memory": memory, "places": places, "parts": parts, "scale": scale}


def _sums(term: Term) -> dict[str, float]:
    found: dict[str, float] = {}
    for step in steps(term):
        found[step.name] = found.get(step.name, 0.0) + step.value
    return found


def examples(engine: Recollect) -> list[str]:
    """A few queries to begin with: words of titles from different places in the vault."""
    told = [keywords(memory.title)[:EXAMPLE_WORDS] for memory in engine.list(limit=60)]
    queries = [" ".join(words) for words in told if len(words) > 1]
    spread = queries[:: max(1, len(queries) // EXAMPLES)]
    return list(dict.fromkeys(spread))[:EXAMPLES]


def _fields(bench: Bench) -> tuple[list[tuple[str, str, str, str]], Pairs]:
    """The filters that have a field on the page, and the others, which travel along unseen."""
    rest = list(bench.kept)
    fields = []
    for name, told, hint in FIELDS:
        at = next((at for at, (one, _) in enumerate(rest) if one == name), None)
        fields.append((name, told, "" if at is None else rest.pop(at)[1], hint))
    return fields, [(name, value) for name, value in rest if value]


def _filters(bench: Bench) -> list[tuple[str, str, str]]:
    """What narrows both searches, as (name, value, the address without it)."""
    return [
        (name, value, _address(bench._replace(kept=[*bench.kept[:at], *bench.kept[at + 1 :]])))
        for at, (name, value) in enumerate(bench.kept)
        if value
    ]


def _address(bench: Bench) -> str:
    return f"/lab?{urlencode(bench.pairs())}"
