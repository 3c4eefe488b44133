"""The values that travel from a file on the disk to its memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

# Why a file is left out; counted in the answer.
Reason = Literal[
    "binary", "too large", "generated", "unreadable", "not text", "empty", "link", "unknown kind",
    "needs an extra", "vanished", "corrupt", "ignored", "hidden", "special",
]  # fmt: skip


class SectionStart(NamedTuple):
    """Where a section of a document begins: at a heading or a definition.

    `line` counts the lines of `Document.text` from 0. A section ends where the next one of the same
    or a higher level begins. Without a title it stands under the headings around it.
    """

    line: int
    level: int
    title: str


class Document(NamedTuple):
    """What a file says. `text` keeps the file's own lines where it has any, so that line numbers
    hold.

    - `file_type`: one of `file_types`, which says how the text is split.
    - `fields`: what its front matter says of a memory (tags, kind, domain, created_at, updated_at,
      valid_from, valid_until), each as `ingest.draft` takes it.
    - `first_line`: the number of the line that `text` begins with, counted from 1.
    - `sections`: where its sections begin, from top to bottom.
    - `lines`: for each line of `text` the line of the file it comes from, where these are not
      simply the next ones; never falling.
    """

    text: str
    file_type: str
    fields: Mapping[str, object] = MappingProxyType({})
    first_line: int = 1
    title: str = ""
    notes: tuple[str, ...] = ()
    sections: tuple[SectionStart, ...] = ()
    lines: tuple[int, ...] = ()


class Chunk(NamedTuple):
    """A part of a file that becomes one memory: whole lines, both ends included, counted from 1.
    `heading`: the headings it stands under, or the definition it is, outermost first, joined by
    ` > `; empty for none.

    Where a long section is split, a chunk begins with the end of the one before it: with its last
    lines, or with the last words of a long line. A line too long for one chunk becomes several.
    """

    text: str
    heading: str
    first_line: int
    last_line: int


class LeftOut(NamedTuple):
    """Why a file is left out; `detail` explains it where the reason alone does not."""

    reason: Reason
    detail: str = ""


def unreadable(error: OSError) -> LeftOut:
    """The reason with what the system says, such as `Permission denied`."""
    return LeftOut("unreadable", error.strerror or "the system does not say why")


def main_title(sections: Iterable[SectionStart]) -> str:
    """The first title of level 1; empty where there is none."""
    titles = (section.title for section in sections if section.level == 1)
    return next(filter(None, titles), "")


def one_line(title: str) -> str:
    """A title as one line of at most LONGEST_TITLE characters."""
    plain = " ".join(title.split())
    return plain if len(plain) <= LONGEST_TITLE else plain[: LONGEST_TITLE - 1] + "…"


def unix_lines(text: str) -> str:
    """The text with `\\n` at the end of each line."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


# As long as a line of a book's table of contents at most.
LONGEST_TITLE = 200
