"""What kind of question a query is. Source: the `router` recipe, the intent table."""

from __future__ import annotations

import re

from recollect.types import Intent

OPERATOR = re.compile(r"(?<!\w)(?:AND|OR|NOT|NEAR)(?!\w)")
DATE = re.compile(r"(?<!\d)\d{4}(?:-\d{2}-\d{2}|/\d{2}/\d{2})(?!\d)")
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")


def intent(query: str) -> Intent:
    """The first rule that fits; three words or more with nothing special in them are semantic."""
    text = query.strip()
    return "keyword" if any(rule(text) for rule in KEYWORD_RULES) else "semantic"


def is_empty(text: str) -> bool:
    return not text


def is_quoted(text: str) -> bool:
    return len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"


def has_operator(text: str) -> bool:
    return OPERATOR.search(text) is not None


def has_date(text: str) -> bool:
    return DATE.search(text) is not None


def is_short(text: str) -> bool:
    return len(text.split()) <= 2


def is_slug(text: str) -> bool:
    return SLUG.fullmatch(text) is not None


KEYWORD_RULES = (is_empty, is_quoted, has_operator, has_date, is_short, is_slug)
