"""A memory's own page, the form to write or change one, forgetting, restoring and pinning."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qs
from weakref import WeakKeyDictionary

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from recollect.engine import Recollect
from recollect.errors import Changed, NotFound, RecollectError, StoreError, UserError
from recollect.ingest.draft import draft
from recollect.interfaces.http.problems import status_of
from recollect.interfaces.http.service import Service
from recollect.interfaces.web import editing
from recollect.interfaces.web.rendering import page, path_of, query_string
from recollect.memory_json import revision
from recollect.types import Memory

MOST_FIELDS = 2000  # a memory of a thousand tags, and the rest
HEADING = 90  # characters of a text that stand for a missing title
FOLDED = 600  # characters of details that are shown without unfolding
KEPT_TITLES = 100  # forgotten a moment ago; later ones are named by their id
URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}]")
NARROWS = ("project", "kind", "source", "domain", "space")

DONE = {
    "added": "Saved.",
    "changed": "The change is saved.",
    "same": "Nothing was changed.",
    "updated": "There was a memory with this id already; it was updated.",
    "repeated": "This repeats what the memory below says already, so that one was updated.",
    "unchanged": "This is what the memory below says already; nothing was changed.",
    "pinned": "Pinned: this memory is core now, the most trusted tier.",
    "restored": "The memory is back.",
}


class Fact(NamedTuple):
    """A short field; `href` leads to the memories that share it."""

    label: str
    value: str
    href: str = ""


class Forgotten:
    """The titles of what was forgotten last: the engine no longer tells them."""

    def __init__(self) -> None:
        self._titles: OrderedDict[str, str] = OrderedDict()

    def add(self, memory: Memory) -> None:
        self._titles[memory.id] = heading(memory)
        if len(self._titles) > KEPT_TITLES:
            self._titles.popitem(last=False)

    def title(self, id: str) -> str:
        return self._titles.get(id, id)


_forgotten: WeakKeyDictionary[Service, Forgotten] = WeakKeyDictionary()


def forgotten(service: Service) -> Forgotten:
    return _forgotten.setdefault(service, Forgotten())


def routes(service: Service) -> list[BaseRoute]:
    made: list[tuple[str, str, Callable[[Service, Request], Awaitable[Response]]]] = [
        ("GET", "/memory/{id:path}", show),
        ("GET", "/related/{id:path}", related),
        ("GET", "/edit/{id:path}", edit),
        ("POST", "/edit/{id:path}", save_edit),
        ("GET", "/new", new),
        ("POST", "/new", save_new),
        ("GET", "/new/values", values_in_use),
        ("POST", "/forget/{id:path}", forget),
        ("POST", "/restore/{id:path}", restore),
        ("POST", "/pin/{id:path}", pin),
    ]
    return [Route(path, partial(handler, service), methods=[how]) for how, path, handler in made]


# Looking at one


async def show(service: Service, request: Request) -> Response:
    """The memory, whole. What is related is asked for afterwards: it may need a model."""
    [memory] = await service.ask(service.engine.show, [_id(request)])
    values = described(memory, service.engine.now())
    values["done"] = DONE.get(request.query_params.get("done", ""), "")
    return page("memory.html", request, values)


async def related(service: Service, request: Request) -> Response:
    """What else is about the same; a piece of the memory's page, or a page without script."""
    id, alone = _id(request), "piece" not in request.query_params
    try:
        [memory] = await service.ask(service.engine.show, [id])
        found = await service.ask(service.engine.related, id)
    except RecollectError as error:
        if alone:
            raise
        return problem_piece(request, error)
    values = {"memory": memory, "title": heading(memory), "found": found, "heading": heading}
    values["now"] = service.engine.now()
    return page("related.html" if alone else "_related.html", request, values)


def described(memory: Memory, now: datetime) -> dict[str, Any]:
    """Everything the page of a memory shows."""
    names = (*NARROWS, "path")
    held = ((name, getattr(memory, name)) for name in names)
    facts = [
        Fact(
            editing.FIELDS[name].label,
            value,
            f"/browse?{query_string(**{name: value})}" if name in NARROWS else "",
        )
        for name, value in held
        if value
    ]
    texts = [
        (editing.FIELDS[name].label, linked(getattr(memory, name)))
        for name in ("context", "why", "impact")
        if getattr(memory, name).strip()
    ]
    return {
        "memory": memory,
        "title": heading(memory),
        "text": linked(memory.text),
        "texts": texts,
        "details": linked(memory.details),
        "folded": len(memory.details) > FOLDED,
        "facts": facts,
        "now": now,
    }


def heading(memory: Memory) -> str:
    """The title, or how the text begins."""
    if memory.title.strip():
        return memory.title
    [first, *_] = memory.text.strip().splitlines() or [memory.id]
    return first if len(first) <= HEADING else first[:HEADING].rsplit(" ", 1)[0] + " …"


def linked(text: str) -> Markup:
    """The text with its web addresses as links; everything else in it is text."""
    link = Markup('<a href="{0}" rel="noreferrer noopener nofollow">{0}</a>')
    made, last = [], 0
    for found in URL.finditer(text):
        made += [escape(text[last : found.start()]), link.format(found[0])]
        last = found.end()
    return Markup("").join([*made, escape(text[last:])])


# Writing and changing


async def new(service: Service, request: Request) -> Response:
    return _form(request, None, editing.shown(None))


