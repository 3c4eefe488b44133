"""The intent of a query: words or meaning (the `router` recipe's table), the present, the past, or
a successor."""

from __future__ import annotations

import re

from recollect.types import Intent

OPERATOR = re.compile(r"(?<!\w)(?:AND|OR|NOT|NEAR)(?!\w)")
DATE = re.compile(r"(?<!\d)\d{4}(?:-\d{2}-\d{2}|/\d{2}/\d{2})(?!\d)")
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")


def intent(query: str) -> Intent:
    """Apply the first rule that fits; three words or more without special signs are semantic."""
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


# Words that ask about the past. The past tense alone does not: "what was decided" asks for the
# decision that holds.
PAST = (
    r"\b(?:before(?!\s+\w+ing\b)|formerly|previously|at the time|used to|use to|back then|back when"
    r"|in the past|originally|former|previous|prior|until now"
    r"|vorher|früher|damals|ehemals|bisher(?:ige[rns]?)?|bis dahin"
    r"|avant|auparavant|autrefois|ancien(?:ne)?s?"
    r"|antes|anterior(?:mente)?|antigu[oa]|solía\w*"
    r"|раньше|прежде|прежн\w+)\b|以前|之前|原来|过去|前は|かつて|昔|예전|이전|전에는"
)
# Those that are no part of the topic. "Before" is part of it if something follows.
BARE = (
    r"\bbefore(?=\W*$)|\b(?:formerly|previously|back then|in the past|used to|use to"
    r"|vorher|früher|damals|auparavant|autrefois|antes|раньше)\b"
)
# Words that ask for a successor: "what replaced Redis", "are we still on 3.11".
SUCCESSOR = (
    r"\b(?:replaced|replaces|instead of|in place of|took over|successor|now|nowadays|still"
    r"|currently|these days|anymore|jetzt|noch|aktuell|statt|maintenant|encore|ahora|todavía)\b"
)


def asks_before(query: str) -> bool:
    """Return True if the query asks about the past."""
    return not asks_for_successor(query) and bool(re.search(PAST, query, re.IGNORECASE))


def asks_for_successor(query: str) -> bool:
    """Return True if the query asks for the successor of something, or for the present."""
    return bool(re.search(SUCCESSOR, query, re.IGNORECASE))


def without_past(query: str) -> str:
    """Remove the words that only ask about the past; return the whole query if nothing would be
    left."""
    rest = re.sub(BARE, " ", query, flags=re.IGNORECASE)
    return rest if re.search(r"\w", rest) else query
