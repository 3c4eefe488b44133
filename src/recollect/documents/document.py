"""The values between a file and its memories: document, section, chunk, reason to leave it out."""

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
    """The beginning of a section: a heading or a definition.

    `line` counts the lines of `Document.text` from 0. A section ends at the next one of the same or
    a higher level. Without a title, its path is that of its parents.
    """

    line: int
    level: int
    title: str


class Document(NamedTuple):
    """The text of a file. It keeps the file's lines if there are any, so that line numbers match.

    - `file_type`: one of `file_types`, which decides how the text is split.
    - `fields`: fields of a memory from the front matter (tags, kind, domain, created_at,
      updated_at, valid_from, valid_until), as `ingest.draft` accepts them.
    - `first_line`: the number of the first line of `text`, counted from 1.
    - `sections`: the beginnings of its sections, in order.
    - `lines`: for each line of `text` its line in the file, if they are not consecutive; never
      decreasing.
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
    """A part of a file that becomes one memory: lines from first to last, counted from 1.
    `heading`: its headings, or its definition, outermost first, joined by ` > `; may be empty.

    In a long section, a chunk begins with the end of the previous one: with its last lines, or with
    the last words of a long line. A line that is too long becomes several chunks.
    """

    text: str
    heading: str
    first_line: int
    last_line: int


class LeftOut(NamedTuple):
    """The reason why a file is left out; `detail` explains it if needed."""

    reason: Reason
    detail: str = ""


def unreadable(error: OSError) -> LeftOut:
    """Return the reason with the system's message, such as `Permission denied`."""
    return LeftOut("unreadable", error.strerror or "the system does not say why")


def main_title(sections: Iterable[SectionStart]) -> str:
    """Return the first title of level 1, or an empty text."""
    titles = (section.title for section in sections if section.level == 1)
    return next(filter(None, titles), "")


def one_line(title: str) -> str:
    """Return a title as one line of at most LONGEST_TITLE characters."""
    plain = " ".join(title.split())
    return plain if len(plain) <= LONGEST_TITLE else plain[: LONGEST_TITLE - 1] + "…"


def unix_lines(text: str) -> str:
    """Return the text with `\\n` as line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


LONGEST_TITLE = 200
