"""A memory's own page, the form to write or change one, forgetting, restoring and pinning."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.engine import Recollect
from recollect.errors import NotFound, RecollectError, UserError
from recollect.id_paths import id_path
from recollect.interfaces.http.service import Service
from recollect.interfaces.requests import as_of
from recollect.interfaces.web import editing, memory_form
from recollect.interfaces.web.forms import memory_id, problem_piece, redirect, submitted, to_memory
from recollect.interfaces.web.memory_text import heading
from recollect.interfaces.web.memory_view import MemoryView, view_of
from recollect.interfaces.web.rendering import page, query_string
from recollect.present import sentences
from recollect.present.history import compared, version_line
from recollect.types import Memory

KEPT_TITLES = 100  # forgotten a moment ago; later ones are named by their id
NARROWS = ("project", "kind", "source", "domain", "space")

DONE = {
    "added": "Saved.",
    "changed": "The change is saved.",
    "same": "Nothing was changed.",
    "updated": "There was a memory with this id already; it was updated.",
    "repeated": "The memory below says the same already, so it was updated.",
    "unchanged": "The memory below says exactly this already; nothing was changed.",
    "pinned": "Pinned: this memory is core now, the most trusted tier.",
    "restored": "The memory is back.",
    "superseded": "Another memory has taken its place; this one is valid until now.",
    "undone": "The change is taken back.",
}


class Fact(NamedTuple):
    """A short field; `href` leads to the memories that share it."""

    label: str
    value: str
    href: str = ""


class Forgotten:
    """The titles of the last forgotten memories: the engine does not show them any more."""

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
        ("GET", "/preview/{id:path}", preview),
        ("GET", "/related/{id:path}", related),
        ("GET", "/edit/{id:path}", memory_form.edit),
        ("POST", "/edit/{id:path}", memory_form.save_edit),
        ("GET", "/new", memory_form.new),
        ("POST", "/new", memory_form.save_new),
        ("GET", "/new/values", memory_form.values_in_use),
        ("POST", "/forget/{id:path}", forget),
        ("POST", "/restore/{id:path}", restore),
        ("POST", "/pin/{id:path}", pin),
        ("POST", "/undo/{id:path}", undo),
        ("POST", "/supersede/{id:path}", supersede),
    ]
    return [Route(path, partial(handler, service), methods=[how]) for how, path, handler in made]


# One memory


async def show(service: Service, request: Request) -> Response:
    """The memory, whole. What is related is asked for afterwards: it may need a model."""
    now = service.engine.now()
    then = as_of(request.query_params, now)
    [memory] = await service.ask(service.engine.show, [memory_id(request)], as_of=then)
    view = await service.ask(view_of, service.engine, memory, past=then is not None)
    values = described(view, then or now)
    values["as_of"] = sentences.as_of(then)
    values["asked"] = memory_id(request) if memory.id != memory_id(request) else ""
    values["done"] = DONE.get(request.query_params.get("done", ""), "")
    try:
        versions = await service.ask(service.engine.history, memory.id)
    except NotFound:  # it is in another vault
        versions = []
    values["versions"] = [
        (version, version_line(version), differences) for version, differences in compared(versions)
    ]
    return page("memory.html", request, values)


async def preview(service: Service, request: Request) -> Response:
    """The memory beside a list: nobody has opened it."""
    try:
        then = as_of(request.query_params, service.engine.now())
        view = await service.ask(_previewed, service.engine, memory_id(request), then)
    except RecollectError as error:
        return problem_piece(request, error)
    values = described(view, then or service.engine.now())
    values["memory_query"] = f"?{request.query_params}" if then else ""
    return page("_preview.html", request, values)


def _previewed(engine: Recollect, id: str, then: datetime | None) -> MemoryView:
    [memory] = engine.looked_up([id], as_of=then)
    return view_of(engine, memory, past=then is not None)


async def related(service: Service, request: Request) -> Response:
    """Related memories: a piece of the memory's page, or a page where there is no script."""
    id, alone = memory_id(request), "piece" not in request.query_params
    try:
        [memory] = await service.ask(service.engine.looked_up, [id])
        found = await service.ask(service.engine.related, id)
    except RecollectError as error:
        if alone:
            raise
        return problem_piece(request, error)
    values = {"memory": memory, "title": heading(memory), "found": found, "heading": heading}
    values["now"] = service.engine.now()
    return page("related.html" if alone else "_related.html", request, values)


def described(view: MemoryView, now: datetime) -> dict[str, Any]:
    """Everything the page of a memory shows."""
    memory = view.memory
    facts = [
        Fact(
            editing.FIELDS[name].label,
            value,
            f"/project/{id_path(value)}"
            if name == "project"
            else f"/browse?{query_string(**{name: value})}"
            if name in NARROWS
            else "",
        )
        for name in (*NARROWS, "path")
        if (value := getattr(memory, name))
    ]
    return {"one": view, "memory": memory, "title": view.title, "facts": facts, "now": now}


# Forgetting


async def forget(service: Service, request: Request) -> Response:
    """Forget it, and go to the page that can undo it."""
    id = memory_id(request)
    [memory] = await service.ask(service.engine.looked_up, [id])
    await service.ask(service.engine.forget, [id])
    forgotten(service).add(memory)
    return redirect(f"/browse?{query_string(forgotten=id)}")


async def restore(service: Service, request: Request) -> Response:
    id = memory_id(request)
    await service.ask(service.engine.forget, [id], undo=True)
    return to_memory(id, "restored")


async def undo(service: Service, request: Request) -> Response:
    """Take back its last change, or all since a version, unless it was changed meanwhile."""
    id, form = memory_id(request), await submitted(request)
    to, newest = (number(form, name) for name in ("to", "newest"))
    done = await service.ask(service.engine.undo, id, to=to, if_version=newest)
    if id in done.forgotten:
        forgotten(service).add(done.memories[0])
        return redirect(f"/browse?{query_string(forgotten=id)}")
    return to_memory(id, "undone")


def number(form: dict[str, list[str]], name: str) -> int | None:
    """The number in a field of a form; None where it is not there."""
    value = form.get(name, [""])[0]
    if value and not value.isdecimal():
        raise UserError(f"{name} must be the number of a version.")
    return int(value) if value else None


async def pin(service: Service, request: Request) -> Response:
    id = memory_id(request)
    await service.ask(service.engine.pin, [id])
    return to_memory(id, "pinned")


async def supersede(service: Service, request: Request) -> Response:
    """Put the memory whose id was typed in the place of this one."""
    id, form = memory_id(request), await submitted(request)
    await service.ask(service.engine.supersede, id, form.get("by", [""])[-1].strip())
    return to_memory(id, "superseded")
