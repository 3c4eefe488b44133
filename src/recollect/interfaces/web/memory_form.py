"""The form for writing and changing a memory: its fields, and what was changed in them.

A form is sent with all fields, and with a digest of each field's first value, so that changes made
here can be told from changes made elsewhere in the meantime.
"""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import asdict
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from recollect.engine import Recollect
from recollect.errors import Changed, NotFound, RecollectError, StoreError, UserError
from recollect.hashing import content_digest
from recollect.ingest.draft import make_draft
from recollect.ingest.saving import Saved
from recollect.interfaces.http.schemas import from_parameters
from recollect.interfaces.http.service import Service
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
from recollect.times import iso
from recollect.types import Memory, Severity, Tier
from recollect.vaults.known import HOME

Shape = Literal["line", "text", "choice", "time", "tags"]
Values = dict[str, Any]

TIME_EXAMPLE = "2026-03-01 or 2026-03-01T09:30:00Z"
BREAKS = re.compile(r"\r\n?|\n")


class Field(Struct, frozen=True):
    """One field of the form."""

    name: str
    label: str
    hint: str = ""
    shape: Shape = "line"
    choices: tuple[tuple[str, str], ...] = ()
    rows: int = 3
    offered: bool = False  # suggest values of other memories


class Section(Struct, frozen=True):
    title: str
    fields: tuple[Field, ...]
    columns: bool = False


SEVERITIES = (("", "None"), *((name, name.capitalize()) for name in get_args(Severity)))
TIERS = {"core": "Core: pinned, most trusted", "capture": "Capture", "file": "File"}

SECTIONS = (
    Section(
        "What it says",
        (
            Field("title", "Title", "One line that says it."),
            Field("text", "Text", "What is worth keeping. A title or a text is needed.", "text",
                  rows=8),
            Field("tags", "Tags", shape="tags"),
        ),
    ),
    Section(
        "Background",
        (
            Field("context", "Context", "The situation it belongs to.", "text"),
            Field("why", "Why", "The reason.", "text"),
            Field("impact", "Impact", "What follows from it.", "text"),
            Field("details", "Details", "The long version; counts less in searches.", "text",
                  rows=5),
        ),
    ),
    Section(
        "Where it belongs",
        (
            Field("project", "Project", offered=True),
            Field("kind", "Kind", "Any word; empty: fact.", offered=True),
            Field("severity", "Severity", shape="choice", choices=SEVERITIES),
            Field("tier", "Tier", shape="choice",
                  choices=tuple((tier, TIERS[tier]) for tier in ("capture", "core", "file"))),
            Field("domain", "Domain", "Such as security."),
            Field("source", "Source", "Who or what recorded it.", offered=True),
            Field("space", "Space", "Separates collections, such as work and personal."),
            Field("path", "Path", "The file it comes from."),
        ),
        columns=True,
    ),
    Section(
        "When it is valid",
        (
            Field("valid_from", "Valid from", shape="time"),
            Field("valid_until", "Valid until", shape="time"),
            Field("created_at", "Created", shape="time"),
        ),
        columns=True,
    ),
)  # fmt: skip
FIELDS = {field.name: field for section in SECTIONS for field in section.fields}
assert set(TIERS) == set(get_args(Tier))


def labels() -> dict[str, str]:
    return {name: field.label for name, field in FIELDS.items()}


def form_values(memory: Memory | None) -> Values:
    """Return the value of each field for this memory; without one, of an empty form."""
    if memory is None:
        return {"tags": ()} | {name: "" for name in FIELDS if name != "tags"} | {"tier": "capture"}
    values: Values = {}
    for name, field in FIELDS.items():
        value = getattr(memory, name)
        if field.shape == "tags":
            values[name] = tuple(map(_unix_lines, value))
        elif field.shape == "time":
            values[name] = iso(value) if value else ""
        else:
            values[name] = _as_sent(field, value or "")
    return values


