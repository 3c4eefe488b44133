"""Time said in words inside a query: `last week`, `since March 2026`, `before 2026-03-01`.

The query is read in two steps. One pattern finds the names of times (`last week`, `March 2026`),
each by a rule with a function of its own. Then the words beside each name decide what it bounds
(`since`, `before`, `from … to …`), and whether a doubtful word (`may`, `march`, `2024`) is a time.

A false reading hides what is searched for, a missed one only leaves the words in the query. So what
is in doubt is not read, or read as a hint (`exact` is false). What stands in double quotes or
backticks is never read: it is to be found as written.

No library is used: dateparser and the like are slow to import and guess too much.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple

from msgspec import Struct

from recollect.query.terms import keywords
from recollect.times import MICROSECOND
from recollect.types import Span

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
WEEK = timedelta(weeks=1)
SATURDAY = 5


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


class Reading(NamedTuple):
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


class Name(NamedTuple):
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


# Pieces of the grammar. Names are read without regard to case, and as ASCII: only English is read.

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "mon tue wed thu fri sat sun".split()
NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
ORDINALS = "first second third fourth 1st 2nd 3rd 4th".split()
# How many "a couple" and "a few" are; "ago" takes them with one more and one less.
LOOSE = {"couple": 2, "few": 3}
# "Recently" reaches back this many days: about as long as people use the word for.
RECENT_DAYS = 30
# A number alone is a year from here on; earlier ones are more often counts, such as 1920.
FIRST_BARE_YEAR = 1990

YEAR = r"(?:19[0-9]{2}|20[0-9]{2}|2100)"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
COUNT = rf"(?:[0-9]{{1,4}}|{'|'.join(NUMBERS)}|(?:a\s+)?(?:couple(?:\s+of)?|few))"
UNIT = r"(?:hour|day|week|month|year)s?"
HOURS = r"(?:morning|afternoon|evening|night)"
DATE = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
LAST_DATE = DATE.replace("day", "last_day")
WHICH = r"(?:this\s+)?past|(?:the\s+)?last|previous|current|this|next"
PART = (
    r"(?:(?P<part>early|mid|late|(?:beginning|start|middle|end)\s+of)"
    r"(?:\s+in)?(?:\s+|-)(?:the\s+)?)?"
)
# Any year, so that "February 1861" is not last February; its reader knows which ones are read.
OF_YEAR = r"(?:(?:\s?,|\s+of)?\s+(?P<year>[0-9]{4}|(?:last|this)\s+year))"
ON_WEEKDAY = rf"(?:{WEEKDAY},?\s+)?"

# The names of times. Of two that fit at one place the upper one counts.
RULES = {
    "iso_day": rf"(?P<year>{YEAR})(?:-[0-9]{{2}}-|/[0-9]{{2}}/)[0-9]{{2}}",
    "iso_month": rf"(?P<year>{YEAR})-[0-9]{{2}}",
    "near": (
        r"(?:the\s+)?(?P<before>day\s+before\s+)?(?P<yesterday>yesterday)"
        rf"(?:\s+{HOURS})?|(?:the\s+)?(?P<after>day\s+after\s+)?(?P<tomorrow>tomorrow)(?:\s+{HOURS})?"
        rf"|(?P<last>last\s+(?:night|evening))|(?:earlier\s+|later\s+)?today|tonight|this\s+{HOURS}"
    ),
    "vague": r"recently|lately|these\s+days",
    "ago": rf"(?P<count>{COUNT}|an?)\s+(?P<unit>{UNIT})\s+ago",
    "rolling": rf"(?:last|past|previous)\s+(?P<count>{COUNT})\s+(?P<unit>{UNIT})(?!\s+of\b)",
    "unit": (
        rf"(?:(?P<side>earlier|later)\s+|{PART})(?P<which>{WHICH})\s+"
        r"(?P<unit>week|month|quarter|year|weekend)(?!\s+of\b)"
    ),
    "day_month": (
        rf"{ON_WEEKDAY}(?:the\s+)?{DATE}(?P<of>\s+of)?\s+(?P<month>{MONTH})\b\.?{OF_YEAR}?"
    ),
    "month_day": (
        rf"{ON_WEEKDAY}(?P<month>{MONTH})\b\.?\s+(?:the\s+)?{DATE}"
        rf"(?:\s?[-–]\s?{LAST_DATE})?{OF_YEAR}?"
    ),
    "weekday": (
        rf"(?:(?P<which>last|past|previous|this|next|coming)\s+)?(?P<weekday>{WEEKDAY})"
        rf"(?!\s+{HOURS}s\b)(?:\s+{HOURS})?"
        r"(?:\s+(?:of\s+)?(?P<week>last|this|next)\s+week)?"
    ),
    "month": rf"{PART}(?:(?P<which>last|this|next)\s+)?(?P<month>{MONTH})(?:\.?{OF_YEAR})?",
    "quarter": (
        rf"(?:q(?P<number>[1-4])|(?P<ordinal>{'|'.join(ORDINALS)})\s+quarter)"
        rf"(?:{OF_YEAR}|/(?P<slashed>{YEAR}))?(?!\s+of\b)"
    ),
    "year_quarter": rf"(?P<year>{YEAR})[\s-]?q(?P<number>[1-4])",
    "year": rf"{PART}(?P<word>(?:the\s+)?year\s+)?(?P<year>{YEAR})",
}

# What looks like a time and is none; found first, and passed over.
NO_TIMES = rf"""
    "[^"]*" | `[^`]*` | \b(?:
    (?:every|each|black|cyber|good|super|ash|palm|easter|holy|maundy|shrove)\s+{WEEKDAY}
    | april\s+fools? | usa\s+today | (?:today|tonight)\s+show
    | (?:least|most)\s+recently | recently\s+used
    | half\s+an?\s+{UNIT}\s+ago
    | (?:(?:more|less|longer|fewer)\s+than|over|at\s+least)\s+(?:{COUNT}|an?)\s+{UNIT}\s+ago
    )\b
