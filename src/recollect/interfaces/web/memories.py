"""A memory's own page, the form to write or change one, forgetting, restoring and pinning."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from recollect.engine import Recollect
from recollect.engine.history import Undone
from recollect.errors import RecollectError, UserError
from recollect.interfaces.http.service import Service
from recollect.interfaces.requests import read_as_of
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
from recollect.types import NO_CHAIN, FilePlace
from recollect.vaults.known import HOME

MOST_UNASKED = 5  # memories that an undo changes without a question
REDO = {"redo": 1}
FOLDED = 600  # characters of details that are shown without unfolding
NARROWS = ("project", "kind", "source", "domain", "space")


# One memory


async def show(service: Service, request: Request) -> Response:
    """The memory, whole. What is related is asked for afterwards: it may need a model."""
    engine = service.engine
    then = read_as_of(request.query_params, engine.now())
    values = await service.ask(describe, engine, memory_id(request), then)
    foreign = values["one"]["vault"]
    versions = [] if foreign else await service.ask(engine.history, values["memory"].id)
    values |= {
        "as_of": sentences.as_of(then),
        "versions": [
            (version, version_line(version), differences)
            for version, differences in compared(versions)
        ],
    }
    return page("memory.html", request, values)


async def preview(service: Service, request: Request) -> Response:
    """The memory beside a list: nobody has opened it."""
    try:
        then = read_as_of(request.query_params, service.engine.now())
        id = memory_id(request)
        values = await service.ask(describe, service.engine, id, then, opened=False)
    except RecollectError as error:
        return problem_piece(request, error)
    values["memory_query"] = f"?{request.query_params}" if then else ""
    return page("_preview.html", request, values)


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


def describe(
    engine: Recollect, id: str, then: datetime | None, *, opened: bool = True
) -> dict[str, Any]:
    """Everything that the page of a memory shows; of one from the past, nothing around it.

    `vault`: the other vault that holds it; empty for one's own. `fields`: the label and name of
    each text besides the main one. `file`: its surroundings, where it is a passage of a file.
    `editor`: the link that opens the file in an editor. `facts`: short fields; the third part leads
    to the memories that share the value.
    """
    [found] = engine.located([id], as_of=then, opened=opened)
    memory, own = found.memory, found.vault == HOME
    file = engine.in_file(memory) if own and not then else None
    fields = [
        (editing.FIELDS[name].label, name)
        for name in ("context", "why", "impact")
        if getattr(memory, name).strip() and not (file and name == "context")
    ]
    facts = [
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
    one = {
        "memory": memory,
        "vault": "" if own else found.vault,
        "title": heading(memory),
        "texts": Texts(memory, partial(engine.mentioned, beside=memory.path)),
        "fields": fields,
        "folded": len(memory.details) > FOLDED,
        "chain": NO_CHAIN if then else found.chain,
        "file": file,
        "editor": editor_link(engine.settings.serve.editor, file.place) if file else "",
    }
    shown = {"one": one, "memory": memory, "title": one["title"], "facts": facts}
    return shown | {"asked": found.asked, "now": then or engine.now()}


def editor_link(editor: Editor, place: FilePlace) -> str:
    """The address by which the editor opens the line that matches, or the first; empty where no
    editor is chosen."""
    line = place.line or place.first_line
    return EDITORS[editor].format(path=quote(place.path), line=line)


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
