"""Markdown: its front matter as fields, its headings as parts, its `#tags` as tags.

Wiki links stay in the text as they are written. Headings are found by a parser, so that a `#` in
a block of code is none. A tag in the text is what Obsidian takes for one: `#`, after white space,
and letters, digits, `_`, `-` and `/`, of which at least one is no digit.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from recollect.checks import is_text
from recollect.documents import front_matter
from recollect.documents.document import Document, Mark
from recollect.documents.file_types import MARKDOWN
from recollect.documents.front_matter_fields import LONGEST, understood

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

TAG = re.compile(r"(?<!\S)#([\w/-]*[^\W\d][\w/-]*)")
CODE_SPAN = re.compile(r"`[^`]+`")
# More say nothing of a file any more.
MOST_TAGS = 100
# A heading is a line of a book's contents at most.
LONGEST_TITLE = 200


class Structure(NamedTuple):
    """Where the parts of a Markdown text begin, and the tags in it."""

    marks: tuple[Mark, ...]
    tags: tuple[str, ...]


def document(text: str) -> Document:
    """The text with what its front matter says. The block itself stays in the text wherever it says
    something that no field of a memory holds, so that it can be found."""
    given = front_matter.split(text)
    fields, complete, notes = understood(given.fields)
    if given.problem:
        notes = (given.problem, *notes)
    found = structure(given.body)
    tags = tuple(dict.fromkeys((*fields.get("tags", ()), *found.tags)))
    if tags:
        fields["tags"] = tags[:MOST_TAGS]
    title = _title(given.fields.get("title"), found.marks)
    if complete:
        return Document(given.body, MARKDOWN, fields, given.body_line, title, notes, found.marks)
    return Document(text, MARKDOWN, fields, 1, title, notes, _after(given, found.marks))


def _after(given: front_matter.FrontMatter, marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """The marks of a body, counted from the front matter on. A heading that the body begins with
    stands for both."""
    shift = given.body_line - 1
    shifted = [mark._replace(line=mark.line + shift) for mark in marks]
    if marks and not "".join(given.body.split("\n", marks[0].line)[: marks[0].line]).strip():
        shifted[0] = shifted[0]._replace(line=0)
    return tuple(shifted)


def structure(text: str) -> Structure:
    """The headings that stand in nothing else, such as a list or a quotation, and all tags."""
    marks: list[Mark] = []
    tags: dict[str, None] = {}
    tokens = _parser().parse(text)
    for token, following in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            marks.append(Mark(token.map[0], int(token.tag[1:]), shortened(following.content)))
        if following.type == "inline" and "#" in following.content:
            tags.update(dict.fromkeys(TAG.findall(CODE_SPAN.sub("`", following.content))))
    return Structure(tuple(marks), tuple(tag for tag in tags if len(tag) <= LONGEST))


def shortened(title: str) -> str:
    """A title as one line that is not too long."""
    plain = " ".join(title.split())
    return plain if len(plain) <= LONGEST_TITLE else plain[: LONGEST_TITLE - 1] + "…"


@cache
def _parser() -> MarkdownIt:
    """It reads blocks only: of what is in a line, nothing but tags matters."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  start-up time

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _title(said: object, marks: tuple[Mark, ...]) -> str:
    """What the text calls itself: in its front matter, or in its first heading of level 1."""
    if isinstance(said, str) and said.strip() and is_text(said):
        return shortened(said.replace("\0", " "))
    return next((mark.title for mark in marks if mark.level == 1), "")