"""
# A name stands alone: not in a path, a version, an identifier, an option, a call or an amount.
BEGIN = r"\b(?<![\w./\\@#:=$€£+~'’-])(?<![0-9],)"
END = r"(?:['’]s)?(?!\w|['’]\w|\.+\w|[-/\\@:=+~][\w/\\]|\()"

# The words before a name, and what they ask for. `from` opens the end as `since` does.
LEADS = {
    "before": r"before|prior\s+to|earlier\s+than|older\s+than",
    "after": r"after|later\s+than|newer\s+than",
    "since": r"on\s+or\s+after|since|starting(?:\s+(?:from|in|on))?|no\s+earlier\s+than",
    "until": r"on\s+or\s+before|up\s+until|up\s+to|until|till|by|no\s+later\s+than",
    "between": r"between",
    "week": r"(?:(?:in|during|for)\s+)?(?:the\s+)?week(?:end)?\s+of",
    "hint": r"as\s+of|around|about|for",
    "in": r"in|on|from|during|within|throughout",
    "of": r"of|over|at",
}
ANY_LEAD = "|".join(f"(?P<{role}>{words})" for role, words in LEADS.items())
LEAD = rf"(?<![\w-])(?:{ANY_LEAD})\s+(?:the\s+)?$"
# At most four words, the last of them one that ties the date to them: "before the release of …".
# With no such word it is not clear what is before what, as in "after work today".
FAR_LEAD = (
    r"(?<![\w-])(?P<role>before|after|since)(?:\s+(?!(?:and|or|but|until|till)\b)[\w'’-]+){1,3}"
    r"\s+(?P<link>of|on|in|from|at|dated)\s+(?:the\s+)?$"
)
# Longer than any lead; only so much of the query is looked at before a name.
LEAD_LENGTH = 100
JOIN = r",?\s+(?P<word>to|through|until|till|and)\s+(?:the\s+)?|\s+(?:-|\.\.)\s+|\s*[–—…]\s*"

# Between the members of a list.
COMMA = r"\s?,\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+"

# After "this May", a word that shows a verb in a title.
MAY_IS_A_VERB = r"\s+(?:not|be|have|also|only|well)\b"
# After "may" in lower case, what shows the month: people who "log in may see" an error.
MAY_IS_A_MONTH = (
    r"\s*(?:$|[,.;:!?)])|\s+(?:about|for|on|and|or|with|to|regarding|at|by|from|we|i|they|the|what|who"
    r"|how|did|was|were)\b"
)
AFTER_MARCH = (
    rf"\s+(?:on|into|for|against|forward|towards?|with|of|past|(?:to|through)\b(?!\s+{MONTH}\b))\b"
)
# Months after these prepositions, in lower case, are not verbs.
MAY_LEADS = frozenset("in during since until till".split())
ORDINARY_MONTHS = frozenset("mar sep oct dec".split())
ORDINARY_WEEKDAYS = frozenset("wed sat sun".split())
NAMES_OF_PEOPLE = frozenset("april may june jan".split())
# What numbers count or measure rather more often than years describe it.
COUNTED = r"""\s*(?:%|×)|\s+(?:x|[kmg]i?b|ms|px|kg|km|users?|rows?|lines?|requests?|tokens?
    |items?|files?|bytes?|bits?|records?|entries|people|times|customers?|words?|char(?:acter)?s?
    |points?|messages?|documents?|docs|memories|events?|steps?|samples?|tests?|hours?|days?|weeks?
    |months?|years?|minutes?|seconds?|calls?|nodes?|pages?|queries|vectors?|dimensions?|threads?
    |connections?|workers?|dollars?|euros?|units?|commits?|errors?|objects?|images?|pixels|jobs?
    |more|or\s+(?:more|less))\b"""
# A number that a number follows is part of a list or a span of numbers, unless both are years.
NUMBER_NEXT = rf"\s*(?:(?:to|and|or|x|by)\b|[-–,/*+×])?\s*(?!{YEAR}\b)[0-9]"
BEFORE_NUMBERS = (
    r"\b(?:ports?|lines?|pages?|room|error|code|issue|pr|ticket|rfc|server|office|windows|studio"
    r"|exchange|excel|http|status|id|number|no|version|build|top|first|last|limit|max|min|about|over"
    r"|under|than|only|exactly|nearly|almost|roughly|size|width|height|cve|iso|pep"
    r"|(?<!(?:19|20)[0-9]{2} )to)\.?\s+$"
)
AFTER_QUARTER = r":|\s+(?:quant\w*|gguf|ggml|weights|model)\b"

# Most queries name no time: this finds it out at once.
HINT = re.compile(
    r"\b(?:(?:19|20|21)[0-9][0-9]|q[1-4]|today|tonight|tomorrow|yesterday|recently|lately|these|this|last"
    r"|past|previous|current|next|ago|quarter|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    r"|mon|tue|wed|thu|fri|sat|sun)",
    re.IGNORECASE | re.ASCII,
)


@cache
def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """A piece of the grammar, compiled when a query first needs it."""
    return re.compile(source, re.IGNORECASE | flags)


@cache
def names() -> re.Pattern[str]:
    """All names of times in one pattern; the group that fits tells the rule."""
    nameless = {rule: re.sub(r"\(\?P<\w+>", "(?:", source) for rule, source in RULES.items()}
    rules = "|".join(f"(?P<{rule}>{source})" for rule, source in nameless.items())
    return re.compile(rf"(?ax:{NO_TIMES})|{BEGIN}(?a:{rules}){END}", re.IGNORECASE)


def periods(text: str, now: datetime) -> tuple[Period, ...]:
    """The times that a query names, left to right."""
    if not HINT.search(text):
        return ()
    today = now.astimezone(UTC)
    found: list[Period | None] = []
    waiting: Name | None = None
    for name in _names(text, today):
        if waiting and _joined(text, waiting, name):
            found.append(_range(text, waiting, name, today))
            waiting = None
            continue
        if waiting and not _belongs(text, waiting, name):
            found.append(_alone(text, waiting, today))
        listed = waiting is not None and _listed(text, waiting, name)
        waiting = name._replace(listed=listed)
    found.append(_alone(text, waiting, today) if waiting else None)
    return tuple(period for period in found if period)


def understood(period: Period) -> str:
    """How the words were read, for people: `last week = 2026-11-02 … 2026-11-08`."""
    if period.start and period.end:
        first, last = _shown(period.start), _shown_end(period.end)
        meant = first if first == last else f"{first} … {last}"
    elif period.start:
        meant = f"since {_shown(period.start)}"
    elif period.end:
        meant = f"before {_shown(period.end)}"
    else:
        meant = "any time"
    return meant if meant == period.said else f"{period.said} = {meant}"


def without(text: str, periods: Iterable[Period]) -> str:
    """The query less the words that name these times.

    It is never empty: where no word that carries meaning would be left, it is the text as it was.
    """
    kept, place = [], 0
    for period in sorted(periods, key=lambda period: period.span):
        kept.append(text[place : period.span.start])
        place = max(place, period.span.end)
    if not kept:
        return text
    rest = re.sub(r"\(\s+\)", "", " ".join((*kept, text[place:])))
    tidy = re.sub(r"\s+([,.;:!?)]+)(?=\s|$)", r"\1", " ".join(rest.split()))
    tidy = re.sub(r"^[,.;:!?)]+(?:\s+|$)", "", tidy).rstrip(" ,;:(")
    return tidy if keywords(tidy) else text


# Finding the names, and the words beside them.


def _names(text: str, now: datetime) -> Iterator[Name]:
    """The names of times that are meant as such. What a name has taken is no other name's lead."""
    free = 0
    for found in names().finditer(text):
        rule = found.lastgroup
        if rule:
            start, end = found.span(rule)
            match = pattern(RULES[rule], re.ASCII).fullmatch(text, start, end)
            lead = _lead(text, free, start)
            if match:
                name = Name(rule, match, start, found.end(), lead)
                if MEANT.get(rule, _always)(text, name, now):
                    yield name
        free = found.end()


