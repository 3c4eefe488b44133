"""Times in the words of a query: `last week`, `since March`, `before the release of atlas 3.0`.

One pattern finds the names of times (`last week`, `March 2026`), each by a rule with a function of
its own. Then the words around a name decide its bounds (`since`, `before`, `from … to …`), and if
an ambiguous word (`may`, `march`, `2024`) is a time. An event's time is the date of the memory
whose title has its words.

A wrong reading hides results, a missed one only leaves the words in the query. So doubtful times
are not read, or are hints (`exact` is false). Text in double quotes or backticks is never read.

Times in other languages are first translated to English (`translation.py`). dateparser and similar
libraries are slow to import and guess too much.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from recollect.query.terms import cut_spans, keywords
from recollect.query.time.calendar import (
    DAY,
    WEEK,
    Interval,
    Lead,
    Period,
    TimeName,
    midnight_of,
    monday_of,
)
from recollect.query.time.grammar import (
    COMMA,
    FAR_LEAD,
    HINT,
    JOIN,
    LEAD,
    LEAD_LENGTH,
    NAMES_OF_PEOPLE,
    RULES,
    names,
    pattern,
)
from recollect.query.time.readers import interval_of, means_time
from recollect.query.time.translation import Translation, translate
from recollect.times import MICROSECOND, from_clock, on_clock
from recollect.types import Span

# Names that recur: in a range, the latest one before the other end.
FLOATING = frozenset(("day_month", "month_day", "weekday", "month", "season", "quarter"))
# Names that are hints by themselves, and exact after `in` or `on`.
BARE = frozenset(("weekday", "month", "quarter", "year"))
EVENT_LEADS = frozenset(("before", "after", "since", "until"))
# Only these words are events: most words after `before` and `after` are not.
EVENTS = (
    "end|incident|launch|meeting|migration|move|outage|release|retro|retrospective|start|switch"
    "|upgrade"
)
ANCHOR = (
    rf"\b(?P<lead>before|after|since|until)\s+(?:the\s+|we\s+)?(?P<event>(?:{EVENTS})\b[^,;?!]*)"
)


def periods(text: str, now: datetime, *, languages: bool = False) -> tuple[Period, ...]:
    """Return the times that a query names, left to right.

    languages: read other languages than English too.
    """
    english = translate(text) if languages else None
    if english:
        return tuple(_in_query(each, text, english) for each in periods(english.text, now))
    if not HINT.search(text):
        return ()
    today = on_clock(now).replace(tzinfo=UTC)
    found: list[Period | None] = []
    waiting: TimeName | None = None
    for name in _names(text, today):
        if waiting and _is_range(text, waiting, name):
            found.append(_read_range(text, waiting, name, today))
            waiting = None
            continue
        if waiting and not _belongs(text, waiting, name):
            found.append(_read_single(text, waiting, today))
        listed = waiting is not None and _continues_list(text, waiting, name)
        waiting = name._replace(listed=listed)
    found.append(_read_single(text, waiting, today) if waiting else None)
    return tuple(_in_time(period) for period in found if period)


def _in_time(period: Period) -> Period:
    """Convert the period from the user's clock to moments."""
    start, end = (moment and from_clock(moment) for moment in (period.start, period.end))
    return replace(period, start=start, end=end)


def _in_query(period: Period, text: str, english: Translation) -> Period:
    """Map a period of the translated query to the words of the query itself."""
    start, end = period.span
    first, stop = english.span(end - len(period.said), end)
    return replace(period, said=text[first:stop], span=Span(english.span(start, end)[0], stop))


def describe(period: Period) -> str:
    """Return the reading as people see it: `last week = 2026-11-02 … 2026-11-08`."""
    if period.start and period.end:
        first, last = _format_time(period.start), _format_end(period.end)
        meant = first if first == last else f"{first} … {last}"
    elif period.start:
        meant = f"since {_format_time(period.start)}"
    elif period.end:
        meant = f"before {_format_time(period.end)}"
    else:
        meant = "any time"
    return meant if meant == period.said else f"{period.said} = {meant}"


