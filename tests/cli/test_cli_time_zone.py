"""Days are those of the user's clock; what is stored is in UTC."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home

# In Auckland, 13 hours ahead, it is 09:00 on Wednesday, 18 November.
NOW = "2026-11-17T20:00:00Z"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", RECOLLECT_NOW=NOW, TZ="Pacific/Auckland")
    home.import_memories(
        {"id": "today", "title": "Berth plan", "updated_at": "2026-11-17T12:00:00Z"},
        {"id": "yesterday", "title": "Berth list", "updated_at": "2026-11-17T10:00:00Z"},
        {"id": "before", "title": "Berth map", "updated_at": "2026-11-16T10:00:00Z"},
    )
    return home


def test_words_for_days_mean_the_users_days(home: Home) -> None:
    assert home.call("list", "--ids", "--since", "today").out.split() == ["today"]
    assert home.call("list", "--ids", "--since", "2026-11-18").out.split() == ["today"]
    assert home.call("list", "--ids", "--until", "2026-11-17").out.split() == ["before"]
    found = home.search("berth yesterday")
    assert found["understood"] == ["yesterday = 2026-11-17"]
    assert found["results"][0]["id"] == "yesterday"


def test_times_are_shown_on_the_users_clock_and_kept_in_utc(home: Home) -> None:
    listed = home.call("list", "--dates").out
    assert "2026-11-18 01:00 NZDT" in listed
    assert home.json("show", "today")[0]["updated_at"] == "2026-11-17T12:00:00Z"
    assert "2026-11-18 09:00 NZDT" in home.call("history", "today", "--dates").out
    assert home.call("show", "today", "--as-of", "2026-11-18T08:00").code == 1


def test_whatever_a_person_reads_is_on_their_clock(home: Home) -> None:
    assert home.call("edit", "today", "--valid-until", "2026-11-20 09:30").code == 0
    assert home.call("edit", "today", "--valid-until", "2026-11-21 09:30").code == 0
    told = home.call("history", "today").out
    assert "valid_until: [-2026-11-20 09:30 NZDT-]{+2026-11-21 09:30 NZDT+}" in told
    differences = home.json("history", "today")[0]["differences"]
    assert differences == ["valid_until: [-2026-11-19T20:30:00Z-]{+2026-11-20T20:30:00Z+}"]
    assert home.call("forget", "today").code == 0
    assert "2026-11-18 09:00 NZDT" in home.call("trash", "--dates").out
    assert "Undone: forget of 2026-11-18 09:00 NZDT, 1 memory." in home.call("undo").out
    for line in home.call("access", "audit").out.splitlines():
        assert line.split()[2] in ("NZDT", "NZST"), line
    assert all(entry["time"].endswith("Z") for entry in home.json("access", "audit"))


def test_a_moment_that_was_shown_can_be_typed_again(home: Home) -> None:
    noon = {"RECOLLECT_NOW": "2026-11-18T00:00:00Z"}
    assert home.call("edit", "today", "--title", "Berth plan 2", using=noon).code == 0
    later = {"RECOLLECT_NOW": "2026-11-19T00:00:00Z"}
    for typed in ("2026-11-18 10:00", "2026-11-17T21:00:00Z", "2026-11-18T10:00+13:00"):
        [then] = home.json("show", "today", "--as-of", typed, using=later)
        assert then["title"] == "Berth plan", typed
    [now] = home.json("show", "today", "--as-of", "2026-11-18 14:00", using=later)
    assert now["title"] == "Berth plan 2"


def test_a_memory_ends_with_the_users_day(home: Home) -> None:
    # Wednesday, 18 November, in Auckland: Friday ends there at 11:00 UTC.
    for typed, ends in {
        "friday": "2026-11-20T10:59:59.999999Z",
        "2026-11-20": "2026-11-19T11:00:00Z",
        "2026-11-20T09:00:00Z": "2026-11-20T09:00:00Z",
        "in 3 days": "2026-11-20T20:00:00Z",
    }.items():
        id = home.call("save", f"Berth {typed}", "--valid-until", typed).out.strip()
        assert home.json("show", id)[0]["valid_until"] == ends, typed
        assert home.call("edit", id, "--valid-until", "7d").code == 0
        assert home.json("show", id)[0]["valid_until"] == "2026-11-24T20:00:00Z"


def test_a_file_means_the_same_wherever_it_is_read(home: Home) -> None:
    home.import_memories({"id": "filed", "title": "Berth file", "valid_until": "2026-11-20"})
    assert home.json("show", "filed")[0]["valid_until"] == "2026-11-20T00:00:00Z"


def test_every_command_reads_the_same_words(home: Home) -> None:
    later = {"RECOLLECT_NOW": "2026-11-18T20:00:00Z"}
    assert home.call("show", "today", "--as-of", "10 minutes ago", using=later).code == 0
    assert "Berth list" in home.call("timeline", "yesterday", using=later).out
    for args in (
        ("timeline", "nowhen"),
        ("list", "--since", "nowhen"),
        ("list", "--as-of", "nowhen"),
        ("save", "x", "--valid-until", "nowhen"),
        ("edit", "today", "--valid-from", "nowhen"),
        ("search", "x", "--now", "nowhen"),
        ("access", "token", "create", "--can", "search:use", "--expires", "nowhen"),
        ("access", "audit", "--since", "nowhen"),
    ):
        refused = home.call(*args)
        assert refused.code == 1, args
        assert refused.err.lower().endswith(" like 2026-03-01, 7d or friday.\n"), args
