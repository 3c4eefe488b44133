"""A memory's own page, the form to write or change one, forgetting, restoring and pinning."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from recollect.engine import Recollect
from recollect.engine.history import Undone
from recollect.engine.reading import FilePassages
from recollect.errors import RecollectError, UserError
from recollect.interfaces.http.service import Service
from recollect.interfaces.requests import as_of
from recollect.interfaces.web import editing
from recollect.interfaces.web.rendering import (
    Texts,
    answer_change,
    answer_form,
    heading,
    memory_id,
    page,
    page_before,
    problem_piece,
    query_string,
    submitted,
)
from recollect.maths import logistic
from recollect.memory_json import id_path
from recollect.present import sentences
from recollect.present.history import compared, version_line
from recollect.settings import EDITORS, Editor
from recollect.types import NO_CHAIN, Chain, FilePlace, Memory
from recollect.vaults.known import HOME, FoundMemory

MOST_UNASKED = 5  # memories that an undo changes without a question
REDO = {"redo": 1}
NARROWS = ("project", "kind", "source", "domain", "space")


# One memory


async def show(service: Service, request: Request) -> Response:
    """The memory, whole. What is related is asked for afterwards: it may need a model."""
    engine, now = service.engine, service.engine.now()
    then = as_of(request.query_params, now)
    [found] = await service.ask(engine.located, [memory_id(request)], as_of=then)
    view = await service.ask(view_of, engine, found, past=then is not None)
    versions = [] if view.vault else await service.ask(engine.history, found.memory.id)
    values = described(view, then or now) | {
        "as_of": sentences.as_of(then),
        "asked": found.asked,
        "versions": [
            (version, version_line(version), differences)
            for version, differences in compared(versions)
        ],
    }
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
    [found] = engine.located([id], as_of=then, opened=False)
    return view_of(engine, found, past=then is not None)


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
    # The scores are log odds.
    odds = {result.id: logistic(result.score) for result in found}
    shares = {id: round(100 * each / max(odds.values())) for id, each in odds.items()}
    values = {"memory": memory, "title": heading(memory), "found": found, "shares": shares}
    values["now"] = service.engine.now()
    return page("related.html" if alone else "_related.html", request, values)


def described(view: MemoryView, now: datetime) -> dict[str, Any]:
    """Everything the page of a memory shows."""
    memory = view.memory
    facts = [  # short fields; the third part leads to the memories that share the value
        (
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


# Changes


async def forget(service: Service, request: Request) -> Response:
    id = memory_id(request)
    [memory] = await service.ask(service.engine.looked_up, [id])
    await service.ask(service.engine.forget, [id])
    return await answer_change(service, request, f"Forgotten: {heading(memory)}", "/browse", id)


async def restore(service: Service, request: Request) -> Response:
    id = memory_id(request)
    await service.ask(service.engine.forget, [id], undo=True)
    return await answer_change(
        service, request, "The memory is back.", f"/memory/{id_path(id)}", id
    )


async def undo_last(service: Service, request: Request) -> Response:
    """Take back the operation that the form names, or else the caller's last change; with `redo` do
    again what was taken back last. Where many memories would change, the person is asked first."""
    form, place = await submitted(request), page_before(request)
    operation, agreed = number(form, "operation"), number(form, "agreed") or MOST_UNASKED

    def agree(undone: Undone) -> None:
        if operation is None and len(undone.memories) > agreed:
            raise _Asks(undone)

    try:
        if "redo" in form:
            done = await service.ask(service.engine.redo)
        else:
            done = await service.ask(service.engine.undo, operation=operation, agree=agree)
    except _Asks as asks:
        said = f"Your last change is the {_name_change(asks.undone)}. Take it back?"
        return answer_form(request, said, place, {"agreed": len(asks.undone.memories)})
    verb, back = ("Redone", {"agreed": len(done.memories)}) if "redo" in form else ("Undone", REDO)
    return answer_form(
        request, f"{verb}: {_name_change(done)}.", "/browse" if done.forgotten else place, back
    )


class _Asks(Exception):
    """Raised before an undo that changes many memories."""

    def __init__(self, undone: Undone) -> None:
        self.undone = undone


def _name_change(done: Undone) -> str:
    """Name a change: `forget of “Tokens live 15 minutes”, and 2 more`."""
    first, *others = done.memories
    more = f", and {len(others):,} more" if others else ""
    return f"{done.action} of “{heading(first)}”{more}"


async def undo(service: Service, request: Request) -> Response:
    """Take back its last change, or all since a version, unless it was changed meanwhile."""
    id, form = memory_id(request), await submitted(request)
    to, newest = (number(form, name) for name in ("to", "newest"))
    done = await service.ask(service.engine.undo, id, to=to, if_version=newest)
    place = "/browse" if id in done.forgotten else f"/memory/{id_path(id)}"
    return answer_form(request, "The change is taken back.", place, REDO)


def number(form: QueryParams, name: str) -> int | None:
    """The number in a field of a form; None where it is not there."""
    value = form.get(name, "")
    if value and not value.isdecimal():
        raise UserError(f"{name} must be a number.")
    return int(value) if value else None


async def pin(service: Service, request: Request) -> Response:
    """Pin it, or with the field `unpin` no longer."""
    id, off = memory_id(request), "unpin" in await submitted(request)
    await service.ask(service.engine.unpin if off else service.engine.pin, [id])
    said = "No longer pinned." if off else "Pinned: it is core now, the most trusted tier."
    return await answer_change(service, request, said, f"/memory/{id_path(id)}", id)


async def supersede(service: Service, request: Request) -> Response:
    """Put the memory whose id was typed in the place of this one."""
    id, form = memory_id(request), await submitted(request)
    await service.ask(service.engine.supersede, id, form.get("by", "").strip())
    said = "Another memory has taken its place; this one is valid until now."
    return await answer_change(service, request, said, f"/memory/{id_path(id)}", id)


# What is shown of a memory

FOLDED = 600  # characters of details that are shown without unfolding


class MemoryView(NamedTuple):
    """`vault`: the other vault that holds it; empty for one's own. `fields`: the label and name of
    each text besides the main one. `file`: its surroundings, where it is a passage of a file.
    `editor`: the link that opens the file in an editor."""

    memory: Memory
    vault: str
    title: str
    texts: Texts
    fields: Sequence[tuple[str, str]]
    folded: bool
    chain: Chain
    file: FilePassages | None
    editor: str


def view_of(engine: Recollect, found: FoundMemory, *, past: bool = False) -> MemoryView:
    """Everything that is shown of a memory; of one from the past, nothing around it."""
    memory, own = found.memory, found.vault == HOME
    file = engine.in_file(memory) if own and not past else None
    fields = [
        (editing.FIELDS[name].label, name)
        for name in ("context", "why", "impact")
        if getattr(memory, name).strip() and not (file and name == "context")
    ]
    return MemoryView(
        memory,
        "" if own else found.vault,
        heading(memory),
        Texts(memory, partial(engine.mentioned, beside=memory.path)),
        fields,
        len(memory.details) > FOLDED,
        NO_CHAIN if past else found.chain,
        file,
        editor_link(engine.settings.serve.editor, file.place) if file else "",
    )


def editor_link(editor: Editor, place: FilePlace) -> str:
    """The address by which the editor opens that line; empty where none is chosen."""
    form = EDITORS[editor]
    return form.format(path=quote(place.path), line=place.first_line) if form else ""
