"""What front matter says of a memory: its names for things, as fields of ours.

The names are those that Obsidian, Jekyll, Hugo and Zettelkasten notes use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from recollect.checks import is_text
from recollect.errors import UserError
from recollect.ingest.draft import CHOICES, TIMES
from recollect.times import iso, parse_time

# For each field the names it goes by: of several, the first counts that says something sound.
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
# Longer is no tag and no kind, but a sentence.
LONGEST = 100


class Understood(NamedTuple):
    """The fields, whether they hold all that was said, and what was meant as one and is none."""

    fields: dict[str, Any]
    complete: bool
    notes: tuple[str, ...]


def understood(said: Mapping[str, object]) -> Understood:
    """The fields of a memory that front matter names; a value that does not fit is noted."""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    complete = True
    order = {name: number for number, name in enumerate(FIELD_OF)}
    named = {name.strip().lower().replace("-", "_"): name for name in said}
    for name in sorted(named, key=lambda name: order.get(name, len(order))):
        field, value = FIELD_OF.get(name), said[named[name]]
        if value in ("", []):
            continue
        made = _value(field, value) if field else None
        if made is None or field is None:
            complete = False
            if field is not None:
                notes.append(f"{name} in the front matter is not used: {_fault(field)}.")
        elif field not in fields:
            fields[field] = made
        elif field == "tags":
            fields[field] = tuple(dict.fromkeys(fields[field] + made))
        elif fields[field] != made:
            complete = False
    return Understood(fields, complete and len(named) == len(said), tuple(notes))


def _value(field: str, value: object) -> object | None:
    """The value as the field takes it, or None."""
    if field == "tags":
        return _tags(value)
    if not isinstance(value, str) or not _sound(value):
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


def _tags(value: object) -> tuple[str, ...] | None:
    """A list, or one text with commas or blanks between tags; a `#` before a tag is dropped."""
    if isinstance(value, str):
        value = value.split(",") if "," in value else value.split()
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        return None
    tags = [tag.strip().lstrip("#").strip() for tag in value]
    return tuple(dict.fromkeys(filter(None, tags))) if all(map(_sound, value)) else None


def _sound(value: str) -> bool:
    """YAML can write what a memory cannot hold."""
    return len(value) <= LONGEST and "\0" not in value and is_text(value)


def _fault(field: str) -> str:
    if field in TIMES:
        return "it is not a time like 2026-03-01"
    if field in CHOICES:
        return f"allowed are {', '.join(CHOICES[field])}"
    return "it is not a list of short texts" if field == "tags" else "it is not a short text"