def _lead(text: str, free: int, start: int) -> Lead | None:
    """The preposition before a name, right before it or with the words it governs between."""
    begin = max(free, start - LEAD_LENGTH)
    if far := pattern(FAR_LEAD).search(text, begin, start):
        return Lead("", far["role"].lower(), far.start(), far.start("link"))
    if near := pattern(LEAD).search(text, begin, start):
        role = near.lastgroup or ""
        return Lead(" ".join(near[role].lower().split()), role, near.start(), near.start())
    return None


def _joined(text: str, first: Name, second: Name) -> bool:
    """Whether two names are the ends of one period: `from … to …`, `between … and …`, `… to …`."""
    join = pattern(JOIN).fullmatch(text, first.end, second.start)
    if not join or "vague" in (first.rule, second.rule):
        return False
    role = first.lead.role if first.lead else ""
    if (join["word"] or "").lower() == "and":
        return role == "between"
    return role not in ("before", "after", "until")


def _belongs(text: str, first: Name, second: Name) -> bool:
    """Whether a weekday only tells a day of the time that follows: `the Monday two weeks ago`."""
    bare = first.rule == "weekday" and not first.has("which", "week")
    return bare and text[first.end : second.start].isspace()


def _listed(text: str, first: Name, second: Name) -> bool:
    """Whether a bare name continues a list, as in `in 2008, 2009 and 2010`: all are meant alike."""
    begun = first.listed or (first.lead is not None and first.lead.role == "in")
    alike = first.rule == second.rule and second.rule in BARE and second.lead is None
    return begun and alike and pattern(COMMA).fullmatch(text, first.end, second.start) is not None


