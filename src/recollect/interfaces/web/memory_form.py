"""The page with the form for writing and changing a memory."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import asdict
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from recollect.engine import Recollect
from recollect.errors import Changed, NotFound, RecollectError, StoreError, UserError
from recollect.ingest.draft import make_draft
from recollect.ingest.saving import Saved
from recollect.interfaces.http.schemas import from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.web import editing
from recollect.interfaces.web.rendering import (
    answer_change,
    for_script,
    heading,
    memory_id,
    page,
    read_form,
)
from recollect.memory_json import id_path, revision
from recollect.secrets.redaction import describe_counts
from recollect.types import Memory
from recollect.vaults.known import HOME

# Runs on any web page and opens the form with its title and selection, which is cut to fit an
# address.
BOOKMARKLET = (
    "javascript:(()=>{let s=String(getSelection());while(encodeURIComponent(s).length>9000)"
    "s=s.slice(0,-200);open('%snew?'+new URLSearchParams({title:document.title.slice(0,200),"
    "text:s,source:location.href.slice(0,800)}),'_blank','width=760,height=800')})()"
)


DONE = {
    "added": "Saved.",
    "updated": "A memory with this id already existed; it was updated.",
    "repeated": "An existing memory says the same, so it was updated.",
    "unchanged": "An existing memory says exactly this; nothing was changed.",
}


class Prefilled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields that the address of the empty form can fill in. Nothing is saved until it is sent."""

    title: str = ""
    text: str = ""
    source: str = ""
    project: str = ""
    add_tags: str = ""


async def new(service: Service, request: Request) -> Response:
    asked: Prefilled = from_parameters(Prefilled, request.query_params)
    values = editing.form_values(None) | editing.sent_values(QueryParams(asdict(asked)))
    return _form(request, None, values)


async def save_new(service: Service, request: Request) -> Response:
    """Save the new memory and tell whether it existed; with `more`, show all fields instead."""
    form = await read_form(request)
    if "more" in form:
        values = editing.form_values(None) | editing.sent_values(form)
        return _form(request, None, values, unsaved=True)
    try:
        [saved] = await service.ask(service.engine.save_all, [make_draft(editing.as_draft(form))])
    except (UserError, StoreError) as error:
        if for_script(request):
            raise
        return _show_error(request, None, form, error)
    outcome = "repeated" if saved.repeated and saved.outcome == "updated" else saved.outcome
    message, id = DONE[outcome] + _redaction_note(saved), saved.memory.id
    new = "" if outcome == "unchanged" else id
    return await answer_change(service, request, message, f"/memory/{id_path(id)}", new)


async def edit(service: Service, request: Request) -> Response:
    memory = await service.ask(_find_own, service.engine, memory_id(request))
    return _form(request, memory, editing.form_values(memory))


def _find_own(engine: Recollect, id: str) -> Memory:
    """Return the memory; raise UserError if it is in another vault."""
    [found] = engine.located([id])
    if found.vault != HOME:
        raise UserError(f"This memory is in the vault {found.vault!r}; change it there.")
    return found.memory


async def save_edit(service: Service, request: Request) -> Response:
    """Save the changes. If the memory was changed in the meantime, show the form again with
    both."""
    id, form = memory_id(request), await read_form(request)
    try:
        memory = await service.ask(_find_own, service.engine, id)
    except NotFound:
        return _gone(request, form)
    try:
        saved = await service.ask(_save_changes, service.engine, memory, form)
    except NotFound:
        return _gone(request, form)
    except Changed:
        return await _conflict(service, request, form)
    except (UserError, StoreError) as error:
        return _show_error(request, memory, form, error)
    place = f"/memory/{id_path(id)}"
    if saved is None or saved.outcome == "unchanged":
        return await answer_change(service, request, "Nothing was changed.", place)
    message = f"The change was saved.{_redaction_note(saved)}"
    return await answer_change(service, request, message, place, id)


def _save_changes(engine: Recollect, memory: Memory, form: QueryParams) -> Saved | None:
    """Save what was changed; return None if the form changes nothing."""
    changes = editing.as_edit(editing.changed_values(form), memory)
    if not changes:
        return None
    return engine.edited(memory.id, if_revision=form.get("revision", "") or None, **changes)


def _redaction_note(saved: Saved) -> str:
    """Say how many secrets were replaced; empty for none."""
    return f" {describe_counts(saved.redacted)}." if saved.redacted else ""


async def _conflict(service: Service, request: Request, form: QueryParams) -> Response:
    """Show the form again, with the current memory and the changes made here."""
    try:
        [memory] = await service.ask(service.engine.show, [memory_id(request)])
    except NotFound:
        return _gone(request, form)
    values, differences = editing.conflict(form, memory)
    return _form(request, memory, values, differences=differences, status=412)


def _show_error(
    request: Request, memory: Memory | None, form: QueryParams, error: RecollectError
) -> Response:
    """Show the form again, with its values and the error."""
    values = editing.form_values(memory) | editing.sent_values(form)
    status = 503 if isinstance(error, StoreError) else 400
    return _form(request, memory, values, problem=str(error), form=form, status=status)


def _gone(request: Request, form: QueryParams) -> Response:
    """Show the form of a memory that was forgotten in the meantime, so that no text is lost."""
    problem = (
        "This memory was forgotten in the meantime. Your text is still here; save it to make a new "
        "memory."
    )
    values = editing.form_values(None) | editing.sent_values(form)
    return _form(request, None, values, problem=problem, status=404)


def _form(
    request: Request,
    memory: Memory | None,
    values: editing.Values,
    *,
    problem: str = "",
    differences: list[editing.Difference] | None = None,
    form: QueryParams | None = None,
    unsaved: bool = False,
    status: int = 200,
) -> Response:
    """Show the form. `form`: the one that was sent, whose digests are kept after an error.
    `unsaved`: it has unsaved text, so warn before leaving the page."""
    was, state = editing.digests(editing.form_values(memory)), revision(memory) if memory else ""
    if form is not None:
        was, state = form.get("was", ""), form.get("revision", "")
    tags = dict.fromkeys((*(memory.tags if memory else ()), *values["tags"]))
    shown = {
        "memory": memory,
        "title": heading(memory) if memory else "New memory",
        "action": f"/edit/{id_path(memory.id)}" if memory else "/new",
        "sections": editing.SECTIONS,
        "unfolded": editing.open_sections(values, problem, all_of_them=bool(differences)),
        "labels": editing.labels(),
        "values": values,
        "tags": [(tag, tag in values["tags"]) for tag in tags],
        "was": was,
        "revision": state,
        "problem": problem,
        "unsaved": unsaved,
        "wrong": editing.field_of(problem),
        "differences": differences or [],
        "bookmarklet": BOOKMARKLET % str(request.base_url) if memory is None else "",
        "given_id": form.get("id", "") if form else "",
        "example": editing.TIME_EXAMPLE,
    }
    return page("edit.html", request, shown, status=status)


async def values_in_use(service: Service, request: Request) -> Response:
    """Return values of other memories, as suggestions for fields."""
    facets = await service.ask(service.engine.facets)
    return page("_values.html", request, {"facets": facets})
