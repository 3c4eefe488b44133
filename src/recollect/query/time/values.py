"""The values that a time in a query passes through: its name, its interval, its period."""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from recollect.types import Span


class Period(Struct, frozen=True):
    """A time that a query names. `said` are the user's words; `span` is what `without` takes out.

    They differ only where other words stand between a preposition and its date. In `before the
    release of 2026-03-01` all of it is said, but only `of 2026-03-01` is taken out, since `release`
    still says what is searched for.
    """

    said: str
    span: Span
    start: datetime | None  # inclusive; None: open
    end: datetime | None  # exclusive; None: open
    exact: bool  # the user bounded the time on purpose; otherwise it is a hint


class Interval(NamedTuple):
    """What a name of a time stands for, before the words beside it are looked at."""

    start: datetime
    end: datetime
    exact: bool = True
    point: datetime | None = None  # what `before` and `after` mean by `the end of March`


class Lead(NamedTuple):
    """The words before a name: which, what they ask for, and where they and the span begin."""

    words: str
    role: str
    start: int
    span_start: int


class TimeName(NamedTuple):
    """A name of a time where it stands in the query, with the rule that found it."""

    rule: str
    match: re.Match[str]
    start: int
    end: int
    lead: Lead | None
    listed: bool = False  # one more in a list that began with `in` or `on`

    def has(self, *groups: str) -> bool:
        """Whether the rule found any of these parts."""
        parts = self.match.groupdict()
        return any(parts.get(group) for group in groups)
