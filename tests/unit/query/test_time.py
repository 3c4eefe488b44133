"""Time said in words: what is read as which days, and what is left alone.

The table is read on Sunday 2026-11-15, in its forty-sixth week, which began on Monday the 9th.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.query.time.calendar import Period
from recollect.query.time.periods import describe, periods, without
from recollect.types import Span

NOW = datetime(2026, 11, 15, 9, tzinfo=UTC)
fast = settings(max_examples=examples(300))


def day(text: str) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def only(text: str, now: datetime = NOW) -> Period:
    (period,) = periods(text, now)
    return period


# The first day and the day after the last, empty for an open end: the queries that say so.
EXACT: dict[str, dict[tuple[str, str], str]] = {
    "days around today": {
        ("2026-11-15", "2026-11-16"): "today|earlier today|tonight|this morning",
        ("2026-11-14", "2026-11-15"): "yesterday|yesterday afternoon|last night",
        ("2026-11-13", "2026-11-14"): "the day before yesterday",
        ("2026-11-16", "2026-11-17"): "tomorrow",
        ("2026-11-17", "2026-11-18"): "the day after tomorrow",
    },
    "calendar units": {
        ("2026-11-09", "2026-11-16"): "this week",
        ("2026-11-02", "2026-11-09"): "last week|previous week",
        ("2026-11-16", "2026-11-23"): "next week",
        ("2026-11-01", "2026-12-01"): "this month",
        ("2026-10-01", "2026-11-01"): "last month",
        ("2026-12-01", "2027-01-01"): "next month",
        ("2026-10-01", "2027-01-01"): "this quarter",
        ("2026-07-01", "2026-10-01"): "last quarter",
        ("2027-01-01", "2027-04-01"): "next quarter",
        ("2026-01-01", "2027-01-01"): "this year",
        ("2025-01-01", "2026-01-01"): "last year",
        ("2027-01-01", "2028-01-01"): "next year",
        ("2026-11-14", "2026-11-16"): "this weekend|this past weekend",
        ("2026-11-07", "2026-11-09"): "last weekend",
        ("2026-01-01", "2026-11-16"): "earlier this year",
        ("2026-11-15", "2026-12-01"): "later this month",
    },
    "spans up to today": {
        # in the last week: with "the" it is no calendar week
        ("2026-11-08", "2026-11-16"): "past week|in the last week",
        ("2026-10-15", "2026-11-16"): "over the past month",
        ("2026-08-15", "2026-11-16"): "past quarter",
        ("2025-11-15", "2026-11-16"): "in the last year",
        ("2026-11-12", "2026-11-16"): "last 3 days",
        ("2026-11-05", "2026-11-16"): "past ten days",
        ("2026-11-01", "2026-11-16"): "within the last two weeks",
        ("2026-05-15", "2026-11-16"): "last 6 months",
        ("2006-11-15", "2026-11-16"): "past twenty years",
        ("2026-11-14T09:00", "2026-11-16"): "last 24 hours",
    },
    "ago": {
        ("2026-11-12", "2026-11-13"): "3 days ago",
        ("2026-11-02", "2026-11-09"): "a week ago",
        ("2026-10-26", "2026-11-02"): "two weeks ago",
        ("2026-09-01", "2026-10-01"): "two months ago",
        ("2025-12-01", "2026-01-01"): "11 months ago",
        ("2025-01-01", "2026-01-01"): "a year ago",
        ("2021-01-01", "2022-01-01"): "5 years ago",
        ("2026-11-15T07:00", "2026-11-15T09:00"): "an hour ago",
    },
    "weekdays": {
        ("2026-11-09", "2026-11-10"): "on Monday|on monday morning",
        ("2026-11-13", "2026-11-14"): "last Friday|last fri",
        ("2026-11-10", "2026-11-11"): "this Tuesday|on Tue",
        # on Sunday: for today one says so
        ("2026-11-08", "2026-11-09"): "on Sunday|last Sunday",
        ("2026-11-15", "2026-11-16"): "this Sunday",
        ("2026-11-16", "2026-11-17"): "next Monday",
        ("2026-11-22", "2026-11-23"): "next Sunday",
        ("2026-11-04", "2026-11-05"): "Wednesday last week",
        ("2026-11-14", "2026-11-15"): "last Sat",
    },
    "months": {
        ("2026-03-01", "2026-04-01"): "in March|in march|this March|in March 2026|Mar 2026"
        "|2026-03",
        ("2025-12-01", "2026-01-01"): "in December|in Dec",
        ("2026-11-01", "2026-12-01"): "in November",
        ("2025-11-01", "2025-12-01"): "last November",
        ("2027-11-01", "2027-12-01"): "next November",
        ("2025-09-01", "2025-10-01"): "Sept. 2025",
        ("2025-03-01", "2025-04-01"): "march of 2025|in March last year",
        ("2026-02-01", "2026-03-01"): "in feb",
        ("2026-05-01", "2026-06-01"): "in may|in May",
    },
    "dates": {
        ("2026-03-03", "2026-03-04"): "March 3|march 3|3 March 2026|March 3rd, 2026"
        "|the 3rd of March",
        ("2025-12-03", "2025-12-04"): "December 3",
        ("2025-03-03", "2025-03-04"): "March 3 , 2025",
        ("2026-03-02", "2026-03-03"): "Monday, March 2, 2026",
        ("2025-03-03", "2025-03-11"): "March 3–10, 2025",
        ("2026-05-05", "2026-05-06"): "May 5|may 5th",
        ("2024-02-29", "2024-03-01"): "29 February",
        ("2026-03-01", "2026-03-02"): "2026-03-01|on 2026-03-01|2026/03/01",
        ("2026-03-02", "2026-03-09"): "the week of March 3",
    },
    "years and quarters": {
        ("2024-01-01", "2025-01-01"): "in 2024",
        ("1999-01-01", "2000-01-01"): "in the year 1999",
        ("2026-01-01", "2026-04-01"): "Q1 2026|Q1/2026|first quarter of 2026",
        ("2025-10-01", "2026-01-01"): "2025 Q4|Q4 last year",
        ("2025-04-01", "2025-07-01"): "second quarter 2025",
        ("2026-07-01", "2026-10-01"): "in Q3",
    },
    "open at one end": {
        ("", "2026-03-01"): "before 2026-03-01|before March 2026",
        ("", "2025-01-01"): "prior to 2025",
        ("", "2026-11-02"): "before last week",
        ("", "2026-04-01"): "before the end of March|by the end of March"
        "|no later than March 2026",
        ("2026-04-01", ""): "after March 2026",
        ("2025-01-01", ""): "after 2024",
        ("2026-01-01", ""): "after the start of 2026",
        ("2026-11-10", ""): "since last Tuesday",
        ("2026-10-26", ""): "since 2 weeks ago",
        ("2026-03-01", ""): "since March|starting in March|on or after 2026-03-01",
        ("2026-05-01", ""): "since May",
        ("2026-03-01", "2026-03-02"): "from 2026-03-01",
        ("", "2026-03-02"): "until 2026-03-01|on or before 2026-03-01",
        ("", "2026-11-15"): "till yesterday",
        ("", "2026-11-14"): "by Friday",
    },
    "from one to another": {
        ("2026-01-01", "2026-02-16"): "between 2026-01-01 and 2026-02-15"
        "|from 2026-01-01 to 2026-02-15|2026-01-01 to 2026-02-15|2026-01-01 … 2026-02-15",
        ("2026-11-10", "2026-11-15"): "from last Tuesday until yesterday",
        ("2026-11-02", "2026-11-15"): "from last week to yesterday",
        ("2025-03-03", "2025-03-06"): "from March 3, 2025, to March 5, 2025",
        ("2023-01-01", "2026-01-01"): "from 2023 to 2025",
        ("2024-01-01", "2026-01-01"): "2024–2025",
        ("2025-03-01", "2025-06-01"): "from March to May 2025",
        ("2025-11-01", "2026-03-01"): "between November and February",
        ("2025-10-01", "2026-01-01"): "October to December",
        ("2026-11-06", "2026-11-10"): "from Friday to Monday",
        ("2025-01-01", "2025-07-01"): "between Q1 and Q2 2025",
    },
}  # fmt: skip

HINTS: dict[tuple[str, str], str] = {
    ("2026-10-16", "2026-11-16"): "recently|lately|these days",
    ("2026-11-12", "2026-11-16"): "last few days",
    ("2026-11-01", "2026-11-16"): "past couple of weeks",
    ("2026-11-12", "2026-11-15"): "a couple of days ago",
    ("2026-07-01", "2026-10-01"): "a few months ago|Q3|third quarter",
    ("2026-11-15T04:00", "2026-11-15T08:00"): "a few hours ago",
    ("2026-11-09", "2026-11-10"): "Monday",
    ("2026-03-01", "2026-04-01"): "March|around March 2026",
    ("2026-01-01", "2026-02-01"): "january",
    ("2024-01-01", "2025-01-01"): "2024",
    ("2026-03-01", "2026-03-11"): "early March",
    ("2026-03-11", "2026-03-21"): "in mid-March",
    ("2026-03-21", "2026-04-01"): "late March 2026",
    ("2026-02-01", "2026-02-10"): "beginning of February",
    ("2026-04-21", "2026-05-01"): "at the end of April",
    ("2026-01-01", "2026-05-01"): "early 2026",
    ("2025-05-01", "2025-09-01"): "mid-2025",
    ("2025-09-01", "2026-01-01"): "end of last year",
    ("2026-11-02", "2026-11-04"): "early last week",
    ("2026-11-07", "2026-11-09"): "late last weekend",
    # for next week: what is planned for it was written before
    ("2026-11-16", "2026-11-23"): "for next week",
    ("2026-03-01", "2026-03-02"): "as of 2026-03-01",
    # by June: June may be a person
    ("", "2026-07-01"): "by June",
}  # fmt: skip

READINGS = [
    (words, days, row is not HINTS)
    for row in (*EXACT.values(), HINTS)
    for days, texts in row.items()
    for words in texts.split("|")
]


@pytest.mark.parametrize(("words", "days", "exact"), READINGS)
@pytest.mark.parametrize("query", ["{}", "what about auth {}", "{}, who decided?", "notes ({})"])
def test_words_are_days(query: str, words: str, days: tuple[str, str], exact: bool) -> None:
    text = query.format(words)
    period = only(text)
    assert (period.start, period.end) == tuple(map(day, days))
    assert period.exact is exact
    assert text[slice(*period.span)] == words
    assert period.said == text[slice(*period.span)]


TRAPS: dict[str, list[str]] = {
    "may is a verb": [
        "you may restart the server", "may I ask", "May I ask", "this may not work", "may not",
        "this may fail", "the top 3 may fail", "the 3rd may fail", "may or may not",
        "users who log in may see errors", "what worked before may break", "You May Also Like",
    ],
    "march is a verb": ["march to the sea", "a protest march", "March of the Penguins", "march on"],
    "ordinary words": [
        "the sun rises", "they sat down", "to wed", "on sun exposure", "a Sun server", "Mon ami",
        "a second opinion", "wait a minute", "mar the surface", "hex in dec", "oct to dec",
        "Jan wrote it", "April's notebook", "spring boot", "spring 2", "fall back", "in the fall",
    ],
    "no period": [
        "last", "the last three commits", "last commit", "next steps", "next version", "week 12",
        "done in a week", "within two weeks", "after two days", "the last week of the project",
        "weekly report", "year over year", "last but not least", "until recently", "in 3 days",
        "the first quarter of the file", "more than 2 years ago", "half a year ago", "2020s",
        "every Monday", "on Mondays", "Monday mornings", "Black Friday", "April fools",
        "2003-04", "a quarter", "the past", "this is it",
    ],
    "names": [
        "the Today Show", "today show", "USA Today", "monday.com", "least recently used", "today()",
        "Windows Server 2019", "RFC 2045", "Q1: what is a vault", "Q4 quantized", "sunday_school",
    ],
    "numbers": [
        "1.4", "v2026.3", "24/7", "3-4", "8080", "port 8080", "port 2049", "2000 users",
        "1920 x 1080", "in 2048 bytes", "from 2000 to 3000", "between 2000 and 3000 rows", "$2024",
        "#2024", "1,2024", "in 1850", "in 2150", "2150-01-01", "build-2026", "user2026",
        "2026_report", "CVE-2024-1234", "scale from 1 to 2024", "Q5", "FQ1", "Q1x",
        "--since=2026-03-01",
    ],
    "paths and identifiers": [
        "2026-03-01-notes.md", "2026-03-01.md", "log/2026-03-01", "2026-03-01/app.log",
        "2026-03-01_backup", "backup-2026-03-01", "2026-01-01..2026-02-15", "2026-01-01T10:00:00Z",
    ],
    "days that cannot be": [
        "2026-02-30", "31 February", "February 30, 2026", "2026-13", "2026-13-01", "2026-00-10",
        "the 31st of April", "March 0", "in February 1861", "March 3, 1861",
        "29 February 2025", "March 10–3", "9999 years ago",
        "last 5000 years", "from 2026-03-01 to 2026-01-01", "between 2026-01-01 and 2026-02-30",
    ],
    "to be found as written": ['"last week"', 'the song "Yesterday" once more', "`today`"],
    "other languages": [
        "letzte Woche", "la semaine dernière", "先週", "on \u017funday", "in ٢٠٢٤", "", " ",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("row", "text"), [(row, text) for row in TRAPS for text in TRAPS[row]])
def test_not_a_time(row: str, text: str) -> None:
    assert periods(text, NOW) == ()


@pytest.mark.parametrize(
    ("now", "text", "days"),
    [
        ("2026-01-01", "yesterday", ("2025-12-31", "2026-01-01")),
        ("2026-01-01", "last month", ("2025-12-01", "2026-01-01")),
        ("2026-01-01", "last week", ("2025-12-22", "2025-12-29")),
        ("2026-01-01", "this week", ("2025-12-29", "2026-01-05")),
        ("2026-01-01", "last quarter", ("2025-10-01", "2026-01-01")),
        ("2026-01-01", "in January", ("2026-01-01", "2026-02-01")),
        ("2026-01-01", "in Q1", ("2026-01-01", "2026-04-01")),
        ("2026-01-01", "in Q2", ("2025-04-01", "2025-07-01")),
        ("2026-01-01", "earlier this year", ("2026-01-01", "2026-01-02")),
        ("2024-02-29", "last year", ("2023-01-01", "2024-01-01")),
        ("2024-02-29", "past year", ("2023-02-28", "2024-03-01")),
        ("2024-02-29", "29 February", ("2024-02-29", "2024-03-01")),
        ("2024-02-28", "29 February", ("2020-02-29", "2020-03-01")),
        ("2024-02-29", "this month", ("2024-02-01", "2024-03-01")),
        ("2026-03-31", "past month", ("2026-02-28", "2026-04-01")),
        ("2026-03-31", "last month", ("2026-02-01", "2026-03-01")),
        ("2026-03-31", "one month ago", ("2026-02-01", "2026-03-01")),
        ("2026-03-31", "tomorrow", ("2026-04-01", "2026-04-02")),
        ("2026-11-18", "last weekend", ("2026-11-14", "2026-11-16")),  # a Wednesday
        ("2026-11-18", "past weekend", ("2026-11-14", "2026-11-16")),
        ("2026-11-18", "from Monday to Friday", ("2026-11-09", "2026-11-14")),
        ("2026-11-16", "last week", ("2026-11-09", "2026-11-16")),  # a Monday
        ("2026-11-16", "on Monday", ("2026-11-09", "2026-11-10")),
    ],
)
def test_at_the_edges_of_the_calendar(now: str, text: str, days: tuple[str, str]) -> None:
    period = only(text, datetime.fromisoformat(f"{now}T00:00:00Z"))
    assert (period.start, period.end) == tuple(map(day, days))


def test_now_is_taken_in_utc() -> None:
    east = datetime.fromisoformat("2026-11-16T01:00:00+02:00")
    assert only("today", east).start == day("2026-11-15")


def test_several_times_are_read_left_to_right() -> None:
    found = periods("after 2026-01-01 and before 2026-03-01, not in May or June", NOW)
    assert [describe(period) for period in found] == [
        "after 2026-01-01 = since 2026-01-02",
        "before 2026-03-01",
        "in May = 2026-05-01 … 2026-05-31",
        "June = 2026-06-01 … 2026-06-30",
    ]


def test_members_of_a_list_are_read_alike() -> None:
    for text in ("sold in 2008, 2009, and 2010", "in March and April", "on Monday or Tuesday"):
        assert {period.exact for period in periods(text, NOW)} == {True}
    assert [period.exact for period in periods("2008 and 2009", NOW)] == [False, False]
    assert [period.exact for period in periods("in 2008 or recently", NOW)] == [True, False]


def test_a_weekday_before_another_time_is_part_of_it() -> None:
    text = "what did I do on the Wednesday two weeks ago"
    assert describe(only(text)) == "two weeks ago = 2026-10-26 … 2026-11-01"


def test_words_between_a_preposition_and_its_date_are_said_and_kept() -> None:
    text = "costs before the release of 2026-03-01"
    period = only(text)
    assert period == Period(
        "before the release of 2026-03-01", Span(25, 38), None, day("2026-03-01"), True
    )
    assert without(text, [period]) == "costs before the release"


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("since the incident on Monday", ("2026-11-09", "")),
        ("after the big outage in March 2026", ("2026-04-01", "")),
        ("after work today", ("2026-11-15", "2026-11-16")),  # nothing ties the day to the work
        ("before the crash, last week", ("2026-11-02", "2026-11-09")),
        ("before one two three four of 2026-03-01", ("2026-03-01", "2026-03-02")),  # too far
        ("before or on 2026-03-01", ("2026-03-01", "2026-03-02")),
    ],
)
def test_a_preposition_reaches_over_a_few_words(text: str, days: tuple[str, str]) -> None:
    period = only(text)
    assert (period.start, period.end) == tuple(map(day, days))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("last week", "last week = 2026-11-02 … 2026-11-08"),
        ("Yesterday's", "Yesterday's = 2026-11-14"),
        ("2026-03-01", "2026-03-01"),
        ("before 2026-03-01", "before 2026-03-01"),
        ("since 2026-03-01", "since 2026-03-01"),
        ("until March 2026", "until March 2026 = before 2026-04-01"),
        ("after March 2026", "after March 2026 = since 2026-04-01"),
        ("last 3 hours", "last 3 hours = 2026-11-15 06:00 … 2026-11-15"),
        ("2 hours ago", "2 hours ago = 2026-11-15 06:00 … 2026-11-15 08:00"),
        (
            "before the release of March 2026",
            "before the release of March 2026 = before 2026-03-01",
        ),
    ],
)
def test_describe_is_for_people(text: str, shown: str) -> None:
    assert describe(only(text)) == shown


def test_describe_names_a_period_without_bounds() -> None:
    assert describe(Period("ever", Span(0, 4), None, None, False)) == "ever = any time"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("what did we decide last week", "what did we decide"),
        ("yesterday, what did we decide?", "what did we decide?"),
        ("Yesterday. What happened", "What happened"),
        ("last week's standup  notes", "standup notes"),
        ("notes (last week) on auth", "notes on auth"),
        ("is foo() slow since Monday?", "is foo() slow?"),
        ("what changed yesterday in .env", "what changed in .env"),
        ("auth from 2026-01-01 to 2026-02-15 and tokens", "auth and tokens"),
        ("the 2024 budget", "the budget"),
        ("last week", "last week"),
        ("what was in the last 10 days", "what was in the last 10 days"),  # only stop words left
        ("after 2026-01-01 and before 2026-03-01", "after 2026-01-01 and before 2026-03-01"),
        ("nothing  said", "nothing  said"),
        ("", ""),
    ],
)
def test_without_keeps_the_rest_of_the_query(text: str, rest: str) -> None:
    assert without(text, periods(text, NOW)) == rest


# Texts made of what the grammar is made of, so that most of them hold a time.
PIECES = (
    "last past this next the day before after yesterday today week weekend month quarter year ago "
    "a few couple of 3 31 29 2026 2026-03-01 2026-02-30 2026-13 March may May feb Feb. Sun Monday "
    "mon Q1 q4 first second early mid- end from to until since between and in on by for 9999 0 rd "
    """'s 3rd ( ) , . – … - / " ` hours years recently these days ſ İ notes"""
).split()
GRAMMAR = st.lists(st.sampled_from(PIECES), max_size=14).flatmap(
    lambda words: st.sampled_from([" ", " ", "  ", ""]).map(lambda gap: gap.join(words))
)
MOMENTS = st.datetimes(datetime(1950, 1, 1), datetime(2150, 1, 1), timezones=st.just(UTC))


@fast
@given(st.one_of(st.text(), GRAMMAR), MOMENTS)
def test_any_text_is_read_in_order_and_without_error(text: str, now: datetime) -> None:
    found = periods(text, now)
    place = 0
    for period in found:
        assert place <= period.span.start < period.span.end <= len(text)
        assert period.said.endswith(text[slice(*period.span)])
        assert period.said in text
        assert period.start or period.end
        if period.start and period.end:
            assert period.start < period.end
        for bound in (period.start, period.end):
            assert bound is None or bound.utcoffset() == timedelta(0)
        assert describe(period)
        place = period.span.end
    assert without(text, found) or not text


@fast
@given(st.dates(date(1900, 1, 1), date(2100, 12, 31)), MOMENTS)
def test_every_day_can_be_said(that: date, now: datetime) -> None:
    midnight = datetime(that.year, that.month, that.day, tzinfo=UTC)
    for said in ("%Y-%m-%d", "%Y/%m/%d", "%B %d, %Y", "%d %b %Y", "on %A, %d %B %Y"):
        period = only(f"notes {that.strftime(said)}", now)
        assert (period.start, period.end) == (midnight, midnight + timedelta(days=1))
