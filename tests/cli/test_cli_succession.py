"""Replacing and merging memories on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home, check_error


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", RECOLLECT_NOW="2026-03-01T12:00:00Z")
    done = home.import_memories(
        {"id": "old", "title": "Deploys run on Jenkins", "updated_at": "2025-01-01"},
        {"id": "new", "title": "Buildkite runs our pipelines", "updated_at": "2026-02-01"},
    )
    assert done.code == 0
    return home


def test_supersede_says_so_and_both_ends_show_it(home: Home) -> None:
    assert home.call("supersede", "old", "new").out == "new replaces old.\n"
    old, new = home.call("show", "old").out, home.call("show", "new").out
    assert "Replaced by new (2026-02-01): Buildkite runs our pipelines" in old
    assert "valid_until  just now" in old
    assert "Replaces old (2025-01-01): Deploys run on Jenkins" in new
    told = home.json("show", "old", "new")
    assert (told[0]["superseded_by"], told[1]["replaces"]) == ("new", ["old"])


def test_a_search_says_which_is_certain(home: Home) -> None:
    home.json("supersede", "old", "new")
    text = home.call("search", "Jenkins").out
    assert text.index("Buildkite") < text.index("Deploys run on Jenkins")
    assert "    replaces old (2025-01-01)" in text
    assert "    replaced by new (2026-02-01)" in text
    first, second = home.search("Jenkins")["results"]
    at = "2025-01-01T00:00:00Z"
    assert first["replaces"] == [{"id": "old", "updated_at": at}]
    assert second["superseded_by"]["id"] == "new"


def test_a_save_takes_the_place_of_others(home: Home) -> None:
    made = home.save("--title", "Actions build it", "--supersedes", "old", "--supersedes", "new")
    assert set(home.json("show", made)[0]["replaces"]) == {"old", "new"}
    check_error(home.call("save", "--title", "x", "--supersedes", "nothing"), "'nothing'")


def test_a_cycle_and_unknown_ids_are_refused_in_one_line(home: Home) -> None:
    home.json("supersede", "old", "new")
    check_error(home.call("supersede", "new", "old"), "in a circle")
    check_error(home.call("supersede", "new", "new"), "cannot replace itself")
    check_error(home.call("supersede", "new", "nothing"), "'nothing'")


def test_a_link_is_cleared_like_any_field(home: Home) -> None:
    home.json("supersede", "old", "new")
    home.json("edit", "old", "--clear", "superseded-by", "--clear", "valid-until")
    assert "superseded_by" not in home.json("show", "old")[0]
    assert home.search_ids("Jenkins") == ["old"]


def test_a_save_of_what_is_there_already_tells_what_it_replaces(home: Home) -> None:
    said = ("--id", "new", "--title", "Buildkite runs our pipelines")
    saved = home.json("save", *said, "--supersedes", "old")
    assert (saved["outcome"], saved["superseded"]) == ("unchanged", ["old"])
