"""The fields of a memory that front matter names.

The names are those that Obsidian, Jekyll, Hugo and Zettelkasten notes use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from recollect.checks import is_text
from recollect.errors import UserError
from recollect.ingest.draft import CHOICES
from recollect.times import iso, parse_time
from recollect.types import TIMES

# For each field its names: of several, the first with a valid value counts.
NAMES = {
    "tags": ("tags", "tag", "keywords"),
    "kind": ("kind", "type"),
    "domain": ("domain",),
    "project": ("project",),
    "severity": ("severity",),
    "created_at": ("created_at", "created", "date"),
    "updated_at": ("updated_at", "updated", "modified", "lastmod"),
    "valid_from": ("valid_from",),
    "valid_until": ("valid_until",),
}
FIELD_OF = {name: field for field, names in NAMES.items() for name in names}
# A longer text is no tag and no kind, but a sentence.
LONGEST = 100


class MemoryFields(NamedTuple):
    """The fields of a memory; whether they hold all of the front matter; and notes on values that
    do not fit their field."""

    fields: dict[str, Any]
    complete: bool
    notes: tuple[str, ...]


def memory_fields(front_matter: Mapping[str, object]) -> MemoryFields:
    """The fields of a memory that front matter gives; a value that does not fit is noted."""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    complete = True
    order = {name: number for number, name in enumerate(FIELD_OF)}
    named = {name.strip().lower().replace("-", "_"): name for name in front_matter}
    for name in sorted(named, key=lambda name: order.get(name, len(order))):
        field, value = FIELD_OF.get(name), front_matter[named[name]]
        if value in ("", []):
            continue
        fitting = _fitting(field, value) if field else None
        if fitting is None or field is None:
            complete = False
            if field is not None:
                notes.append(f"{name} in the front matter is not used: {_fault(field)}.")
        elif field not in fields:
            fields[field] = fitting
        elif field == "tags":
            fields[field] = tuple(dict.fromkeys(fields[field] + fitting))
        elif fields[field] != fitting:
            complete = False
    return MemoryFields(fields, complete and len(named) == len(front_matter), tuple(notes))


def tag_list(value: object, *, at_spaces: bool | None = None, exact: bool = False) -> object:
    """The tags of a value as a list without empty ones; a value that is neither a text nor a list
    stays as it is, and so do items that are no texts.

    One text may hold several tags: with commas between them, or else with spaces. `at_spaces`
    says it for certain: Obsidian splits at spaces beside commas, Basic Memory never does. A `#`
    before a tag is dropped, unless the tags are `exact`, as in the files that we write.
    """
    if isinstance(value, str):
        spaces = "," not in value if at_spaces is None else at_spaces
        value = re.split(r"[,\s]+" if spaces else ",", value)
    if not isinstance(value, list | tuple):
        return value
    if not exact:
        value = [tag.strip().lstrip("#").strip() if isinstance(tag, str) else tag for tag in value]
    return [tag for tag in value if tag != ""]


def _fitting(field: str, value: object) -> object | None:
    """The value as the field takes it, or None."""
    if field == "tags":
        tags = tag_list(value)
        if isinstance(tags, list) and all(isinstance(tag, str) and _is_valid(tag) for tag in tags):
            return tuple(dict.fromkeys(tags))
        return None
    if not isinstance(value, str) or not _is_valid(value):
        return None
    value = value.strip()
    if field in TIMES:
        try:
            return iso(parse_time(value, field))
        except UserError:
            return None
    if field in CHOICES:
        return value.lower() if value.lower() in CHOICES[field] else None
    return value


def _is_valid(value: str) -> bool:
    """Whether a memory can hold the text: YAML can write more."""
    return len(value) <= LONGEST and "\0" not in value and is_text(value)


def _fault(field: str) -> str:
    if field in TIMES:
        return "it is not a time like 2026-03-01"
    if field in CHOICES:
        return f"allowed are {', '.join(CHOICES[field])}"
    return "it is not a list of short texts" if field == "tags" else "it is not a short text"
