"""The page of a memory, and forgetting, restoring, pinning, replacing it or undoing its changes."""

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
from recollect.interfaces.web.memory_form import FIELDS
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
    read_form,
)
from recollect.maths import logistic
from recollect.memory_json import id_path
from recollect.present import sentences
from recollect.present.history import version_line, with_differences
from recollect.settings import EDITORS, Editor
from recollect.types import NO_CHAIN, FilePlace
from recollect.vaults.known import HOME

MOST_UNASKED = 5  # memories that an undo changes without confirmation
REDO = {"redo": 1}
FOLDED = 600  # characters of details that are shown without unfolding
NARROWS = ("project", "kind", "source", "domain", "space")


# One memory


async def show(service: Service, request: Request) -> Response:
    """Show the whole memory. Related memories load later, as they may need a model."""
    engine = service.engine
    then = read_as_of(request.query_params, engine.now())
    values = await service.ask(describe, engine, memory_id(request), then)
    foreign = values["one"]["vault"]
    versions = [] if foreign else await service.ask(engine.history, values["memory"].id)
    values |= {
        "as_of": sentences.as_of(then),
        "versions": [
            (version, version_line(version), differences)
            for version, differences in with_differences(versions)
        ],
    }
    return page("memory.html", request, values)


async def preview(service: Service, request: Request) -> Response:
    """Show the memory next to a list. This does not count as opening it."""
    try:
        then = read_as_of(request.query_params, service.engine.now())
        id = memory_id(request)
        values = await service.ask(describe, service.engine, id, then, opened=False)
    except RecollectError as error:
        return problem_piece(request, error)
    values["memory_query"] = f"?{request.query_params}" if then else ""
    return page("_preview.html", request, values)


async def related(service: Service, request: Request) -> Response:
    """Show related memories: as a piece of the memory's page, or as a page without script."""
    id, alone = memory_id(request), "piece" not in request.query_params
    try:
        [memory] = await service.ask(service.engine.show, [id], opened=False)
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
    """Return the values of a memory's page; for a memory of the past, without its surroundings.

    `vault`: the other vault that holds it; empty for the own one. `fields`: label and name of each
    text besides the main one. `file`: the surrounding text, if it is a passage of a file. `editor`:
    the link that opens the file in an editor. `facts`: short fields with a link to memories that
    share the value.
    """
    [found] = engine.locate([id], as_of=then, opened=opened)
    memory, own = found.memory, found.vault == HOME
    file = engine.in_file(memory) if own and not then else None
    fields = [
        (FIELDS[name].label, name)
        for name in ("context", "why", "impact")
        if getattr(memory, name).strip() and not (file and name == "context")
    ]
    facts = [
        (
            FIELDS[name].label,
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
        "texts": Texts(memory, partial(engine.resolve_names, source=memory.path)),
        "fields": fields,
        "folded": len(memory.details) > FOLDED,
        "chain": NO_CHAIN if then else found.chain,
        "file": file,
        "editor": editor_link(engine.settings.serve.editor, file.place) if file else "",
    }
    shown = {"one": one, "memory": memory, "title": one["title"], "facts": facts}
    return shown | {"asked": found.asked, "now": then or engine.now()}


def editor_link(editor: Editor, place: FilePlace) -> str:
    """Return the link that opens the matching line in the editor; empty without an editor."""
    line = place.line or place.first_line
    return EDITORS[editor].format(path=quote(place.path), line=line)


# Changes


async def forget(service: Service, request: Request) -> Response:
    id = memory_id(request)
    [memory] = await service.ask(service.engine.show, [id], opened=False)
    await service.ask(service.engine.forget, [id])
    return await answer_change(service, request, f"Forgotten: {heading(memory)}", "/browse", id)


async def restore(service: Service, request: Request) -> Response:
    id = memory_id(request)
    await service.ask(service.engine.forget, [id], undo=True)
    return await answer_change(
        service, request, "The memory is back.", f"/memory/{id_path(id)}", id
    )


async def undo_last(service: Service, request: Request) -> Response:
    """Undo the operation in the form, or the caller's last change; with `redo`, redo the last
    undone one. If many memories would change, ask for confirmation first."""
    form, place = await read_form(request), page_before(request)
    operation, agreed = number(form, "operation"), number(form, "agreed") or MOST_UNASKED

    def agree(undone: Undone) -> None:
        if operation is None and len(undone.memories) > agreed:
            raise _NeedsConfirmation(undone)

    try:
        if "redo" in form:
            done = await service.ask(service.engine.redo)
        else:
            done = await service.ask(service.engine.undo, operation=operation, agree=agree)
    except _NeedsConfirmation as asks:
        question = f"Your last change is the {_name_change(asks.undone)}. Undo it?"
        return answer_form(request, question, place, {"agreed": len(asks.undone.memories)})
    verb, back = ("Redone", {"agreed": len(done.memories)}) if "redo" in form else ("Undone", REDO)
    return answer_form(
        request, f"{verb}: {_name_change(done)}.", "/browse" if done.forgotten else place, back
    )


class _NeedsConfirmation(Exception):
    """Raised before an undo that changes many memories."""

    def __init__(self, undone: Undone) -> None:
        self.undone = undone


def _name_change(done: Undone) -> str:
    """Name a change: `forget of “Tokens live 15 minutes”, and 2 more`."""
    first, *others = done.memories
    more = f", and {len(others):,} more" if others else ""
    return f"{done.action} of “{heading(first)}”{more}"


async def undo(service: Service, request: Request) -> Response:
    """Undo its last change, or all since a version, unless it was changed in the meantime."""
    id, form = memory_id(request), await read_form(request)
    to, newest = (number(form, name) for name in ("to", "newest"))
    done = await service.ask(service.engine.undo, id, to=to, if_version=newest)
    place = "/browse" if id in done.forgotten else f"/memory/{id_path(id)}"
    return answer_form(request, "The change was undone.", place, REDO)


def number(form: QueryParams, name: str) -> int | None:
    """Return the number in a form's field; None if it is missing or empty."""
    value = form.get(name, "")
    if value and not value.isdecimal():
        raise UserError(f"{name} must be a number.")
    return int(value) if value else None


async def pin(service: Service, request: Request) -> Response:
    """Pin a memory, or unpin it if the form has the field `unpin`."""
    id, unpin = memory_id(request), "unpin" in await read_form(request)
    await service.ask(service.engine.unpin if unpin else service.engine.pin, [id])
    message = "Unpinned." if unpin else "Pinned: it is now core, the most trusted tier."
    return await answer_change(service, request, message, f"/memory/{id_path(id)}", id)


async def supersede(service: Service, request: Request) -> Response:
    """Mark this memory as replaced by the one whose id was entered."""
    id, form = memory_id(request), await read_form(request)
    await service.ask(service.engine.supersede, id, form.get("by", "").strip())
    message = "Marked as replaced; it is no longer valid."
    return await answer_change(service, request, message, f"/memory/{id_path(id)}", id)
