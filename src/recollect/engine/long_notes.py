"""Changing a part of a long note: text behind its end, or one of its sections."""

from __future__ import annotations

import re

from recollect.documents.markdown import structure
from recollect.errors import UserError
from recollect.types import Memory

UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*")  # below a heading without `#`
MOST_NAMED = 20  # headings in a message


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
