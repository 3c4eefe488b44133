"""Markdown: front matter as fields, headings as sections, `#tags` as tags; and changes of a part.

Front matter is a block of YAML at the beginning of a text, between two lines of `---` (the second
may be `...`), as Jekyll, Hugo and Obsidian write it. Only texts, lists and mappings are read: `no`
stays a text, and tags create no objects.

Wiki links stay in the text as written. A parser finds the headings, so that a `#` in a block of
code does not count. Tags in the text are as in Obsidian: `#` after white space, then letters,
digits, `_`, `-` and `/`, at least one of them not a digit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

from recollect.checks import is_text
from recollect.documents.document import Document, SectionStart, main_title, one_line
from recollect.documents.file_types import MARKDOWN
from recollect.errors import UserError
from recollect.ingest.draft import CHOICES
from recollect.times import iso, parse_time
from recollect.types import TIMES, Memory

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Front matter

MOST_BYTES = 64_000  # YAML is slow to read; usual front matter is a few hundred bytes
DEEPEST = 20  # PyYAML recurses once per level; a mapping of lists of mappings has three
Loader: type[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
# Field → its names in notes of Obsidian, Jekyll, Hugo and Zettelkasten. The first name with a valid
# value counts.
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
LONGEST = 100  # characters of a tag or kind; a longer text is a sentence
OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)


class NotPlain(Exception):
    """The YAML is invalid or not plain; the message says why."""


def plain_fields(block: str) -> dict[str, object]:
    """Return the fields of a block of YAML; raise NotPlain."""
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
    """Refuse aliases, which can expand without limit, tags, which create objects, keys that are not
    texts, and deep nesting."""
    # For each open collection: is it a mapping, and is the next item a key?
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
    # The block begins on the second line, and marks count from 0.
    return f": see line {mark.line + 2}" if mark is not None else ""


class Block(NamedTuple):
    """A text with front matter: opening line, lines of YAML, closing line without its line end, and
    the rest."""

    opening: str
    yaml: str
    closing: str
    body: str


class FrontMatter(NamedTuple):
    """The fields of front matter, and the body after it. `body_line`: the number of the body's
    first line, counted from 1. `problem`: why the block cannot be read; then it is in the body."""

    fields: dict[str, object]
    body_line: int
    body: str
    problem: str = ""


def block(text: str) -> Block | None:
    """Return the front matter of a text; None if it has none or only begins with a rule."""
    opening = OPENING.match(text)
    closing = CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return None
    yaml = text[opening.end() : closing.start()]
    return Block(opening[0], yaml, closing[0], text[closing.end() + 1 :])


def split(text: str) -> FrontMatter:
    """Return the fields of the front matter, and the text without it."""
    found = block(text)
    if found is None:
        return FrontMatter({}, 1, text)
    try:
        fields = plain_fields(found.yaml)
    except NotPlain as error:
        return FrontMatter({}, 1, text, f"The front matter {error}.")
    return FrontMatter(fields, found.yaml.count("\n") + 3, found.body)


class MemoryFields(NamedTuple):
    """The fields of a memory. `complete`: they contain all of the front matter. `notes`: on values
    that do not fit their field."""

    fields: dict[str, Any]
    complete: bool
    notes: tuple[str, ...]


def memory_fields(front_matter: Mapping[str, object]) -> MemoryFields:
    """Return the fields of a memory in front matter, with notes on values that do not fit."""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    complete = True
    order = {name: number for number, name in enumerate(FIELD_OF)}
    named = {name.strip().lower().replace("-", "_"): name for name in front_matter}
    for name in sorted(named, key=lambda name: order.get(name, len(order))):
        field, value = FIELD_OF.get(name), front_matter[named[name]]
        if value in ("", []):
            continue
        fitting = _convert(field, value) if field else None
        if fitting is None or field is None:
            complete = False
            if field is not None:
                notes.append(f"{name} in the front matter is not used: {_problem(field)}.")
        elif field not in fields:
            fields[field] = fitting
        elif field == "tags":
            fields[field] = tuple(dict.fromkeys(fields[field] + fitting))
        elif fields[field] != fitting:
            complete = False
    return MemoryFields(fields, complete and len(named) == len(front_matter), tuple(notes))


def tag_list(value: object, *, at_spaces: bool | None = None, exact: bool = False) -> object:
    """Return the tags in a value as a list, without empty ones. A value that is neither a text nor
    a list, and items that are not texts, are returned unchanged.

    A text may contain several tags, separated by commas or else by spaces. `at_spaces`: always or
    never split at spaces; Obsidian always does, Basic Memory never does. A `#` before a tag is
    removed, unless the tags are `exact`, as in files written by Recollect.
    """
    if isinstance(value, str):
        spaces = "," not in value if at_spaces is None else at_spaces
        value = re.split(r"[,\s]+" if spaces else ",", value)
    if not isinstance(value, list | tuple):
        return value
    if not exact:
        value = [tag.strip().lstrip("#").strip() if isinstance(tag, str) else tag for tag in value]
    return [tag for tag in value if tag != ""]


def _convert(field: str, value: object) -> object | None:
    """Return the value for a field, or None if it does not fit."""
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
    """Return True if a memory can contain the text; YAML allows more."""
    return len(value) <= LONGEST and "\0" not in value and is_text(value)


def _problem(field: str) -> str:
    if field in TIMES:
        return "it is not a time like 2026-03-01"
    if field in CHOICES:
        return f"allowed are {', '.join(CHOICES[field])}"
    return "it is not a list of short texts" if field == "tags" else "it is not a short text"


# The text

TAG = re.compile(r"(?<!\S)#([\w/-]*[^\W\d][\w/-]*)")
CODE_SPAN = re.compile(r"`[^`]+`")
FENCE = re.compile(r" {0,3}(```+|~~~+)")
MOST_TAGS = 100
UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*")  # below a heading without `#`
MOST_NAMED = 20  # headings in a message


class Structure(NamedTuple):
    """The beginnings of the sections of a Markdown text, and its tags."""

    sections: tuple[SectionStart, ...]
    tags: tuple[str, ...]


def document(text: str) -> Document:
    """Return the text with the fields of its front matter. The front matter also stays in the text
    if it has more than the fields of a memory, so that searches find it."""
    parts = split(text)
    fields, complete, notes = memory_fields(parts.fields)
    if parts.problem:
        notes = (parts.problem, *notes)
    found = structure(parts.body)
    tags = tuple(dict.fromkeys((*fields.get("tags", ()), *found.tags)))
    if tags:
        fields["tags"] = tags[:MOST_TAGS]
    title = _title(parts.fields.get("title"), found.sections)
    if complete:
        return Document(parts.body, MARKDOWN, fields, parts.body_line, title, notes, found.sections)
    return Document(text, MARKDOWN, fields, 1, title, notes, _in_whole(parts, found.sections))


def _in_whole(parts: FrontMatter, sections: tuple[SectionStart, ...]) -> tuple[SectionStart, ...]:
    """Return the sections of a body with lines counted from the front matter, which belongs to a
    section at the beginning of the body."""
    shift = parts.body_line - 1
    shifted = [section._replace(line=section.line + shift) for section in sections]
    if sections:
        before = parts.body.split("\n", sections[0].line)[: sections[0].line]
        if not "".join(before).strip():
            shifted[0] = shifted[0]._replace(line=0)
    return tuple(shifted)


def structure(text: str) -> Structure:
    """Return the headings outside of lists and quotations, and all tags."""
    sections: list[SectionStart] = []
    tags: dict[str, None] = {}
    for token, following in pairwise(_parser().parse(text)):
        if token.type == "heading_open" and token.level == 0 and token.map:
            level = int(token.tag.removeprefix("h"))
            sections.append(SectionStart(token.map[0], level, one_line(following.content)))
        if following.type == "inline" and "#" in following.content:
            tags.update(dict.fromkeys(TAG.findall(CODE_SPAN.sub("`", following.content))))
    return Structure(tuple(sections), tuple(tag for tag in tags if len(tag) <= LONGEST))


def fence_after(line: str, fence: str) -> str:
    """Return the fence of the code block that is open after a line, or an empty text. `fence`: the
    one that is open before the line."""
    found = FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not line[found.end() :].strip()
    return "" if closes else fence


@cache
def _parser() -> MarkdownIt:
    """Return a parser for blocks only, because within lines only tags matter."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  start-up time

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _title(title: object, sections: tuple[SectionStart, ...]) -> str:
    """Return the title in the front matter, else the first heading of level 1."""
    if isinstance(title, str) and title.strip() and is_text(title):
        return one_line(title.replace("\0", " "))
    return main_title(sections)