def sent_values(form: QueryParams) -> Values:
    """Return the value of each field that the form sent."""
    values: Values = {}
    for name, field in FIELDS.items():
        if field.shape == "tags" and ("tags" in form or "add_tags" in form):
            kept = [_unix_lines(tag) for tag in form.getlist("tags")]
            added = re.split(r"[,\n]", _unix_lines("\n".join(form.getlist("add_tags"))))
            tags = [*kept, *(tag.strip() for tag in added)]
            values[name] = tuple(dict.fromkeys(tag for tag in tags if tag.strip()))
        elif name in form:
            values[name] = _as_sent(field, form[name])
    return values


def digests(values: Values) -> str:
    """Return the digests of all fields, as `title:1f0c… text:…`."""
    return " ".join(f"{name}:{_digest(value)}" for name, value in values.items())


def changed_values(form: QueryParams) -> Values:
    """Return the fields changed in this form, without those for which the other version was
    chosen."""
    before = _first_digests(form)
    theirs = {name for name in FIELDS if form.get(f"choose-{name}", "") == "theirs"}
    return {
        name: value
        for name, value in sent_values(form).items()
        if name not in theirs and _digest(value) != before.get(name, "")
    }


def as_edit(values: Values, memory: Memory) -> dict[str, Any]:
    """Return the changes for the engine; an emptied field is reset to its default."""
    edit: dict[str, Any] = {}
    for name, value in values.items():
        if name == "tags":
            known = {_unix_lines(tag): tag for tag in memory.tags}
            edit[name] = [known.get(tag, tag) for tag in value]
        elif name == "created_at" and not value.strip():
            raise UserError(f"created_at cannot be empty; write it like {TIME_EXAMPLE}.")
        else:
            edit[name] = value if value.strip() else None
    return edit


def as_draft(form: QueryParams) -> dict[str, object]:
    """Return the fields of a new memory that are not empty."""
    values = {
        name: list(value) if name == "tags" else value
        for name, value in sent_values(form).items()
        if (value if name == "tags" else value.strip())
    }
    id = form.get("id", "").strip()
    return values | ({"id": id} if id else {})


class Difference(Struct, frozen=True):
    """A field that was changed elsewhere in the meantime. `mine`: its value here; None if it was
    not changed here."""

    name: str
    label: str
    now: str
    mine: str | None


def merge_changes(form: QueryParams, memory: Memory) -> tuple[Values, list[Difference]]:
    """Return the form's next values and the differences. Fields changed here keep their values; the
    others take those of the memory."""
    before, now, mine = _first_digests(form), form_values(memory), changed_values(form)
    differences = [
        Difference(name, FIELDS[name].label, _text(value), None)
        if name not in mine
        else Difference(name, FIELDS[name].label, _text(value), _text(mine[name]))
        for name, value in now.items()
        if _digest(value) != before.get(name) and mine.get(name) != value
    ]
    return now | mine, differences


def field_of(problem: str) -> str | None:
    """Return the field that an error message begins with."""
    word = problem.split(maxsplit=1)[0] if problem.strip() else ""
    return word if word in FIELDS else None


def open_sections(values: Values, problem: str, *, all_of_them: bool = False) -> set[str]:
    """Return the sections to open: the first, those with content, and the one with an error."""
    empty = {"", (), form_values(None)["tier"]}
    wrong = field_of(problem)
    return {
        section.title
        for section in SECTIONS
        if all_of_them
        or section is SECTIONS[0]
        or any(field.name == wrong or values[field.name] not in empty for field in section.fields)
    }


def _first_digests(form: QueryParams) -> dict[str, str]:
    pairs = form.get("was", "").split()
    return dict(pair.split(":", 1) for pair in pairs if ":" in pair)


def _digest(value: object) -> str:
    text = "\0".join(value) if isinstance(value, tuple) else str(value)
    return content_digest(text, 8).hex()


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _as_sent(field: Field, text: str) -> str:
    """Return a text as a browser sends it: with `\\n`, or without line breaks in a single line."""
    return _unix_lines(text) if field.shape == "text" else BREAKS.sub(" ", text)


