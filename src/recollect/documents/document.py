"""The values that travel from a file on the disk to its memories."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

# Why a file is left out; counted in the answer.
Reason = Literal[
    "binary", "too large", "generated", "unreadable", "not text", "empty", "link", "unknown kind",
    "needs an extra", "vanished", "corrupt", "ignored", "hidden", "special",
]  # fmt: skip


class Mark(NamedTuple):
    """Where a part of a document begins: at a heading or a definition. `line` counts the lines of
    `Document.text` from 0. It ends what has the same level or a deeper one; without a title, what
    follows stands under nothing but the parts around it."""

    line: int
    level: int
    title: str


class Document(NamedTuple):
    """What a file says. `text` keeps the file's own lines where it has any, so that line numbers
    hold; `form` says how it is cut. `fields`: what its front matter says of a memory (tags, kind,
    domain, created_at, updated_at, valid_from, valid_until), each as `ingest.draft` takes it;
    `first_line`: the number of the line that `text` begins with, counted from 1.

    `marks`: where its parts begin, from top to bottom. `lines`: for each line of `text` the line of
    the file it comes from, where these are not simply the next ones; never falling."""

    text: str
    form: str
    fields: Mapping[str, object] = MappingProxyType({})
    first_line: int = 1
    title: str = ""
    notes: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    lines: tuple[int, ...] = ()


class Chunk(NamedTuple):
    """A part of a file that becomes one memory: whole lines, both ends included, counted from 1.
    `heading`: the headings it stands under, or the definition it is, outermost first, joined by
    ` > `; empty for none.

    Where a long part is split, a cut begins with the end of the one before it: with its last lines,
    or with the last words of a line that is long. A line too long for one cut is several."""

    text: str
    heading: str
    first_line: int
    last_line: int


class LeftOut(NamedTuple):
    """A file that is not taken in: why, and in words where the reason alone does not say it."""

    reason: Reason
    words: str = ""


def unreadable(error: OSError) -> LeftOut:
    """What the system says, such as `Permission denied`."""
    return LeftOut("unreadable", error.strerror or "the system does not say why")
