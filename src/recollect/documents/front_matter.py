"""Front matter: a block of YAML before the first line of a text.

The block stands between two lines of `---` (the second may be `...`) at the very beginning, as
Jekyll, Hugo and Obsidian write it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.documents.plain_yaml import NotPlain, plain_fields

OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)


class Block(NamedTuple):
    """A text with front matter: the opening line, the lines of YAML, the closing line without its
    line end, and the rest."""

    opening: str
    yaml: str
    closing: str
    body: str


class FrontMatter(NamedTuple):
    """The fields of a front matter, and the body behind it. `body_line`: the number of the body's
    first line, counted from 1. `problem`: why a block cannot be read; then all is body."""

    fields: dict[str, object]
    body_line: int
    body: str
    problem: str = ""


def block(text: str) -> Block | None:
    """The block before a text; None where there is none, or the text merely begins with a rule."""
    opening = OPENING.match(text)
    closing = CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return None
    yaml = text[opening.end() : closing.start()]
    return Block(opening[0], yaml, closing[0], text[closing.end() + 1 :])


def split(text: str) -> FrontMatter:
    """The fields before the text, and the text without them."""
    found = block(text)
    if found is None:
        return FrontMatter({}, 1, text)

    try:
        fields = plain_fields(found.yaml)
    except NotPlain as error:
        return FrontMatter({}, 1, text, f"The front matter {error}.")
    return FrontMatter(fields, found.yaml.count("\n") + 3, found.body)
