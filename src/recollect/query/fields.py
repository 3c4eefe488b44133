"""Fields in a query: `kind:bug tag:auth,jwt project:"harbor api" -source:slack`.

A field begins after white space, and its value follows the colon directly. Any other word with a
colon is a word: `error: x`, `http://x`, `std::vector`, `C:\\temp`, `12:30`. Text in double quotes
or backticks is never read, nor is a field that OR joins with something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import cache
from typing import Any, NamedTuple

from recollect.query.exclusions import describe_exclusion, exclusions, without
from recollect.query.terms import LONGEST_READ, cut_spans, keywords, words
from recollect.types import Filter, Span

# Field → the filter's attribute, and the attribute for `-field:`.
FIELDS = {
    "kind": ("kind", "without_kinds"),
    "project": ("project", "without_projects"),
    "source": ("source", "without_sources"),
    "tag": ("tags", "without_tags"),
    "domain": ("domain", None),
}
VALUE = r""""[^"]+"|'[^']+'|(?!:|//|["'])[^\s"()]+"""
NAME = rf"(?i:{'|'.join(FIELDS)})"
# `"connection refused"`, `-"blue green"` and `project:"harbor api"` after a shell took the quotes.
QUOTED_BEFORE = rf'^(-?(?:{NAME}:)?)((?=.*\S)[^"]*\s[^"]*)\Z'


class QueryFields(NamedTuple):
    """A query without its fields, the filter they make, and their readings as people see them."""

    text: str
    filter: Filter = Filter()
    readings: tuple[str, ...] = ()


def read_fields(text: str, ignored: Set[str] = frozenset()) -> QueryFields:
    """Read the fields of a query. Without a field, the text stays as it is.

    ignored: readings that do not count.
    """
    if ":" not in text:
        return QueryFields(text)
    spans: list[Span] = []
    wanted: dict[str, list[str]] = {}
    readings: dict[str, None] = {}
    for match in _pattern().finditer(text):
        if match["or"] or match["or_else"] or not match["name"]:
            continue
        name = match["name"].lower()
        part = FIELDS[name][bool(match["sign"])]
        for value in _values(match["named"]) if part else ():
            reading = f"{'without ' if match['sign'] else ''}{name} {value}"
            if part and reading not in ignored:
                wanted.setdefault(part, []).append(value)
                readings[reading] = None
                spans.append(Span(*match.span()))
    rest = " ".join(cut_spans(text, spans).split()).rstrip(" ,;")
    if not spans or len(words(rest)) > LONGEST_READ:
        return QueryFields(text)
    parts: dict[str, Any] = {part: tuple(values) for part, values in wanted.items()}
    read = read_exclusions(rest, ignored)
    if read.readings and not read.text:  # `kind:bug -docker`: nothing to search
        rest, parts["without"] = "", read.filter.without
        readings |= dict.fromkeys(read.readings)
    return QueryFields(rest, Filter(**parts), tuple(readings))


def read_exclusions(text: str, ignored: Set[str] = frozenset()) -> QueryFields:
    """Read the exclusions of a query. The text is empty if it has no other word to search for."""
    excluded = [
        one for one in exclusions(text, alone=True) if describe_exclusion(one) not in ignored
    ]
    if not excluded:
        return QueryFields(text)
    rest = without(text, excluded)
    filter = Filter(without=tuple(one.words for one in excluded))
    return QueryFields(
        rest if keywords(rest) else "", filter, tuple(map(describe_exclusion, excluded))
    )


def query_of(typed: Sequence[str]) -> str:
    """Join the words of a command line into one query. A shell removes quotes, so a word with a
    space in it was a quoted phrase or field value."""
    if len(typed) == 1:
        return typed[0]
    return " ".join(re.sub(QUOTED_BEFORE, r'\1"\2"', word) for word in typed)


def _values(text: str) -> Iterator[str]:
    """Yield the values of a field: one in quotes, or several separated by commas."""
    for match in re.finditer(rf"(?:^|\sOR\s+){NAME}:({VALUE})", text):
        value = match[1]
        several = [value[1:-1]] if value[0] in "\"'" else value.rstrip(".?!;").split(",")
        yield from filter(None, map(str.strip, several))


@cache
def _pattern() -> re.Pattern[str]:
    field = rf"(?P<name>{NAME}):(?:{VALUE})"
    others = rf"(?:\s+OR\s+(?!(?i:tag):)(?P=name):(?:{VALUE}))*+"
    return re.compile(
        r'"[^"]*"|`[^`]*`'
        rf"|(?<!\S)(?:AND\s+|(?P<or>OR\s+))?(?P<sign>-|NOT\s+)?(?P<named>{field}(?(sign)|{others}))"
        r"(?=\s|$)(?:(?=\s+(?P<or_else>OR)(?!\S))|\s+AND(?=\s)|)"
    )
