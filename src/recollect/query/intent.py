"""The intent of a query: words or meaning, the past or a successor, or a list.

`bugs from last month`, `latest decision` and `what happened last week` ask for a list: words for a
time, a kind, a project, a person's tag, a severity or an order become filters and an order. At most
one other word may be left, which the memories must hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any, Literal

from msgspec import Struct

from recollect.query.terms import STOP_WORDS, cut_spans, lower_words, phrases, word_set
from recollect.query.time.calendar import Period
from recollect.types import Intent, Severity

OPERATOR = re.compile(r"(?<!\w)(?:AND|OR|NOT|NEAR)(?!\w)")
DATE = re.compile(r"(?<!\d)\d{4}(?:-\d{2}-\d{2}|/\d{2}/\d{2})(?!\d)")
Order = Literal["newest", "oldest"]
# Stems of other words for common kinds; a kind's own name always counts.
SYNONYMS = {
    "bug": ("problem", "defect", "fault"),
    "decision": ("decid", "choic"),
    "incident": ("outag",),
    "preference": ("prefer",),
    "learning": ("learn", "lesson"),
}
ORDERS: dict[str, Order] = {
    "latest": "newest", "newest": "newest", "recent": "newest", "last": "newest",
    "oldest": "oldest", "earliest": "oldest", "first": "oldest",
}  # fmt: skip
SEVERITIES: dict[str, Severity] = {
    "critical": "critical", "warning": "warning", "warnings": "warning",
}  # fmt: skip
EVERYTHING = frozenset("everything anything".split())
# Words of such a question that are not searched for.
FILLING = STOP_WORDS | word_set("no topic of a list")
# The name of a person: "what did Anna decide", "notes by Tom", "@mia", "Anna's decisions".
PERSON = r"(?:\b(?:did|does|has|by|from)\s+@?|@)([^\W\d_][\w-]*)|\b([^\W\d_][\w-]*)['’]s\b"
# A longer question has a topic.
MOST_WORDS = 12


def intent(query: str) -> Intent:
    """Apply the `router` recipe's table: "keyword" for one or two words (a slug is one), a quoted
    query, operators or a date."""
    text = query.strip()
    is_short = len(text.split()) <= 2
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    special = is_short or is_quoted or OPERATOR.search(text) or DATE.search(text)
    return "keyword" if special else "semantic"


def asks_before(query: str) -> bool:
    """Return True if the query asks about the past. The past tense alone does not: "what was
    decided" asks for the decision that holds."""
    return not asks_for_successor(query) and bool(phrases("asks about the past").search(query))


def asks_for_successor(query: str) -> bool:
    """Return True for "what replaced Redis", or "are we still on 3.11"."""
    return bool(phrases("asks for a successor").search(query))


def without_past(query: str) -> str:
    """Remove the words that only ask about the past; return the whole query if nothing would be
    left. "Before" is part of the topic if something follows it."""
    rest = phrases("only asks about the past").sub(" ", query)
    return rest if re.search(r"\w", rest) else query


class ListQuery(Struct, frozen=True):
    """The filters and the order in a query's words. `lists`: there is no topic, or one word of
    it."""

    labels: dict[str, Any] = {}  # by the names of a filter's fields, but `tag`
    order: Order | None = None
    words: tuple[str, ...] = ()
    lists: bool = False

    def describe(self, lists: bool) -> list[str]:
        """Return the readings as people see them. lists: the query is answered by a list."""
        read = [f"{name} {value}" for name, value in self.labels.items()]
        if lists:
            read += [*(f"holds {word}" for word in self.words), f"{self.order} first"]
        return read


NOTHING = ListQuery()


