"""Checks that an ambiguous word (`may`, `march`, `2024`) is meant as a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from recollect.query.time.calendar import TimeName
from recollect.query.time.grammar import (
    AFTER_MARCH,
    AFTER_QUARTER,
    AFTER_SEASON,
    BEFORE_NUMBERS,
    COUNTED,
    FIRST_BARE_YEAR,
    LEAD_LENGTH,
    MAY_ENDS,
    MAY_IS_A_MONTH,
    MAY_IS_A_VERB,
    MAY_LEADS,
    NAMES_OF_PEOPLE,
    NUMBER_NEXT,
    ORDINARY_MONTHS,
    ORDINARY_WEEKDAYS,
    pattern,
)


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
        beside = name.has("day", "which", "part") or name.lead is not None
        beside = beside or pattern(MAY_ENDS).search(text, 0, name.start) is not None
        return beside and not pattern(MAY_IS_A_VERB).match(text, name.end)
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
