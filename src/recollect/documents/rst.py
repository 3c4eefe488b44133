"""reStructuredText: its underlined headings as sections.

A heading is a line with a line of one punctuation mark under it, at least as long, and maybe one
over it; levels are in the order in which these adornments first appear (docutils, "Sections").
"""

from __future__ import annotations

import re

from recollect.documents.document import Document, SectionStart, one_line
from recollect.documents.file_types import RST

ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+\s*$")


def document(text: str) -> Document:
    sections = headings(text.split("\n"))
    title = sections[0].title if sections and sections[0].level == 1 else ""
    return Document(text, RST, title=title, sections=sections)


def headings(lines: list[str]) -> tuple[SectionStart, ...]:
    sections: list[SectionStart] = []
    levels: dict[str, int] = {}
    for number in range(1, len(lines)):
        found = ADORNMENT.match(lines[number])
        if found is None or not _is_title(lines, number):
            continue
        over = _has_overline(lines, number)
        before = number - (3 if over else 2)
        # There is a blank line before a heading, unless it is the first line.
        if before >= 0 and lines[before].strip():
            continue
        level = levels.setdefault(found[1] * (2 if over else 1), len(levels) + 1)
        sections.append(SectionStart(before + 1, level, one_line(lines[number - 1])))
    return tuple(sections)


def _is_title(lines: list[str], under: int) -> bool:
    title = lines[under - 1]
    if not title.strip() or ADORNMENT.match(title):
        return False
    # Only a title with an overline may be indented.
    if title[0].isspace() and not _has_overline(lines, under):
        return False
    return len(lines[under].rstrip()) >= len(title.rstrip())


def _has_overline(lines: list[str], under: int) -> bool:
    return under >= 2 and lines[under - 2].rstrip() == lines[under].rstrip()