def append_text(memory: Memory, text: str) -> dict[str, object]:
    """Return the field `text` of a memory with another paragraph at its end."""
    added = text.strip("\n")
    return {"text": f"{memory.text.rstrip()}\n\n{added}" if memory.text.strip() else added}


def replace_section(memory: Memory, heading: str, body: str) -> dict[str, object]:
    """Return the field `text` or `details` of a memory with another text below this heading, up to
    the next heading of the same or a higher level. Raise UserError unless there is exactly one such
    heading."""
    wanted = plain_heading(heading)
    found = {name: _places(getattr(memory, name), wanted) for name in ("text", "details")}
    if sum(map(len, found.values())) > 1:
        raise UserError(
            f"The memory {memory.id!r} has several sections {heading!r}; change the whole text."
        )
    for name, places in found.items():
        for start, end in places:
            lines = getattr(memory, name).split("\n")
            text = body.strip("\n")
            below = ["", *([text, ""] if text.strip() else [])] if end < len(lines) else ["", text]
            return {name: "\n".join([*lines[:start], *below, *lines[end:]]).rstrip("\n")}
    raise _no_such_heading(memory, heading)


def _places(text: str, wanted: str) -> list[tuple[int, int]]:
    """Return the lines below each heading of this name, as start and exclusive end."""
    if not text:
        return []
    lines, sections = text.split("\n"), structure(text).sections
    places = []
    for number, section in enumerate(sections):
        if plain_heading(section.title) != wanted:
            continue
        start = section.line + 1
        if not lines[section.line].lstrip().startswith("#") and start < len(lines):
            start += bool(UNDERLINE.fullmatch(lines[start]))
        later = (each.line for each in sections[number + 1 :] if each.level <= section.level)
        places.append((start, next(later, len(lines))))
    return places


def plain_heading(heading: str) -> str:
    """Return a heading for comparison, without marks, case and extra spaces."""
    return " ".join(heading.strip().strip("#").casefold().split())


def _no_such_heading(memory: Memory, heading: str) -> UserError:
    titles = [
        section.title
        for text in (memory.text, memory.details)
        for section in (structure(text).sections if text else ())
    ]
    there = (
        f"there are: {', '.join(titles[:MOST_NAMED])}{', …' if len(titles) > MOST_NAMED else ''}."
        if titles
        else "it has no headings at all. Append to its text instead."
    )
    return UserError(f"The memory {memory.id!r} has no section {heading!r}; {there}")