def _unix_lines(text: str) -> str:
    return BREAKS.sub("\n", text)


# The pages with the form

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
    values = form_values(None) | sent_values(QueryParams(asdict(asked)))
    return _form(request, None, values)


async def save_new(service: Service, request: Request) -> Response:
    """Save the new memory and tell whether it existed; with `more`, show all fields instead."""
    form = await read_form(request)
    if "more" in form:
        values = form_values(None) | sent_values(form)
        return _form(request, None, values, unsaved=True)
    try:
        [saved] = await service.ask(service.engine.save_all, [make_draft(as_draft(form))])
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
    return _form(request, memory, form_values(memory))


def _find_own(engine: Recollect, id: str) -> Memory:
    """Return the memory; raise UserError if it is in another vault."""
    [found] = engine.locate([id])
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
    changes = as_edit(changed_values(form), memory)
    if not changes:
        return None
    [saved] = engine.edit_all([memory.id], if_revision=form.get("revision", "") or None, **changes)
    return saved


def _redaction_note(saved: Saved) -> str:
    """Say how many secrets were replaced; empty for none."""
    return f" {describe_counts(saved.redacted)}." if saved.redacted else ""


async def _conflict(service: Service, request: Request, form: QueryParams) -> Response:
    """Show the form again, with the current memory and the changes made here."""
    try:
        [memory] = await service.ask(service.engine.show, [memory_id(request)])
    except NotFound:
        return _gone(request, form)
    values, differences = merge_changes(form, memory)
    return _form(request, memory, values, differences=differences, status=412)


def _show_error(
    request: Request, memory: Memory | None, form: QueryParams, error: RecollectError
) -> Response:
    """Show the form again, with its values and the error."""
    values = form_values(memory) | sent_values(form)
    status = 503 if isinstance(error, StoreError) else 400
    return _form(request, memory, values, problem=str(error), form=form, status=status)


def _gone(request: Request, form: QueryParams) -> Response:
    """Show the form of a memory that was forgotten in the meantime, so that no text is lost."""
    problem = (
        "This memory was forgotten in the meantime. Your text is still here; save it to make a new "
        "memory."
    )
    values = form_values(None) | sent_values(form)
    return _form(request, None, values, problem=problem, status=404)


def _form(
    request: Request,
    memory: Memory | None,
    values: Values,
    *,
    problem: str = "",
    differences: list[Difference] | None = None,
    form: QueryParams | None = None,
    unsaved: bool = False,
    status: int = 200,
) -> Response:
    """Show the form. `form`: the one that was sent, whose digests are kept after an error.
    `unsaved`: it has unsaved text, so warn before leaving the page."""
    was, state = digests(form_values(memory)), revision(memory) if memory else ""
    if form is not None:
        was, state = form.get("was", ""), form.get("revision", "")
    tags = dict.fromkeys((*(memory.tags if memory else ()), *values["tags"]))
    shown = {
        "memory": memory,
        "title": heading(memory) if memory else "New memory",
        "action": f"/edit/{id_path(memory.id)}" if memory else "/new",
        "sections": SECTIONS,
        "unfolded": open_sections(values, problem, all_of_them=bool(differences)),
        "labels": labels(),
        "values": values,
        "tags": [(tag, tag in values["tags"]) for tag in tags],
        "was": was,
        "revision": state,
        "problem": problem,
        "unsaved": unsaved,
        "wrong": field_of(problem),
        "differences": differences or [],
        "bookmarklet": BOOKMARKLET % str(request.base_url) if memory is None else "",
        "given_id": form.get("id", "") if form else "",
        "example": TIME_EXAMPLE,
    }
    return page("edit.html", request, shown, status=status)


async def values_in_use(service: Service, request: Request) -> Response:
    """Return values of other memories, as suggestions for fields."""
    facets = await service.ask(service.engine.facets)
    return page("_values.html", request, {"facets": facets})