def read_list_query(
    text: str,
    periods: Sequence[Period],
    *,
    kinds: Callable[[], Sequence[str]],
    projects: Callable[[Sequence[str]], Sequence[str]],
    sources: Callable[[Sequence[str]], Sequence[str]],
    tags: Callable[[Sequence[str]], Sequence[str]],
    stem: Callable[[str], frozenset[str]],
    ignored: Set[str] = frozenset(),
) -> ListQuery:
    """Read the filters and the order in a query's words.

    kinds, projects, sources, tags: return those in use; all but the first, among some names.
    stem: returns the stems of a word in the index.
    ignored: readings that do not count.
    """
    bounded = any(period.exact for period in periods)
    unquoted = re.sub(
        r"[\"`][^\"`]*[\"`]",
        " quoted quoted ",
        cut_spans(text, (period.span for period in periods)),
    )
    left = lower_words(unquoted)
    if len(left) > MOST_WORDS or not re.search(r"[^\W\d]", text):
        return NOTHING  # a date alone may be searched for as text

    def read(name: str, found: Iterable[str]) -> str | None:
        return next((value for value in found if f"{name} {value}" not in ignored), None)

    ordered = next((word for word in left if word in ORDERS), None)
    if ordered and f"{ORDERS[ordered]} first" in ignored:
        ordered = None
    kind = read("kind", _kinds(left, kinds, stem))
    tag = read("tag", tags(_people(unquoted, left)))
    # With one of these a word of topic may remain; with a time alone, that word is the topic.
    topical = bool(kind or tag) or ordered is not None or bool(EVERYTHING & set(left))
    if not (bounded or topical):
        return NOTHING
    if ordered == "first" and not kind:
        return NOTHING  # "the first week"
    rest = [
        word
        for word in left
        if word not in FILLING and word not in EVERYTHING and word != ordered
        and (kind is None or not _names(word, kind, stem))
    ]  # fmt: skip
    names = _spellings(text, rest)
    project = read("project", projects(names))
    severity = next((SEVERITIES[word] for word in rest if word in SEVERITIES), None)
    if not kind or f"severity {severity}" in ignored:
        severity = None
    source = read("source", sources(names))
    named = {*lower_words(project), "project", "team"} if project else set()
    named |= {*lower_words(source or ""), *(lower_words(f"{tag}'s") if tag else ())}
    if severity:
        named |= SEVERITIES.keys()
    rest = [word for word in rest if word not in named and f"holds {word}" not in ignored]
    order = ORDERS[ordered] if ordered else "newest"
    labels = {
        "kind": kind, "project": project, "source": source, "tag": tag, "severity": severity
    }  # fmt: skip
    return ListQuery(
        {name: value for name, value in labels.items() if value},
        order,
        words=tuple(rest),
        lists=len(rest) <= (1 if topical else 0) and f"{order} first" not in ignored,
    )


def _people(text: str, left: Sequence[str]) -> list[str]:
    """Return the tags that may name the person in question: `anna` in `what did Anna decide`, and
    `@anna` for any word."""
    named = (match[1] or match[2] for match in re.finditer(PERSON, text, re.IGNORECASE))
    return [*dict.fromkeys((*(f"@{word}" for word in left), *(name.lower() for name in named)))]


def _kinds(
    left: Sequence[str], kinds: Callable[[], Sequence[str]], stem: Callable[[str], frozenset[str]]
) -> Iterator[str]:
    """Yield the kinds that a word names in the plural, or as an act (`decided`)."""
    plural = [word for word in left if word not in FILLING and len(word) > 2]
    for kind in kinds() if plural else ():
        if kind in ("note", "memory"):
            continue  # people call everything a note
        if any(_names(word, kind, stem) and _is_plural(word, kind, left) for word in plural):
            yield kind


def _is_plural(word: str, kind: str, left: Sequence[str]) -> bool:
    """Return True for `bugs`, `decided`, and `bug` after `latest` or `every`: a kind, not one thing
    of a topic."""
    if word != kind:
        return True
    marks = {*ORDERS, "all", "every", "each", *SEVERITIES}
    return any(other in marks for other in left[: left.index(word)])


def _names(word: str, kind: str, stem: Callable[[str], frozenset[str]]) -> bool:
    stems = stem(word)
    return stems == stem(kind.lower()) or any(other in stems for other in SYNONYMS.get(kind, ()))


def _spellings(text: str, words: Sequence[str]) -> list[str]:
    """Return the words that may name a project, as typed and in small letters."""
    typed = [
        name for name in re.findall(r"\w[\w.-]*", text) if set(lower_words(name)) <= set(words)
    ]
    return list(dict.fromkeys([*typed, *(name.lower() for name in typed)]))
