"""The patterns of names of times in a query, and of the words around them."""

from __future__ import annotations

import re
from functools import cache

# Names are case-insensitive and ASCII: this is English only.

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "mon tue wed thu fri sat sun".split()
NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # northern, by months
ORDINALS = "first second third fourth 1st 2nd 3rd 4th".split()
# How many "a couple" and "a few" are; "ago" takes them with one more and one less.
LOOSE = {"couple": 2, "few": 3}
# The days that "recently" covers in people's use.
RECENT_DAYS = 30
# The first number that alone is a year; lower ones are more often counts, such as 1920.
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
# Any year, so that "February 1861" is not last February; the reader checks the range.
OF_YEAR = r"(?:(?:\s?,|\s+of)?\s+(?P<year>[0-9]{4}|(?:last|this)\s+year))"
ON_WEEKDAY = rf"(?:{WEEKDAY},?\s+)?"

# A quick check, since most queries name no time.
HINT = re.compile(
    r"\b(?:(?:19|20|21)[0-9][0-9]|q[1-4]|today|tonight|tomorrow|yesterday|recently|lately|these|this|last"
    r"|past|previous|current|next|ago|quarter|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    r"|mon|tue|wed|thu|fri|sat|sun|spring|summer|autumn|fall|winter)",
    re.IGNORECASE | re.ASCII,
)

# The names of times; the first rule that matches counts.
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
    "season": (
        r"(?:(?P<which>last|this|next)\s+)?(?P<season>spring|summer|autumn|fall|winter)"
        rf"(?:{OF_YEAR})?"
    ),
    "quarter": (
        rf"(?:q(?P<number>[1-4])|(?P<ordinal>{'|'.join(ORDINALS)})\s+quarter)"
        rf"(?:{OF_YEAR}|/(?P<slashed>{YEAR}))?(?!\s+of\b)"
    ),
    "year_quarter": rf"(?P<year>{YEAR})[\s-]?q(?P<number>[1-4])",
    "year": rf"{PART}(?P<word>(?:the\s+)?year\s+)?(?P<year>{YEAR})",
}

# Phrases that look like a time; matched first and skipped.
NO_TIMES = rf"""
    "[^"]*" | `[^`]*` | \b(?:
    (?:every|each|black|cyber|good|super|ash|palm|easter|holy|maundy|shrove)\s+{WEEKDAY}
    | april\s+fools? | usa\s+today | (?:today|tonight)\s+show
    | (?:least|most)\s+recently | recently\s+used
    | half\s+an?\s+{UNIT}\s+ago
    | (?:(?:more|less|longer|fewer)\s+than|over|at\s+least)\s+(?:{COUNT}|an?)\s+{UNIT}\s+ago
    )\b
"""
# A name is not part of a path, a version, an identifier, an option, a call or an amount.
BEGIN = r"\b(?<![\w./\\@#:=$€£+~'’-])(?<![0-9],)"
END = r"(?:['’]s)?(?!\w|['’]\w|\.+\w|[-/\\@:=+~][\w/\\]|\()"

# The prepositions of names, by role.
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
# A preposition with up to three words, then one that links the date: "before the release of …".
# Without such a link the date may be independent, as in "after work today".
FAR_LEAD = (
    r"(?<![\w-])(?P<role>before|after|since)(?:\s+(?!(?:and|or|but|until|till)\b)[\w'’-]+){1,3}"
    r"\s+(?P<link>of|on|in|from|at|dated)\s+(?:the\s+)?$"
)
# Characters before a name that are searched for its lead; no lead is longer.
LEAD_LENGTH = 100
JOIN = r",?\s+(?P<word>to|through|until|till|and)\s+(?:the\s+)?|\s+(?:-|\.\.)\s+|\s*[–—…]\s*"

# Between the members of a list.
COMMA = r"\s?,\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+"

# A word after "May" that shows that it is the verb, in a title.
MAY_IS_A_VERB = r"\s+(?:not|be|have|also|only|well)\b"
# A word after "may" in lower case that shows that it is the month: people who "log in may see".
MAY_IS_A_MONTH = (
    r"\s*(?:$|[,.;:!?)])|\s+(?:about|for|on|and|or|with|to|regarding|at|by|from|we|i|they|the|what|who"
    r"|how|did|was|were)\b"
)
AFTER_MARCH = (
    rf"\s+(?:on|into|for|against|forward|towards?|with|of|past|(?:to|through)\b(?!\s+{MONTH}\b))\b"
)
# Words before "May" that make it the end of a range: "between March and May".
MAY_ENDS = rf"{MONTH}(?:\s+[0-9]{{4}})?,?\s+(?:and|to|through|until|till)\s+$"
# After these prepositions "may" in lower case is no verb.
MAY_LEADS = frozenset("in during since until till".split())
ORDINARY_MONTHS = frozenset("mar sep oct dec".split())
ORDINARY_WEEKDAYS = frozenset("wed sat sun".split())
NAMES_OF_PEOPLE = frozenset("april may june jan".split())
# Nouns with which a number is a count or a measure, not a year.
COUNTED = r"""\s*(?:%|×)|\s+(?:x|[kmg]i?b|ms|px|kg|km|users?|rows?|lines?|requests?|tokens?
    |items?|files?|bytes?|bits?|records?|entries|people|times|customers?|words?|char(?:acter)?s?
    |points?|messages?|documents?|docs|memories|events?|steps?|samples?|tests?|hours?|days?|weeks?
    |months?|years?|minutes?|seconds?|calls?|nodes?|pages?|queries|vectors?|dimensions?|threads?
    |connections?|workers?|dollars?|euros?|units?|commits?|errors?|objects?|images?|pixels|jobs?
    |more|or\s+(?:more|less))\b"""
# A number before another number is in a list or range of numbers, unless both are years.
NUMBER_NEXT = rf"\s*(?:(?:to|and|or|x|by)\b|[-–,/*+×])?\s*(?!{YEAR}\b)[0-9]"
BEFORE_NUMBERS = (
    r"\b(?:ports?|lines?|pages?|room|error|code|issue|pr|ticket|rfc|server|office|windows|studio"
    r"|exchange|excel|http|status|id|number|no|version|build|top|first|last|limit|max|min|about|over"
    r"|under|than|only|exactly|nearly|almost|roughly|size|width|height|cve|iso|pep"
    r"|(?<!(?:19|20)[0-9]{2} )to)\.?\s+$"
)
# A season without "last" or a year must end the phrase: not "in Spring Boot".
AFTER_SEASON = r"\s*(?:$|[,.;:!?)])|\s+(?:about|for|on|and|or|with|regarding|at|by|from)\b"
AFTER_QUARTER = r":|\s+(?:quant\w*|gguf|ggml|weights|model)\b"


@cache
def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a piece of the grammar on first use."""
    return re.compile(source, re.IGNORECASE | flags)


@cache
def names() -> re.Pattern[str]:
    """Return one pattern of all names of times; the matching group is the rule."""
    nameless = {rule: re.sub(r"\(\?P<\w+>", "(?:", source) for rule, source in RULES.items()}
    rules = "|".join(f"(?P<{rule}>{source})" for rule, source in nameless.items())
    return re.compile(rf"(?ax:{NO_TIMES})|{BEGIN}(?a:{rules}){END}", re.IGNORECASE)
