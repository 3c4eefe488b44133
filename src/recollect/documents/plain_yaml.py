"""YAML as front matter needs it: texts, lists and mappings only. `no` stays `no`, and nothing is
ever built from a tag."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

from recollect.checks import is_text

# Written by hand, front matter is some hundred bytes; YAML is slow to read.
MOST_BYTES = 64_000
# A mapping of lists of mappings is three deep; PyYAML calls itself once a level.
DEEPEST = 20
Loader: type[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class NotPlain(Exception):
    """YAML that front matter does not need, or that cannot be read; the text says why."""


def plain_fields(block: str) -> dict[str, object]:
    """The fields of a block of YAML, or NotPlain."""
    try:
        return _fields(block)
    except yaml.YAMLError as error:
        raise NotPlain(f"is not valid YAML{_place(error)}") from error
    except RecursionError as error:
        raise NotPlain("is nested too deeply") from error


def _fields(block: str) -> dict[str, object]:
    if not is_text(block):
        raise NotPlain("is not valid UTF-8 text")
    if len(block.encode()) > MOST_BYTES:
        raise NotPlain("is too large")
    _check(block)
    value = yaml.load(block, Loader)
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise NotPlain("is not a list of fields")
    return value


def _check(block: str) -> None:
    """Refuse aliases, which can grow when they are built; tags, which ask for a type; keys that are
    no texts; and depth."""
    # For each open collection: whether it is a mapping, and whether a key comes next.
    open_now: list[list[bool]] = []
    for event in yaml.parse(block, Loader):
        if isinstance(event, AliasEvent):
            raise NotPlain("uses an alias, which is not read")
        if isinstance(event, ScalarEvent | CollectionStartEvent) and event.tag is not None:
            raise NotPlain("uses a tag, which is not read")
        if isinstance(event, CollectionEndEvent):
            open_now.pop()
        elif isinstance(event, NodeEvent):
            _check_key(event, open_now)
        if isinstance(event, CollectionStartEvent):
            open_now.append([isinstance(event, yaml.MappingStartEvent), True])
            if len(open_now) > DEEPEST:
                raise NotPlain("is nested too deeply")


def _check_key(event: NodeEvent, open_now: list[list[bool]]) -> None:
    if not open_now or not open_now[-1][0]:
        return
    is_key = open_now[-1][1]
    if is_key and not isinstance(event, ScalarEvent):
        raise NotPlain("has a field whose name is not a text")
    open_now[-1][1] = not is_key


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    # The block begins in the second line, and marks count from 0.
    return f": see line {mark.line + 2}" if mark is not None else ""
