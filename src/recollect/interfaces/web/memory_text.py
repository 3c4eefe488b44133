"""A memory's texts on a page: its heading, its beginning, its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from recollect.ingest.draft import cut_title
from recollect.interfaces.web.markdown_html import (
    COMMENT,
    Links,
    code,
    is_source,
    marked_line,
    names,
    rendered,
)
from recollect.present.words import title_of
from recollect.types import Memory

HEADING = 90  # characters of a text that stand for a missing title
READ = 20_000  # characters of a memory in which names of others are looked for


def heading(memory: Memory) -> str:
    """The title, or how the text begins, without comments and signs of Markdown before it."""
    if title_of(memory).strip():
        return title_of(memory)
    [first, *_] = COMMENT.sub("", memory.text).strip("#>*-+ \t\n").splitlines() or [memory.id]
    return cut_title(first.rstrip("# "), HEADING)


class Texts:
    """A memory's fields as HTML. `find` tells which names in them lead to other memories."""

    def __init__(self, memory: Memory, find: Callable[[Sequence[str]], Links]) -> None:
        self._memory = memory
        whole = "\n".join((memory.text, memory.context, memory.why, memory.impact, memory.details))
        self._links = {
            name: id for name, id in find(names(whole[:READ])).items() if id != memory.id
        }

    def text(self, under: int = 1) -> Markup:
        """The text, below a heading of the level `under`; of a file of source code, as code."""
        memory = self._memory
        if memory.path and is_source(memory.path):
            return code(memory.text, memory.path)
        return rendered(memory.text, self._links, under=under)

    def field(self, name: str, under: int = 2) -> Markup:
        return rendered(getattr(self._memory, name), self._links, under=under)


def beginning(memory: Memory, most: int) -> Markup:
    """The text as HTML, up to `most` characters; a whole line more or less."""
    if memory.path and is_source(memory.path):
        return code(memory.text[:most], memory.path)
    return rendered(memory.text if len(memory.text) <= most else f"{memory.text[:most]} …", under=5)


def opening(memory: Memory, most: int) -> Markup:
    """The start of the text, up to `most` characters, cut between words where possible."""
    text = (memory.text or memory.context or memory.details).strip()
    if len(text) > most:
        kept = text[:most]
        text = (kept.rpartition(" ")[0] or kept).rstrip(" .,;:") + "…"
    return marked_line(text)
