"""Front matter: a block of YAML before the first line of a text, and the fields of a memory in it.

The block stands between two lines of `---` (the second may be `...`) at the very beginning, as
Jekyll, Hugo and Obsidian write it. Of YAML it needs texts, lists and mappings only: `no` stays
`no`, and nothing is ever built from a tag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

from recollect.checks import is_text
from recollect.errors import UserError
from recollect.ingest.draft import CHOICES
from recollect.times import iso, parse_time
from recollect.types import TIMES

# Written by hand, front matter is some hundred bytes; YAML is slow to read.
MOST_BYTES = 64_000
# A mapping of lists of mappings is three deep; PyYAML calls itself once a level.
DEEPEST = 20
Loader: type[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
# For each field its names, as Obsidian, Jekyll, Hugo and Zettelkasten notes use them. Of several
# the first with a valid value counts.
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
OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)


class NotPlain(Exception):
    """YAML that front matter does not need, or that cannot be read; the text says why."""


def plain_fields(block: str) -> dict[str, object]:
    """The fields of a block of YAML, or NotPlain."""
    try:
        return _fields(block)
    except yaml.YAMLError as error:
        raise NotPlain(f"is not valid YAML{_place(error)}") from error
    except RecursionError as error:
        raise NotPlain("is nested too deeply") from error


def _fields(block: str) -> dict[str, object]:
    if not is_text(block):
        raise NotPlain("is not valid UTF-8 text")
    if len(block.encode()) > MOST_BYTES:
        raise NotPlain("is too large")
    _check(block)
    value = yaml.load(block, Loader)
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise NotPlain("is not a list of fields")
    return value


def _check(block: str) -> None:
    """Refuse aliases, which can grow when they are built; tags, which ask for a type; keys that are
    no texts; and depth."""
    # For each open collection: whether it is a mapping, and whether a key comes next.
    open_now: list[list[bool]] = []
    for event in yaml.parse(block, Loader):
        if isinstance(event, AliasEvent):
            raise NotPlain("uses an alias, which is not read")
        if isinstance(event, ScalarEvent | CollectionStartEvent) and event.tag is not None:
            raise NotPlain("uses a tag, which is not read")
        if isinstance(event, CollectionEndEvent):
            open_now.pop()
        elif isinstance(event, NodeEvent):
            _check_key(event, open_now)
        if isinstance(event, CollectionStartEvent):
            open_now.append([isinstance(event, yaml.MappingStartEvent), True])
            if len(open_now) > DEEPEST:
                raise NotPlain("is nested too deeply")


def _check_key(event: NodeEvent, open_now: list[list[bool]]) -> None:
    if not open_now or not open_now[-1][0]:
        return
    is_key = open_now[-1][1]
    if is_key and not isinstance(event, ScalarEvent):
        raise NotPlain("has a field whose name is not a text")
    open_now[-1][1] = not is_key


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    # The block begins in the second line, and marks count from 0.
    return f": see line {mark.line + 2}" if mark is not None else ""


class Block(NamedTuple):
    """A text with front matter: the opening line, the lines of YAML, the closing line without its
    line end, and the rest."""

    opening: str
    yaml: str
    closing: str
    body: str


class FrontMatter(NamedTuple):
    """The fields of a front matter, and the body behind it. `body_line`: the number of the body's
    first line, counted from 1. `problem`: why a block cannot be read; then all is body."""

    fields: dict[str, object]
    body_line: int
    body: str
    problem: str = ""


def block(text: str) -> Block | None:
    """The block before a text; None where there is none, or the text merely begins with a rule."""
    opening = OPENING.match(text)
    closing = CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return None
    yaml = text[opening.end() : closing.start()]
    return Block(opening[0], yaml, closing[0], text[closing.end() + 1 :])


def split(text: str) -> FrontMatter:
    """The fields before the text, and the text without them."""
    found = block(text)
    if found is None:
        return FrontMatter({}, 1, text)

    try:
        fields = plain_fields(found.yaml)
    except NotPlain as error:
        return FrontMatter({}, 1, text, f"The front matter {error}.")
    return FrontMatter(fields, found.yaml.count("\n") + 3, found.body)


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