def without(text: str, periods: Iterable[Period]) -> str:
    """Remove the words that name these times. If no content word would be left, return the text
    unchanged."""
    spans = [period.span for period in periods]
    if not spans:
        return text
    rest = re.sub(r"\(\s+\)", "", cut_spans(text, spans))
    tidy = re.sub(r"\s+([,.;:!?)]+)(?=\s|$)", r"\1", " ".join(rest.split()))
    tidy = re.sub(r"^[,.;:!?)]+(?:\s+|$)", "", tidy).rstrip(" ,;:(")
    return tidy if keywords(tidy) else text


def within(moment: datetime, named: Sequence[Period]) -> bool:
    """Return True if the moment is in one of the closed periods ("in March and April") and in all
    open ones ("after March and before June")."""
    closed = [period for period in named if None not in (period.start, period.end)]
    rest = [period for period in named if None in (period.start, period.end)]
    return (not closed or any(_in(moment, period) for period in closed)) and all(
        _in(moment, period) for period in rest
    )


def bounds(named: Sequence[Period]) -> tuple[datetime | None, datetime | None]:
    """Return the earliest and, exclusive, the latest moment that may be `within` these periods."""
    closed = [period for period in named if period.start and period.end]
    starts = [period.start for period in named if period.start and not period.end]
    ends = [period.end for period in named if period.end and not period.start]
    if closed:
        starts.append(min(period.start for period in closed if period.start))
        ends.append(max(period.end for period in closed if period.end))
    return max(starts, default=None), min(ends, default=None)


def _in(moment: datetime, period: Period) -> bool:
    after = period.start is None or moment >= period.start
    return after and (period.end is None or moment < period.end)


# Find the names and the words around them.
def _names(text: str, now: datetime) -> Iterator[TimeName]:
    """Yield the names that are meant as times. The words of one name cannot be the lead of the
    next."""
    free = 0
    for found in names().finditer(text):
        rule = found.lastgroup
        if rule:
            start, end = found.span(rule)
            match = pattern(RULES[rule], re.ASCII).fullmatch(text, start, end)
            lead = _lead(text, free, start)
            if match:
                name = TimeName(rule, match, start, found.end(), lead)
                if means_time(text, name, now):
                    yield name
        free = found.end()


def _lead(text: str, free: int, start: int) -> Lead | None:
    """Return the preposition directly before a name, or before the words that link to it."""
    begin = max(free, start - LEAD_LENGTH)
    if far := pattern(FAR_LEAD).search(text, begin, start):
        return Lead("", far["role"].lower(), far.start(), far.start("link"))
    if near := pattern(LEAD).search(text, begin, start):
        role = near.lastgroup or ""
        return Lead(" ".join(near[role].lower().split()), role, near.start(), near.start())
    return None


def _is_range(text: str, first: TimeName, second: TimeName) -> bool:
    """Return True if two names are the ends of one period: `from … to …`, `between … and …`, `… to
    …`."""
    join = pattern(JOIN).fullmatch(text, first.end, second.start)
    if not join or "vague" in (first.rule, second.rule):
        return False
    role = first.lead.role if first.lead else ""
    if (join["word"] or "").lower() == "and":
        return role == "between"
    return role not in ("before", "after", "until")


def _belongs(text: str, first: TimeName, second: TimeName) -> bool:
    """Return True if a weekday is part of the next time: `the Monday two weeks ago`."""
    bare = first.rule == "weekday" and not first.has("which", "week")
    return bare and text[first.end : second.start].isspace()


def _continues_list(text: str, first: TimeName, second: TimeName) -> bool:
    """Return True if a bare name continues a list: all years of `in 2008, 2009 and 2010` are
    exact."""
    begun = first.listed or (first.lead is not None and first.lead.role == "in")
    alike = first.rule == second.rule and second.rule in BARE and second.lead is None
    return begun and alike and pattern(COMMA).fullmatch(text, first.end, second.start) is not None


