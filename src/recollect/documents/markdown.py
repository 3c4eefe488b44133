"""Markdown: its front matter as fields, its headings as sections, its `#tags` as tags.

Wiki links stay in the text as they are written. A parser finds the headings, so that a `#` in a
block of code is none. A tag in the text is what Obsidian takes for one: `#`, after white space, and
letters, digits, `_`, `-` and `/`, of which at least one is no digit. A part of a long note can be
changed: text behind its end, or one of its sections.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from recollect.checks import is_text
from recollect.documents.document import Document, SectionStart, main_title, one_line
from recollect.documents.file_types import MARKDOWN
from recollect.documents.front_matter import LONGEST, FrontMatter, memory_fields, split
from recollect.errors import UserError
from recollect.types import Memory

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

TAG = re.compile(r"(?<!\S)#([\w/-]*[^\W\d][\w/-]*)")
CODE_SPAN = re.compile(r"`[^`]+`")
FENCE = re.compile(r" {0,3}(```+|~~~+)")
# More tags than this describe nothing.
MOST_TAGS = 100
UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*")  # below a heading without `#`
MOST_NAMED = 20  # headings in a message


class Structure(NamedTuple):
    """Where the sections of a Markdown text begin, and the tags in it."""

    sections: tuple[SectionStart, ...]
    tags: tuple[str, ...]


def document(text: str) -> Document:
    """The text with the fields of its front matter. The block itself stays in the text where it has
    something that no field of a memory holds, so that it can be found."""
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
    """The sections of a body, with lines counted from the front matter on. The front matter belongs
    to a section that begins with the body."""
    shift = parts.body_line - 1
    shifted = [section._replace(line=section.line + shift) for section in sections]
    if sections:
        before = parts.body.split("\n", sections[0].line)[: sections[0].line]
        if not "".join(before).strip():
            shifted[0] = shifted[0]._replace(line=0)
    return tuple(shifted)


def structure(text: str) -> Structure:
    """The headings outside of lists and quotations, and all tags."""
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
    """The fence of a block of code that is open behind a line; empty for none. `fence`: the one
    that is open before it."""
    found = FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not line[found.end() :].strip()
    return "" if closes else fence


@cache
def _parser() -> MarkdownIt:
    """A parser of blocks alone: within a line, only tags matter."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  start-up time

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _title(title: object, sections: tuple[SectionStart, ...]) -> str:
    """The title that the front matter gives, else the first heading of level 1."""
    if isinstance(title, str) and title.strip() and is_text(title):
        return one_line(title.replace("\0", " "))
    return main_title(sections)


def appended(memory: Memory, text: str) -> dict[str, object]:
    """The memory's text with another one behind it, as a paragraph of its own."""
    added = text.strip("\n")
    return {"text": f"{memory.text.rstrip()}\n\n{added}" if memory.text.strip() else added}


def section_replaced(memory: Memory, heading: str, body: str) -> dict[str, object]:
    """The memory's text, or its details, with another text below this heading, up to the next
    heading of the same or a higher level. UserError where there is not exactly one such heading."""
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
    """The lines below each heading of that name: from one up to, but not with, another."""
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
    """A heading as it is compared: without marks, case and layout."""
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