# What the words beside a name make of it.


def _alone(text: str, name: Name, now: datetime) -> Period | None:
    """The period that one name bounds, together with its lead."""
    reading = _read(name, now)
    role = name.lead.role if name.lead else ""
    if not reading or role == "between":
        return None
    if name.rule == "vague" and role in ("before", "after", "until"):
        return None  # "until recently" is a past without dates
    start, end = _bounds(reading, role)
    return _period(text, name, name.end, start, end, _is_exact(name, reading))


def _range(text: str, first: Name, last: Name, now: datetime) -> Period | None:
    """The period from the one name to the other, both included.

    A name without a year or a week is the latest before the other one: `October to February 2026`
    begins in 2025. An end before the start is a slip, and not read.
    """
    ending = _read(last, now)
    if not ending:
        return None
    floats = first.rule in FLOATING and not first.has("year", "slashed", "which", "week")
    beginning = _read(first, ending.end - MICROSECOND if floats else now)
    if not beginning or beginning.start >= ending.end:
        return None
    hint = first.lead is not None and first.lead.role == "hint"
    return _period(text, first, last.end, beginning.start, ending.end, not hint)


def _period(
    text: str, name: Name, stop: int, start: datetime | None, end: datetime | None, exact: bool
) -> Period:
    said = name.lead.start if name.lead else name.start
    begin = name.lead.span_start if name.lead else name.start
    return Period(text[said:stop], Span(begin, stop), start, end, exact)


def _bounds(reading: Reading, role: str) -> tuple[datetime | None, datetime | None]:
    """The start and the end that a preposition leaves of a reading; None for an open one."""
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
        monday = _monday(start)
        return monday, monday + WEEK
    return start, end


