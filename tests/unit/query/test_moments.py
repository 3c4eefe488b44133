"""One grammar reads every moment that is given outside a query."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.errors import UserError
from recollect.query.time.moments import read_time

NOW = datetime(2026, 11, 19, 15, 30, tzinfo=UTC)  # a Thursday
END = "23:59:59.999999"
# What is typed → where it is about the past, where it lies ahead.
COUNTED = {
    "7d": ("2026-11-12 15:30", "2026-11-26 15:30"),
    "12h": ("2026-11-19 03:30", "2026-11-20 03:30"),
    "2 weeks": ("2026-11-05 15:30", "2026-12-03 15:30"),
    "6 months": ("2026-05-23 15:30", "2027-05-18 15:30"),
    "10 minutes ago": ("2026-11-19 15:20", "2026-11-19 15:20"),
    "Three days ago": ("2026-11-16 15:30", "2026-11-16 15:30"),
    "in 3 days": ("2026-11-22 15:30", "2026-11-22 15:30"),
    "a week from now": ("2026-11-26 15:30", "2026-11-26 15:30"),
    "vor drei Tagen": ("2026-11-16 15:30", "2026-11-16 15:30"),
    "now": ("2026-11-19 15:30", "2026-11-19 15:30"),
    " 2026-03-01 ": ("2026-03-01 00:00", "2026-03-01 00:00"),
    "2026-03-01 09:30": ("2026-03-01 09:30", "2026-03-01 09:30"),
    "2026-03-01T09:30+02:00": ("2026-03-01 07:30", "2026-03-01 07:30"),
}
CLOCK = {
    "yesterday 10:00": ("11-18 10:00", "11-18 10:00"),
    "yesterday at 9pm": ("11-18 21:00", "11-18 21:00"),
    "Friday 17:05": ("11-13 17:05", "11-20 17:05"),
    "gestern 10:00": ("11-18 10:00", "11-18 10:00"),
    "12am": ("11-19 00:00", "11-19 00:00"),
    "at 12:30 pm": ("11-19 12:30", "11-19 12:30"),
}
# The first and the last day of what is named.
DAYS = {
    "yesterday": (("11-18", "11-18"), ("11-18", "11-18")),
    "tomorrow": (("11-20", "11-20"), ("11-20", "11-20")),
    "last week": (("11-09", "11-15"), ("11-09", "11-15")),
    "this week": (("11-16", "11-22"), ("11-16", "11-22")),
    "Friday": (("11-13", "11-13"), ("11-20", "11-20")),
    "thursday": (("11-12", "11-12"), ("11-26", "11-26")),
    "next friday": (("11-20", "11-20"), ("11-20", "11-20")),
    "last  friday": (("11-13", "11-13"), ("11-13", "11-13")),
    "next month": (("12-01", "12-31"), ("12-01", "12-31")),
    "freitag": (("11-13", "11-13"), ("11-20", "11-20")),
}


@pytest.mark.parametrize("typed", COUNTED)
def test_durations_count_back_and_for_future_fields_forwards(typed: str) -> None:
    past, ahead = (datetime.fromisoformat(f"{each}+00:00") for each in COUNTED[typed])
    for name in ("since", "until", "as_of", "around", "updated_at"):
        assert read_time(typed, NOW, name) == past, name
    for name in ("valid_from", "valid_until", "expires"):
        assert read_time(typed, NOW, name) == ahead, name


@pytest.mark.parametrize("typed", CLOCK)
def test_a_day_may_have_an_hour(typed: str) -> None:
    past, ahead = CLOCK[typed]
    for name, moment in {"since": past, "until": past, "valid_until": ahead}.items():
        assert str(read_time(typed, NOW, name)) == f"2026-{moment}:00+00:00", name


@pytest.mark.parametrize(
    "typed", ["yesterday 25:00", "last week 10:00", "friday 17", "13pm", "", "-1d", "9" * 30 + "d"]
)
def test_what_is_no_time_is_refused(typed: str) -> None:
    with pytest.raises(UserError, match="is not a time"):
        read_time(typed, NOW, "since")


@pytest.mark.parametrize("typed", DAYS)
def test_words_mean_the_start_or_the_end_by_field(typed: str) -> None:
    past, ahead = DAYS[typed]
    for name, day in {"since": past[0], "as_of": past[0], "valid_from": ahead[0]}.items():
        assert str(read_time(typed, NOW, name)) == f"2026-{day} 00:00:00+00:00", name
    for name, day in {"until": past[1], "valid_until": ahead[1], "expires": ahead[1]}.items():
        assert str(read_time(typed, NOW, name)) == f"2026-{day} {END}+00:00", name


def test_a_date_without_a_year_is_in_the_future_if_its_field_is() -> None:
    for typed in ("20 march", "march 20"):
        assert read_time(typed, NOW, "since").date().isoformat() == "2026-03-20"
        assert read_time(typed, NOW, "valid_from").date().isoformat() == "2027-03-20"
    assert read_time("december", NOW, "expires").date().isoformat() == "2026-12-31"
    assert read_time("march 2025", NOW, "valid_until").date().isoformat() == "2025-03-31"


@pytest.mark.parametrize("name", ["since", "valid_until", "expires"])
@pytest.mark.parametrize(
    "typed", ["soon", "", "d", "-1d", "7m", "in 3 days ago", "march or april", "x " * 5000, "12"]
)
def test_a_refused_time_is_quoted_with_valid_examples(typed: str, name: str) -> None:
    with pytest.raises(UserError) as refused:
        read_time(typed, NOW, name)
    forms = "write it like 2026-03-01, 7d or friday."
    assert str(refused.value) == f"{name} {typed!r} is not a time; {forms}"


@pytest.mark.parametrize("typed", ["99999y", "0001-01-01T00:00+14:00", "in 99999 years"])
def test_a_time_out_of_the_calendar_is_refused(typed: str) -> None:
    with pytest.raises(UserError, match="is not within the years 1 to 9999 in UTC; write it like"):
        read_time(typed, NOW, "since")
