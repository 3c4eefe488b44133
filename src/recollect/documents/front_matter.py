"""Front matter: what a text says of itself in a block of YAML before its first line.

The block stands between two lines of `---` (the second may be `...`) at the very beginning, as
Jekyll, Hugo and Obsidian write it. YAML is read as texts, lists and mappings only: `no` stays `no`,
and nothing is ever built from a tag.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

from recollect.checks import is_text

# Written by hand, front matter is some hundred bytes; YAML is slow to read.
MOST_BYTES = 64_000
# A mapping of lists of mappings is three deep; PyYAML calls itself once a level.
DEEPEST = 20
OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
Loader: type[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class FrontMatter(NamedTuple):
    """What stood before the text. `body_line`: the number of the line the body begins with, counted
    from 1. `problem`: why a block that looks like front matter is none; then all is body."""

    fields: dict[str, object]
    body_line: int
    body: str
    problem: str = ""


class _NotPlain(Exception):
    """YAML that front matter does not need; the words say what."""


def split(text: str) -> FrontMatter:
    """The fields before the text, and the text without them."""
    opening = OPENING.match(text)
    if opening is None:
        return FrontMatter({}, 1, text)
    closing = CLOSING.search(text, opening.end())
    if closing is None:  # the text merely begins with a rule
        return FrontMatter({}, 1, text)
    block = text[opening.end() : closing.start()]
    try:
        fields = _fields(block)
    except _NotPlain as error:
        return FrontMatter({}, 1, text, str(error))
    except yaml.YAMLError as error:
        return FrontMatter({}, 1, text, f"The front matter is not valid YAML{_place(error)}.")
    except RecursionError:
        return FrontMatter({}, 1, text, "The front matter is nested too deeply.")
    body_line = text.count("\n", 0, closing.end()) + 2
    return FrontMatter(fields, body_line, text[closing.end() + 1 :])


def _fields(block: str) -> dict[str, object]:
    if not is_text(block):
        raise _NotPlain("The front matter is not valid UTF-8 text.")
    if len(block.encode()) > MOST_BYTES:
        raise _NotPlain("The front matter is too large.")
    _check(block)
    value = yaml.load(block, Loader)
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise _NotPlain("The front matter is not a list of fields.")
    return value


def _check(block: str) -> None:
    """Refuse what could grow when it is built (aliases), what asks for a type (tags), keys that
    are no texts, and depth."""
    # For each collection that is open: whether it is a mapping, and whether a key comes next.
    open_now: list[list[bool]] = []
    for event in yaml.parse(block, Loader):
        if isinstance(event, AliasEvent):
            raise _NotPlain("The front matter uses an alias, which is not read.")
        if isinstance(event, ScalarEvent | CollectionStartEvent) and event.tag is not None:
            raise _NotPlain("The front matter uses a tag, which is not read.")
        if isinstance(event, CollectionEndEvent):
            open_now.pop()
        elif isinstance(event, NodeEvent):
            _check_key(event, open_now)
        if isinstance(event, CollectionStartEvent):
            open_now.append([isinstance(event, yaml.MappingStartEvent), True])
            if len(open_now) > DEEPEST:
                raise _NotPlain("The front matter is nested too deeply.")


def _check_key(event: NodeEvent, open_now: list[list[bool]]) -> None:
    if not open_now or not open_now[-1][0]:
        return
    is_key = open_now[-1][1]
    if is_key and not isinstance(event, ScalarEvent):
        raise _NotPlain("The front matter has a field whose name is not a text.")
    open_now[-1][1] = not is_key


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    # The block begins in the second line, and marks count from 0.
    return f": see line {mark.line + 2}" if mark is not None else ""