# Apply the words around a name.
def _read_single(text: str, name: TimeName, now: datetime) -> Period | None:
    """Return the period of one name with its lead, or None."""
    reading = interval_of(name, now)
    role = name.lead.role if name.lead else ""
    if not reading or role == "between":
        return None
    if name.rule == "vague" and role in ("before", "after", "until"):
        return None  # "until recently" is a past without dates
    try:
        start, end = _bounds(reading, role)
    except OverflowError:
        return None  # the week of a day at the ends of the calendar
    return _period(text, name, name.end, start, end, _is_exact(name, reading))


def _read_range(text: str, first: TimeName, last: TimeName, now: datetime) -> Period | None:
    """Return the period from one name to another, both included, or None. A name without a year or
    a week is the latest before the other one: `October to February 2026` begins in 2025. An end
    before the start is an error and not read."""
    ending = interval_of(last, now)
    if not ending:
        return None
    floats = first.rule in FLOATING and not first.has("year", "slashed", "which", "week")
    beginning = interval_of(first, ending.end - MICROSECOND if floats else now)
    if not beginning or beginning.start >= ending.end:
        return None
    hint = first.lead is not None and first.lead.role == "hint"
    return _period(text, first, last.end, beginning.start, ending.end, not hint)


def _period(
    text: str, name: TimeName, stop: int, start: datetime | None, end: datetime | None, exact: bool
) -> Period:
    first = name.lead.start if name.lead else name.start
    begin = name.lead.span_start if name.lead else name.start
    return Period(text[first:stop], Span(begin, stop), start, end, exact)


def _bounds(reading: Interval, role: str) -> tuple[datetime | None, datetime | None]:
    """Apply a preposition to an interval; None is an open end."""
    start, end, _, point = reading
    if role == "before":
        return None, point or start
    if role == "after":
        return point or end, None
    if role == "since":
        return start, None
    if role == "until":
        return None, end
    if role == "week" and end - start <= WEEK:
        monday = monday_of(start)
        return monday, monday + WEEK
    return start, end


def _is_exact(name: TimeName, reading: Interval) -> bool:
    """Return True if the time is bounded on purpose. `by` and `from` precede people as well as
    months; with them June is a hint."""
    if not name.lead:
        return reading.exact or (name.listed and not name.has("part"))
    if name.lead.role == "hint" or name.rule == "vague":
        return False
    if name.lead.words in ("by", "from") and name.rule == "month":
        bare = not name.has("year", "which", "part")
        return not (bare and name.match["month"].lower() in NAMES_OF_PEOPLE)
    if name.lead.role == "in":
        return reading.exact or (name.rule in BARE and not name.has("part"))
    return reading.exact or name.lead.role != "of"


def _format_time(moment: datetime) -> str:
    """Return the date, with the time of day unless it is midnight on the user's clock."""
    shown = on_clock(moment)
    whole = shown == midnight_of(shown)
    return shown.date().isoformat() if whole else shown.isoformat(" ", "minutes")[:16]


def _format_end(end: datetime) -> str:
    """Return the last day of a period, or the time of its end."""
    shown = on_clock(end)
    return _format_time(from_clock(shown - DAY) if shown == midnight_of(shown) else end)


def event_period(text: str, date_of: Callable[[list[str]], datetime | None]) -> Period | None:
    """Return the period that an event ends or begins; None if no memory has its date.

    date_of: returns the date of the memory that holds these words in its title.
    """
    if not EVENT_LEADS & set(text.lower().split()):
        return None  # most queries: the pattern is not even compiled
    match = re.search(ANCHOR, text, re.IGNORECASE)
    words = keywords(match["event"]) if match else []
    if not match or len(words) < 2:
        return None
    moment = date_of(words)
    if moment is None:
        return None
    ends = match["lead"].lower() in ("before", "until")
    start, end = (None, moment) if ends else (moment, None)
    return Period(match[0], Span(*match.span()), start, end, exact=True)
