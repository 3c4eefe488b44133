"""Markdown: front matter as fields, headings as sections, `#tags` as tags; and changes of a part.

Wiki links stay in the text as written. A parser finds the headings, so that a `#` in a block of
code does not count. Tags in the text are as in Obsidian: `#` after white space, then letters,
digits, `_`, `-` and `/`, at least one of them not a digit.
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
