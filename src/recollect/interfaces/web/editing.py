"""The form for writing and changing a memory: its fields, and what was changed in them.

A form is sent with all fields, and with a digest of each field's first value, so that changes made
here can be told from changes made elsewhere in the meantime.
"""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from msgspec import Struct
from starlette.datastructures import QueryParams

from recollect.errors import UserError
from recollect.hashing import content_digest
from recollect.times import iso
from recollect.types import Memory, Severity, Tier

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
            Field("details", "Details", "The long version; shown, not searched.", "text", rows=5),
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


def conflict(form: QueryParams, memory: Memory) -> tuple[Values, list[Difference]]:
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