async def save_new(service: Service, request: Request) -> Response:
    """Save what was typed, and say when it was there already."""
    form = await submitted(request)
    try:
        [saved] = await service.ask(service.engine.save_all, [draft(editing.as_draft(form))])
    except (UserError, StoreError) as error:
        return _refused(request, None, form, error)
    outcome = saved.outcome
    done = "repeated" if saved.repeated and outcome == "updated" else outcome
    return _seen(saved.memory.id, done)


async def edit(service: Service, request: Request) -> Response:
    [memory] = await service.ask(service.engine.show, [_id(request)])
    values = editing.shown(memory)
    return _form(request, memory, values)


async def save_edit(service: Service, request: Request) -> Response:
    """Change what was typed over, unless somebody else was quicker; what was typed stays in the
    form when that fails."""
    id, form = _id(request), await submitted(request)
    try:
        [memory] = await service.ask(service.engine.show, [id])
    except NotFound:
        return _gone(request, form)
    try:
        done = await service.ask(_changed, service.engine, memory, form)
    except NotFound:
        return _gone(request, form)
    except Changed:
        return await _conflict(service, request, form)
    except (UserError, StoreError) as error:
        return _refused(request, memory, form, error)
    return _seen(id, done)


def _changed(engine: Recollect, memory: Memory, form: editing.Form) -> str:
    """Change the memory; which of DONE that was."""
    changes = editing.as_edit(editing.changed(form), memory)
    if not changes:
        return "same"
    engine.edit(memory.id, if_revision=form.get("revision", [""])[-1] or None, **changes)
    return "changed"


async def _conflict(service: Service, request: Request, form: editing.Form) -> Response:
    """The form again, from the memory as it is now, with what was typed laid over it."""
    try:
        [memory] = await service.ask(service.engine.show, [_id(request)])
    except NotFound:
        return _gone(request, form)
    values, differences = editing.conflict(form, memory)
    return _form(request, memory, values, differences=differences, status=412)


def _refused(
    request: Request, memory: Memory | None, form: editing.Form, error: RecollectError
) -> Response:
    """The form again, with what was typed and what is wrong with it."""
    values = editing.shown(memory) | editing.typed(form)
    status = 503 if isinstance(error, StoreError) else 400
    return _form(request, memory, values, problem=str(error), form=form, status=status)


def _gone(request: Request, form: editing.Form) -> Response:
    """Forgotten while it was edited: what was typed must not be lost with it."""
    problem = (
        "This memory was forgotten meanwhile. What you typed is still here; saving it now makes a "
        "new memory."
    )
    values = editing.shown(None) | editing.typed(form)
    return _form(request, None, values, problem=problem, status=404)


def _form(
    request: Request,
    memory: Memory | None,
    values: editing.Values,
    *,
    problem: str = "",
    differences: list[editing.Difference] | None = None,
    form: editing.Form | None = None,
    status: int = 200,
) -> Response:
    """The form. What it was handed out with stays the same when it comes back with an error."""
    was, held = editing.digests(editing.shown(memory)), revision(memory) if memory else ""
    if form is not None:
        was, held = form.get("was", [""])[-1], form.get("revision", [""])[-1]
    tags = dict.fromkeys((*(memory.tags if memory else ()), *values["tags"]))
    told = {
        "memory": memory,
        "title": heading(memory) if memory else "New memory",
        "action": f"/edit/{path_of(memory.id)}" if memory else "/new",
        "sections": editing.SECTIONS,
        "unfolded": editing.unfolded(values, problem, all_of_them=bool(differences)),
        "labels": editing.labels(),
        "values": values,
        "tags": [(tag, tag in values["tags"]) for tag in tags],
        "was": was,
        "revision": held,
        "problem": problem,
        "wrong": editing.field_of(problem),
        "differences": differences or [],
        "given_id": form.get("id", [""])[-1] if form else "",
        "example": editing.TIME_EXAMPLE,
    }
    return page("edit.html", request, told, status=status)


async def values_in_use(service: Service, request: Request) -> Response:
    """What other memories have for the fields that offer it, as lists to choose from."""
    facets = await service.ask(service.engine.facets)
    return page("_values.html", request, {"facets": facets})


# Forgetting


async def forget(service: Service, request: Request) -> Response:
    """Forget it, and go where it can be undone."""
    id = _id(request)
    [memory] = await service.ask(service.engine.show, [id])
    await service.ask(service.engine.forget, [id])
    forgotten(service).add(memory)
    return _to(f"/browse?{query_string(forgotten=id)}")


async def restore(service: Service, request: Request) -> Response:
    id = _id(request)
    await service.ask(service.engine.forget, [id], undo=True)
    return _seen(id, "restored")


async def pin(service: Service, request: Request) -> Response:
    id = _id(request)
    await service.ask(service.engine.pin, [id])
    return _seen(id, "pinned")


# What they share


def problem_piece(request: Request, error: RecollectError) -> Response:
    """What went wrong, to stand where a piece of a page would have stood."""
    return page("_problem.html", request, {"detail": str(error)}, status=status_of(error))


async def submitted(request: Request) -> dict[str, list[str]]:
    """The fields of a form. A browser sends one in this encoding and no other."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != "application/x-www-form-urlencoded":
        raise UserError("A form must be sent as application/x-www-form-urlencoded.")
    try:
        return parse_qs(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError as error:  # not UTF-8, or too many fields
        raise UserError("The form cannot be read.") from error


def _id(request: Request) -> str:
    return str(request.path_params["id"])


def _seen(id: str, done: str) -> Response:
    return _to(f"/memory/{path_of(id)}?done={done}")


def _to(path: str) -> Response:
    """After a change: look at the result, so that a reload does not change it again."""
    return RedirectResponse(path, status_code=303)