def _is_exact(name: Name, reading: Reading) -> bool:
    """Whether the time is bounded on purpose.

    `by` and `from` come before people as well as before months; there June is a hint.
    """
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


# Whether a word that has other meanings is meant as a time.


def _always(text: str, name: Name, now: datetime) -> bool:
    return True


def _means_month(text: str, name: Name, now: datetime) -> bool:
    word = name.match["month"]
    if word.lower() == "may":
        return _means_may(text, name)
    if name.has("day", "year", "which", "part"):
        return True
    if len(word) < 4 or word.lower() == "sept":
        return name.lead is not None and (word[0].isupper() or word not in ORDINARY_MONTHS)
    if name.lead:
        return True
    if word.lower() == "march":
        return word[0].isupper() and not pattern(AFTER_MARCH).match(text, name.end)
    return not (word.lower() in NAMES_OF_PEOPLE and text[name.end - 1] == "s")  # "June's notes"


def _means_may(text: str, name: Name) -> bool:
    """In lower case `may` is a verb, unless what stands on both sides leaves no doubt."""
    counted = name.rule == "month_day" and name.match[0][-1].isalpha()  # "may 5th"
    if counted or name.has("year", "last_day", "of"):
        return True
    if name.match["month"][0].isupper():
        beside = name.has("day", "which", "part") or name.lead is not None
        return beside and not pattern(MAY_IS_A_VERB).match(text, name.end)
    lead = name.lead.words if name.lead else ""
    which = (name.match.groupdict().get("which") or "").lower()
    before = lead in MAY_LEADS or which == "last" or name.has("part")
    return before and pattern(MAY_IS_A_MONTH).match(text, name.end) is not None


def _means_weekday(text: str, name: Name, now: datetime) -> bool:
    """Full names always; short ones with a capital, and words such as `sun` only after `last`."""
    word = name.match["weekday"]
    if word.lower().endswith("day"):
        return True
    if word.lower() in ORDINARY_WEEKDAYS:
        return word[0].isupper() and name.has("which", "week")
    return name.has("which", "week") or (word[0].isupper() and name.lead is not None)


def _means_year(text: str, name: Name, now: datetime) -> bool:
    """A number is a year where nothing else is counted, and alone only if it is a likely one."""
    if name.has("word", "part"):
        return True
    if pattern(COUNTED, re.VERBOSE).match(text, name.end):
        return False
    if pattern(NUMBER_NEXT).match(text, name.end):
        return False
    likely = FIRST_BARE_YEAR <= int(name.match["year"]) <= now.year + 1
    if name.lead and name.lead.words not in ("by", "of", "over", "at", "for", "about", "around"):
        return name.lead.words != "on"
    if name.lead:
        return likely and name.lead.words not in ("over", "about", "at")
    numbered = pattern(BEFORE_NUMBERS).search(text, max(0, name.start - LEAD_LENGTH), name.start)
    return likely and int(name.match["year"]) != 2000 and not numbered


def _means_quarter(text: str, name: Name, now: datetime) -> bool:
    """Not the first question of a list, nor a model in four bits."""
    return name.has("year", "slashed") or not pattern(AFTER_QUARTER).match(text, name.end)


MEANT: dict[str, Callable[[str, Name, datetime], bool]] = {
    "day_month": _means_month,
    "month_day": _means_month,
    "weekday": _means_weekday,
    "month": _means_month,
    "quarter": _means_quarter,
    "year": _means_year,
}
# Names that come round again, and so lie before the other end of their range.
FLOATING = frozenset(("day_month", "month_day", "weekday", "month", "quarter"))
# Names that are hints alone, and bounds after `in` or `on`.
BARE = frozenset(("weekday", "month", "quarter", "year"))


# What each rule's names stand for.


def _read(name: Name, now: datetime) -> Reading | None:
    """The time that a name stands for; None for one that cannot be, such as 31 February."""
    try:
        return READERS[name.rule](name.match, now)
    except (ValueError, OverflowError):
        return None


def _iso_day(match: re.Match[str], now: datetime) -> Reading:
    year, month, day = (int(number) for number in re.findall("[0-9]+", match[0]))
    return _day(datetime(year, month, day, tzinfo=UTC))


def _iso_month(match: re.Match[str], now: datetime) -> Reading | None:
    year, month = (int(number) for number in match[0].split("-"))
    if month == (year + 1) % 100:
        return None  # 2003-04 is a season
    first = datetime(year, month, 1, tzinfo=UTC)
    return Reading(first, _month(year, month + 1))


