"""The meaning of the names of times: for each rule of the grammar its interval, and for ambiguous
words (`may`, `march`, `2024`) if they are a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from recollect.query.time.calendar import (
    DAY,
    HOUR,
    SATURDAY,
    WEEK,
    Interval,
    TimeName,
    back_from,
    calendar_unit,
    first_of,
    midnight_of,
    monday_of,
    third_of,
    whole_day,
)
from recollect.query.time.grammar import (
    AFTER_MARCH,
    AFTER_QUARTER,
    AFTER_SEASON,
    BEFORE_NUMBERS,
    COUNTED,
    FIRST_BARE_YEAR,
    LEAD_LENGTH,
    LOOSE,
    MAY_ENDS,
    MAY_IS_A_MONTH,
    MAY_IS_A_VERB,
    MAY_LEADS,
    MONTHS,
    NAMES_OF_PEOPLE,
    NUMBER_NEXT,
    NUMBERS,
    ORDINALS,
    ORDINARY_MONTHS,
    ORDINARY_WEEKDAYS,
    RECENT_DAYS,
    SEASONS,
    WEEKDAYS,
    YEAR,
    pattern,
)


def interval_of(name: TimeName, now: datetime) -> Interval | None:
    """Return the time of a name; None for an impossible one, such as 31 February."""
    try:
        return READERS[name.rule](name.match, now)
    except (ValueError, OverflowError):
        return None


def _iso_day(match: re.Match[str], now: datetime) -> Interval:
    year, month, day = (int(number) for number in re.findall("[0-9]+", match[0]))
    return whole_day(datetime(year, month, day, tzinfo=UTC))


def _iso_month(match: re.Match[str], now: datetime) -> Interval | None:
    year, month = (int(number) for number in match[0].split("-"))
    if month == (year + 1) % 100:
        return None  # 2003-04 is a season
    first = datetime(year, month, 1, tzinfo=UTC)
    return Interval(first, first_of(year, month + 1))


def _near(match: re.Match[str], now: datetime) -> Interval:
    """Return a day around today; parts of the day are ignored."""
    days = 0
    if match["yesterday"] or match["last"]:
        days = -2 if match["before"] else -1
    elif match["tomorrow"]:
        days = 2 if match["after"] else 1
    return whole_day(midnight_of(now) + days * DAY)


def _vague(match: re.Match[str], now: datetime) -> Interval:
    return back_from(RECENT_DAYS, "day", now)._replace(exact=False)


def _ago(match: re.Match[str], now: datetime) -> Interval:
    """Return the day, week, month or year that long ago; for hours, one hour to either side."""
    count, loose = _count(match["count"])
    unit = match["unit"].lower().rstrip("s")
    early, late = count + loose, max(count - loose, 0)
    if unit == "hour":
        return Interval(now - (early + 1) * HOUR, now - max(late - 1, 0) * HOUR, not loose)
    return Interval(
        calendar_unit(unit, -early, now).start, calendar_unit(unit, -late, now).end, not loose
    )


def _rolling(match: re.Match[str], now: datetime) -> Interval:
    count, loose = _count(match["count"])
    return back_from(count, match["unit"].lower().rstrip("s"), now)._replace(exact=not loose)


def _relative(match: re.Match[str], now: datetime) -> Interval:
    """Return a unit such as `last week`, the calendar week; `past week` and `the last week` end
    today."""
    which, unit = " ".join(match["which"].lower().split()), match["unit"].lower()
    if which in ("past", "this past", "the last") and unit != "weekend":
        return third_of(match["part"], back_from(1, unit, now))
    shift = {"this": 0, "current": 0, "next": 1}.get(which, -1)
    if unit == "weekend" and which in ("past", "this past", "the last"):
        shift = 0 if now.weekday() >= SATURDAY else -1
    whole = calendar_unit(unit, shift, now)
    if match["side"] and shift == 0:
        today = whole_day(midnight_of(now))
        if match["side"].lower() == "earlier":
            return Interval(min(whole.start, today.start), today.end)
        return Interval(max(whole.start, today.start), whole.end)
    return third_of(match["part"], whole)


def _date(match: re.Match[str], now: datetime) -> Interval | None:
    """Return a day of a month, or a range of days; without a year, the latest that has begun."""
    parts = match.groupdict()
    month, day = _month_number(match["month"]), int(match["day"])
    last = int(parts.get("last_day") or day)
    years = [_year_of(match["year"], now)] if match["year"] else range(now.year, now.year - 9, -1)
    for year in years:  # nine of them hold a 29 February
        if day <= last <= (first_of(year, month + 1) - first_of(year, month)).days:
            first = datetime(year, month, day, tzinfo=UTC)
            if match["year"] or first <= now:
                return Interval(first, first + (last - day + 1) * DAY)
    return None


def _weekday(match: re.Match[str], now: datetime) -> Interval:
    """Return the latest such day before today; `this` may be today, `next` and `coming` are in the
    future."""
    number = WEEKDAYS.index(match["weekday"][:3].lower())
    which, today = (match["which"] or "").lower(), midnight_of(now)
    if match["week"]:
        weeks = {"last": -1, "this": 0, "next": 1}[match["week"].lower()]
        return whole_day(monday_of(now) + weeks * WEEK + number * DAY)
    if which in ("next", "coming"):
        return whole_day(today + ((number - today.weekday() - 1) % 7 + 1) * DAY)
    ago = (today.weekday() - number) % 7
    same = 0 if which == "this" else 7
    return whole_day(today - (ago or same) * DAY, exact=bool(which))


def _named_month(match: re.Match[str], now: datetime) -> Interval:
    """Return a month; without a year, the latest that has begun. `last` is not the current
    month."""
    month, which = _month_number(match["month"]), (match["which"] or "").lower()
    if match["year"]:
        year = _year_of(match["year"], now)
    elif which == "this":
        year = now.year
    elif which == "next":
        year = now.year + (month <= now.month)
    else:
        year = now.year - (month > now.month or (which == "last" and month == now.month))
    whole = Interval(first_of(year, month), first_of(year, month + 1), bool(match["year"] or which))
    return third_of(match["part"], whole)


def _quarter(match: re.Match[str], now: datetime) -> Interval:
    """Return a quarter of a year; without a year, the latest that has begun."""
    parts = match.groupdict()
    number = int(parts["number"] or ORDINALS.index(match["ordinal"].lower()) % 4 + 1)
    words = parts["year"] or parts.get("slashed")
    year = _year_of(words, now) if words else now.year - (number > (now.month + 2) // 3)
    return Interval(first_of(year, number * 3 - 2), first_of(year, number * 3 + 1), bool(words))


def _season(match: re.Match[str], now: datetime) -> Interval:
    """Return three months; without a year, the latest that has begun. A winter has the year it
    begins in; `last` is not the current one."""
    month, which = SEASONS[match["season"].lower()], (match["which"] or "").lower()
    year = _year_of(match["year"], now) if match["year"] else now.year - (month > now.month)
    if not match["year"] and which in ("last", "next"):
        current = first_of(year, month) <= now < first_of(year, month + 3)
        year += (which == "next") - (which == "last" and current)
    return Interval(first_of(year, month), first_of(year, month + 3))


def _year(match: re.Match[str], now: datetime) -> Interval:
    year = int(match["year"])
    return third_of(match["part"], Interval(first_of(year, 1), first_of(year, 13), exact=False))


READERS: dict[str, Callable[[re.Match[str], datetime], Interval | None]] = {
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
    "season": _season,
    "quarter": _quarter,
    "year_quarter": _quarter,
    "year": _year,
}


def _count(words: str) -> tuple[int, int]:
    """Return the number, and how far off it may be."""
    word = words.lower().removeprefix("a ").split()[0]
    if word in LOOSE:
        return LOOSE[word], 1
    if word in NUMBERS:
        return NUMBERS.index(word) + 1, 0
    return 1 if word in ("a", "an") else int(word), 0


def _month_number(word: str) -> int:
    return MONTHS.index(word[:3].lower()) + 1


def _year_of(words: str, now: datetime) -> int:
    if not words.isdigit():
        return now.year - words.lower().startswith("last")
    if not re.fullmatch(YEAR, words):
        raise ValueError(words)
    return int(words)


def means_time(text: str, name: TimeName, now: datetime) -> bool:
    """Return True if the name is meant as a time; unambiguous names always are."""
    check = AMBIGUOUS.get(name.rule)
    return check is None or check(text, name, now)


def _means_month(text: str, name: TimeName, now: datetime) -> bool:
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


def _means_may(text: str, name: TimeName) -> bool:
    """Return True if the word is the month. In lower case it is the verb, unless the words around
    leave no doubt."""
    counted = name.rule == "month_day" and name.match[0][-1].isalpha()  # "may 5th"
    if counted or name.has("year", "last_day", "of"):
        return True
    if name.match["month"][0].isupper():
        is_month = name.has("day", "which", "part") or name.lead is not None
        is_month = is_month or pattern(MAY_ENDS).search(text, 0, name.start) is not None
        return is_month and not pattern(MAY_IS_A_VERB).match(text, name.end)
    lead = name.lead.words if name.lead else ""
    which = (name.match.groupdict().get("which") or "").lower()
    before = lead in MAY_LEADS or which == "last" or name.has("part")
    return before and pattern(MAY_IS_A_MONTH).match(text, name.end) is not None


def _means_weekday(text: str, name: TimeName, now: datetime) -> bool:
    """Return True for full names, for short ones with a capital, and for words such as `sun` only
    after `last`."""
    word = name.match["weekday"]
    if word.lower().endswith("day"):
        return True
    if word.lower() in ORDINARY_WEEKDAYS:
        return word[0].isupper() and name.has("which", "week")
    return name.has("which", "week") or (word[0].isupper() and name.lead is not None)


def _means_year(text: str, name: TimeName, now: datetime) -> bool:
    """Return True if the number counts nothing; alone it must be a likely year."""
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


def _means_quarter(text: str, name: TimeName, now: datetime) -> bool:
    """Return False for the first question of a list, and for a model in four bits."""
    return name.has("year", "slashed") or not pattern(AFTER_QUARTER).match(text, name.end)


def _means_season(text: str, name: TimeName, now: datetime) -> bool:
    """Return True with a year or `last`, or after a preposition if nothing follows that it could
    name."""
    if name.has("year", "which"):
        return True
    if name.match["season"].lower() == "fall":
        return False
    led = name.lead is not None and name.lead.role not in ("hint", "of")
    return led and pattern(AFTER_SEASON).match(text, name.end) is not None


AMBIGUOUS: dict[str, Callable[[str, TimeName, datetime], bool]] = {
    "day_month": _means_month,
    "month_day": _means_month,
    "weekday": _means_weekday,
    "month": _means_month,
    "season": _means_season,
    "quarter": _means_quarter,
    "year": _means_year,
}
