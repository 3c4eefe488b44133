"""A memory's texts on a page: its heading, its beginning, its links."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from recollect.present.words import title_of
from recollect.titles import cut_title
from recollect.types import Memory

HEADING = 90  # characters of a text that stand for a missing title
URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}]")


def heading(memory: Memory) -> str:
    """The title, or how the text begins."""
    if title_of(memory).strip():
        return title_of(memory)
    [first, *_] = memory.text.strip().splitlines() or [memory.id]
    return cut_title(first, HEADING)


def linked(text: str) -> Markup:
    """The text with its web addresses as links; everything else in it is text."""
    link = Markup('<a href="{0}" rel="noreferrer noopener nofollow">{0}</a>')
    made, last = [], 0
    for found in URL.finditer(text):
        made += [escape(text[last : found.start()]), link.format(found[0])]
        last = found.end()
    return Markup("").join([*made, escape(text[last:])])


def opening(memory: Memory, most: int) -> str:
    """The start of the text, up to `most` characters, cut between words where possible."""
    text = " ".join((memory.text or memory.context or memory.details)[: 2 * most].split())
    if len(text) <= most:
        return text
    kept = text[:most]
    return (kept.rpartition(" ")[0] or kept).rstrip(" .,;:") + "…"