def _near(match: re.Match[str], now: datetime) -> Reading:
    """The days around today; the hours of a day are not told apart, as clocks differ."""
    days = 0
    if match["yesterday"] or match["last"]:
        days = -2 if match["before"] else -1
    elif match["tomorrow"]:
        days = 2 if match["after"] else 1
    return _day(_midnight(now) + days * DAY)


def _vague(match: re.Match[str], now: datetime) -> Reading:
    return _back(RECENT_DAYS, "day", now)._replace(exact=False)


def _ago(match: re.Match[str], now: datetime) -> Reading:
    """The day, week, month or year so long ago; for hours, one hour to either side."""
    count, loose = _count(match["count"])
    unit = match["unit"].lower().rstrip("s")
    early, late = count + loose, max(count - loose, 0)
    if unit == "hour":
        return Reading(now - (early + 1) * HOUR, now - max(late - 1, 0) * HOUR, not loose)
    return Reading(_unit(unit, -early, now).start, _unit(unit, -late, now).end, not loose)


def _rolling(match: re.Match[str], now: datetime) -> Reading:
    count, loose = _count(match["count"])
    return _back(count, match["unit"].lower().rstrip("s"), now)._replace(exact=not loose)


def _relative(match: re.Match[str], now: datetime) -> Reading:
    """`last week` is the calendar week; `past week` and `the last week` end today."""
    which, unit = " ".join(match["which"].lower().split()), match["unit"].lower()
    if which in ("past", "this past", "the last") and unit != "weekend":
        return _part(match["part"], _back(1, unit, now))
    shift = {"this": 0, "current": 0, "next": 1}.get(which, -1)
    if unit == "weekend" and which in ("past", "this past", "the last"):
        shift = 0 if now.weekday() >= SATURDAY else -1
    whole = _unit(unit, shift, now)
    if match["side"] and shift == 0:
        today = _day(_midnight(now))
        if match["side"].lower() == "earlier":
            return Reading(min(whole.start, today.start), today.end)
        return Reading(max(whole.start, today.start), whole.end)
    return _part(match["part"], whole)


def _date(match: re.Match[str], now: datetime) -> Reading | None:
    """A day of a month, or a few of them; without a year, the latest that has begun."""
    parts = match.groupdict()
    month, day = _month_number(match["month"]), int(match["day"])
    last = int(parts.get("last_day") or day)
    years = [_year_of(match["year"], now)] if match["year"] else range(now.year, now.year - 9, -1)
    for year in years:  # nine of them hold a 29 February
        if day <= last <= (_month(year, month + 1) - _month(year, month)).days:
            first = datetime(year, month, day, tzinfo=UTC)
            if match["year"] or first <= now:
                return Reading(first, first + (last - day + 1) * DAY)
    return None


def _weekday(match: re.Match[str], now: datetime) -> Reading:
    """The latest such day before today; `this` may be today, `next` and `coming` lie ahead."""
    number = WEEKDAYS.index(match["weekday"][:3].lower())
    which, today = (match["which"] or "").lower(), _midnight(now)
    if match["week"]:
        weeks = {"last": -1, "this": 0, "next": 1}[match["week"].lower()]
        return _day(_monday(now) + weeks * WEEK + number * DAY)
    if which in ("next", "coming"):
        return _day(today + ((number - today.weekday() - 1) % 7 + 1) * DAY)
    ago = (today.weekday() - number) % 7
    same = 0 if which == "this" else 7
    return _day(today - (ago or same) * DAY, exact=bool(which))


def _named_month(match: re.Match[str], now: datetime) -> Reading:
    """A month; without a year, the latest that has begun. `last` is not the current month."""
    month, which = _month_number(match["month"]), (match["which"] or "").lower()
    if match["year"]:
        year = _year_of(match["year"], now)
    elif which == "this":
        year = now.year
    elif which == "next":
        year = now.year + (month <= now.month)
    else:
        year = now.year - (month > now.month or (which == "last" and month == now.month))
    whole = Reading(_month(year, month), _month(year, month + 1), bool(match["year"] or which))
    return _part(match["part"], whole)


