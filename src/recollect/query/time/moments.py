"""Moments as people and programs write them: in options, fields of a memory, request parameters and
forms."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from recollect.errors import UserError
from recollect.query.time.grammar import NUMBERS
from recollect.query.time.periods import periods
from recollect.query.time.translation import translate
from recollect.times import (
    DURATION,
    MICROSECOND,
    duration_of,
    from_clock,
    not_a_time,
    on_clock,
    out_of_range,
    parse_iso,
    shift,
)

# Fields in the future: `7d` and `friday` count forwards, elsewhere back.
AHEAD = frozenset(("valid_from", "valid_until", "expires"))
# Fields that end something: a day, a week or a month means its end, elsewhere its beginning.
ENDS = frozenset(("until", "valid_until", "expires"))
SPAN = rf"(?P<later>in )?{DURATION}(?:(?P<ago> ago)|(?P<from_now> from now))?"
# `friday 17:00`, `yesterday at 9pm`, `10:30`.
CLOCK = (
    r"(?:(?P<day>(?!at ).*?\S) )?(?:at )?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap]m)?"
)
LONGEST_DAY = timedelta(hours=25)  # when clocks are put back
LONGEST = 60  # characters of a time in words


def read_time(text: str, now: datetime, name: str, *, clock: bool = True) -> datetime:
    """Return the moment in UTC that `text` names: a date, an ISO 8601 time, a duration (`7d`, `in 3
    days`, `10 minutes ago`) or words (`last week`, `friday 17:00`). Raise UserError for anything
    else.

    name: the field or parameter, for messages; it tells if the moment is in the future or ends
        something.
    clock: a date or time without a zone is in the user's zone; otherwise in UTC, as in files. Words
        are always about the user's days.
    """
    if moment := parse_iso(text, name, clock=clock):
        return moment
    words = " ".join(text.split()).lower()
    moment = _from_duration(words, now, text, name)
    if moment is None and len(words) <= LONGEST:
        moment = _in_words(words, now, text, name)
    if moment is None:
        raise not_a_time(text, name)
    return moment


def _from_duration(words: str, now: datetime, text: str, name: str) -> datetime | None:
    """Return the moment at a duration from now; None if the words are no duration."""
    if words == "now":
        return now
    if (found := re.fullmatch(SPAN, words)) is None:
        return None
    later = found["later"] or found["from_now"]
    if later and found["ago"]:
        return None
    forwards = bool(later) or (name in AHEAD and not found["ago"])
    try:
        return now + duration_of(found) * (1 if forwards else -1)
    except OverflowError as error:
        raise out_of_range(text, name) from error


def _in_words(words: str, now: datetime, text: str, name: str) -> datetime | None:
    """Return the moment that words name, in any language of the grammar; None if they name none."""
    english = translate(words)
    words = english.text.lower() if english else words
    number = rf"\b(an?|{'|'.join(NUMBERS)})\b"
    digits = re.sub(
        number, lambda each: str(NUMBERS.index(each[0]) + 1 if each[0] in NUMBERS else 1), words
    )
    if (moment := _from_duration(digits, now, text, name)) is not None:
        return moment
    if (period := _nearest_period(words, now, name)) is None:
        return _on_clock(words, now, name)
    return shift(period[1], -MICROSECOND) if name in ENDS else period[0]


def _on_clock(words: str, now: datetime, name: str) -> datetime | None:
    """Return the moment of a day at an hour of the user's clock; None if no hour is named."""
    found = re.fullmatch(CLOCK, words)
    if found is None or not (found["minute"] or found["half"]):
        return None
    period = _nearest_period(found["day"] or "today", now, name)
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"] == "pm" else 0)
    if period is None or period[1] - period[0] > LONGEST_DAY or hour > 23 or minute > 59:
        return None
    return from_clock(on_clock(period[0]).replace(hour=hour, minute=minute))


def _nearest_period(words: str, now: datetime, name: str) -> tuple[datetime, datetime] | None:
    """Return the period that words name; the next one for a field in the future."""
    period = _period(words, now)
    if name in AHEAD and period and period[1] <= now:
        year = now.year
        later = f"next {words.removeprefix('this ')}", f"{words} {year}", f"{words} {year + 1}"
        ahead = (_period(each, now) for each in later)
        period = next((each for each in ahead if each and each[1] > now), period)
    return period


def _period(words: str, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the start and end of the period if the words name one, and nothing else."""
    said = f"in {words}"
    found = periods(said, now)
    if len(found) == 1 and found[0].said.lower() == said and found[0].start and found[0].end:
        return found[0].start, found[0].end
    return None


def read_duration(text: str) -> timedelta:
    """Return a length of time such as `30d`, `2w`, `6 months` or `1 year`."""
    found = re.fullmatch(DURATION, " ".join(text.split()).lower())
    if found is None:
        raise UserError(f"{text!r} is no length of time; write it like 30d, 2w or 6 months.")
    return duration_of(found)
