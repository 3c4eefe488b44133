"""Questions that ask for a list rather than for an answer: `bugs from last month`, `latest
decision`, `what happened last week`.

Words that name a time, a kind, a project, a severity or an order are read as filters and an order.
A query lists when hardly anything else is left of it: no word, or one that memories hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from recollect.query.spans import outside
from recollect.query.terms import STOP_WORDS, lowered
from recollect.query.time.values import Period
from recollect.types import Severity

Order = Literal["newest", "oldest"]

# Words for the kinds that memories usually have, by stem; a kind's own name counts anyway.
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
# What may stand in such a question and names nothing to search for.
FILLING = STOP_WORDS | frozenset(
    "about after all any before been between concerning did done each entries entry every give "
    "happen happened happening if list made me memories memory most my note noted notes our "
    "recorded regarding said saved see show since some stuff taken tell there thing things until "
    "us we were written wrote".split()
)
# A longer question has a topic.
MOST_WORDS = 12


class Asked(Struct, frozen=True):
    """What a query asks for beside its topic. `lists`: there is no topic, or one word of it."""

    kind: str | None = None
    project: str | None = None
    source: str | None = None
    severity: Severity | None = None
    order: Order | None = None
    words: tuple[str, ...] = ()
    lists: bool = False

    def understood(self, lists: bool) -> list[str]:
        """What was read, for people; `lists`: the query is answered by a list."""
        return [
            *([f"kind {self.kind}"] if self.kind else []),
            *([f"project {self.project}"] if self.project else []),
            *([f"source {self.source}"] if self.source else []),
            *([f"severity {self.severity}"] if self.severity else []),
            *([f"holds {word}" for word in self.words] if lists else []),
            *([f"{self.order} first"] if lists else []),
        ]


NOTHING = Asked()


def asked(
    text: str,
    periods: Sequence[Period],
    *,
    kinds: Callable[[], Sequence[str]],
    projects: Callable[[Sequence[str]], Sequence[str]],
    sources: Callable[[Sequence[str]], Sequence[str]],
    stem: Callable[[str], frozenset[str]],
) -> Asked:
    """What is asked for. `kinds`, `projects` and `sources` are those in use, the latter two among
    some names; `stem` is how the index knows a word."""
    bounded = any(period.exact for period in periods)
    said = re.sub(
        r"[\"`][^\"`]*[\"`]", " quoted quoted ", outside(text, (period.span for period in periods))
    )
    left = lowered(said)
    if len(left) > MOST_WORDS or not re.search(r"[^\W\d]", text):
        return NOTHING  # a date alone may stand in a text
    ordered = next((word for word in left if word in ORDERS), None)
    kind = _kind(left, kinds, stem)
    # Beside one of these a word of topic may stand; beside a time alone, it is what is asked about.
    topical = bool(kind) or ordered is not None or bool(EVERYTHING & set(left))
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
    project = next(iter(projects(names)), None)
    severity = next((SEVERITIES[word] for word in rest if word in SEVERITIES), None)
    source = next(iter(sources(names)), None)
    named = {*lowered(project), "team"} if project else set()
    named |= {*lowered(source or "")}
    if severity and kind:
        named |= SEVERITIES.keys()
    rest = [word for word in rest if word not in named]
    return Asked(
        kind=kind,
        project=project,
        source=source,
        severity=severity if kind else None,
        order=ORDERS[ordered] if ordered else "newest",
        words=tuple(rest),
        lists=len(rest) <= (1 if topical else 0),
    )


def _kind(
    left: Sequence[str], kinds: Callable[[], Sequence[str]], stem: Callable[[str], frozenset[str]]
) -> str | None:
    """The kind that a word names in the plural, or as what was done (`decided`)."""
    plural = [word for word in left if word not in FILLING and len(word) > 2]
    if not plural:
        return None
    for kind in kinds():
        if kind in ("note", "memory"):
            continue  # people call everything a note
        if any(_names(word, kind, stem) and _several(word, kind, left) for word in plural):
            return kind
    return None


def _several(word: str, kind: str, left: Sequence[str]) -> bool:
    """`bugs`, `decided`, and `bug` after `latest` or `every`: a kind, not one thing of a topic."""
    if word != kind:
        return True
    marks = {*ORDERS, "all", "every", "each", *SEVERITIES}
    return any(other in marks for other in left[: left.index(word)])


def _names(word: str, kind: str, stem: Callable[[str], frozenset[str]]) -> bool:
    stems = stem(word)
    return stems == stem(kind.lower()) or any(other in stems for other in SYNONYMS.get(kind, ()))


def _spellings(text: str, words: Sequence[str]) -> list[str]:
    """What of the query may name a project: as it was typed, and in small letters."""
    typed = [name for name in re.findall(r"\w[\w.-]*", text) if set(lowered(name)) <= set(words)]
    return list(dict.fromkeys([*typed, *(name.lower() for name in typed)]))