def _quarter(match: re.Match[str], now: datetime) -> Reading:
    """A quarter of a year; without a year, the latest that has begun."""
    parts = match.groupdict()
    number = int(parts["number"] or ORDINALS.index(match["ordinal"].lower()) % 4 + 1)
    said = parts["year"] or parts.get("slashed")
    year = _year_of(said, now) if said else now.year - (number > (now.month + 2) // 3)
    return Reading(_month(year, number * 3 - 2), _month(year, number * 3 + 1), bool(said))


def _year(match: re.Match[str], now: datetime) -> Reading:
    year = int(match["year"])
    return _part(match["part"], Reading(_month(year, 1), _month(year, 13), exact=False))


READERS: dict[str, Callable[[re.Match[str], datetime], Reading | None]] = {
    "iso_day": _iso_day,
    "iso_month": _iso_month,
    "near": _near,
    "vague": _vague,
    "ago": _ago,
    "rolling": _rolling,
    "unit": _relative,
    "day_month": _date,
    "month_day": _date,
    "weekday": _weekday,
    "month": _named_month,
    "quarter": _quarter,
    "year_quarter": _quarter,
    "year": _year,
}


# Calendar arithmetic, in UTC. Weeks begin on Monday.


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _monday(moment: datetime) -> datetime:
    return _midnight(moment) - moment.weekday() * DAY


def _day(midnight: datetime, exact: bool = True) -> Reading:
    return Reading(midnight, midnight + DAY, exact)


def _month(year: int, month: int) -> datetime:
    """The first of a month; months below 1 and above 12 are those of other years."""
    years, index = divmod(month - 1, 12)
    return datetime(year + years, index + 1, 1, tzinfo=UTC)


def _unit(unit: str, shift: int, now: datetime) -> Reading:
    """The calendar unit that holds now, or one so many units later."""
    if unit == "day":
        return _day(_midnight(now) + shift * DAY)
    if unit in ("week", "weekend"):
        monday = _monday(now) + shift * WEEK
        return Reading(monday if unit == "week" else monday + SATURDAY * DAY, monday + WEEK)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    first = (now.month - 1) // months * months + 1 + shift * months
    return Reading(_month(now.year, first), _month(now.year, first + months))


def _back(count: int, unit: str, now: datetime) -> Reading:
    """So many units back from today, with today; a day that a month lacks is its last."""
    end = _midnight(now) + DAY
    if unit == "hour":
        return Reading(now - count * HOUR, end)
    if unit in ("day", "week"):
        return Reading(_midnight(now) - count * (WEEK if unit == "week" else DAY), end)
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    first, after = _month(now.year, now.month - months), _month(now.year, now.month - months + 1)
    return Reading(min(first + (now.day - 1) * DAY, after - DAY), end)


def _part(part: str | None, whole: Reading) -> Reading:
    """The early, middle or late third of a period; of a year four months, else whole days."""
    if not part:
        return whole
    start, end = whole.start, whole.end
    days = (end - start).days
    if days < 3:
        return whole._replace(exact=False)  # a weekend has no thirds
    third = days // 3 * DAY
    cuts = (start + third, start + 2 * third)
    if days > 360 and start.day == 1:
        cuts = (_month(start.year, start.month + 4), _month(start.year, start.month + 8))
    word = part.lower().split()[0]
    if word in ("early", "beginning", "start"):
        return Reading(start, cuts[0], False, None if word == "early" else start)
    if word in ("mid", "middle"):
        return Reading(cuts[0], cuts[1], False)
    return Reading(cuts[1], end, False, None if word == "late" else end)


def _count(words: str) -> tuple[int, int]:
    """How many, and how far off that may be."""
    word = words.lower().removeprefix("a ").split()[0]
    if word in LOOSE:
        return LOOSE[word], 1
    if word in NUMBERS:
        return NUMBERS.index(word) + 1, 0
    return 1 if word in ("a", "an") else int(word), 0


def _month_number(word: str) -> int:
    return MONTHS.index(word[:3].lower()) + 1


def _year_of(said: str, now: datetime) -> int:
    if not said.isdigit():
        return now.year - said.lower().startswith("last")
    if not re.fullmatch(YEAR, said):
        raise ValueError(said)
    return int(said)


def _shown(moment: datetime) -> str:
    """The date, with the time of day where that is not midnight."""
    whole = moment == _midnight(moment)
    return moment.date().isoformat() if whole else moment.isoformat(" ", "minutes")[:16]


def _shown_end(end: datetime) -> str:
    """The last day that belongs to a period, or the time when it ends."""
    return _shown(end - DAY if end == _midnight(end) else end)
