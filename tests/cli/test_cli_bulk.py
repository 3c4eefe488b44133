"""Changing many memories at once: ids, filters, a query; asked for first; all or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home, check_error

from recollect.interfaces.cli import selection

MEMORIES = (
    {"id": "a", "title": "Deploys run on Jenkins", "project": "site", "tags": ["ci"]},
    {"id": "b", "title": "Jenkins needs a plugin", "project": "site", "tags": ["wip"]},
    {"id": "c", "title": "Tides turn at noon", "project": "harbor", "kind": "note"},
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    assert home.import_memories(*MEMORIES).code == 0
    return home


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "on_terminal", lambda: True)


def test_a_filter_chooses_what_is_changed(home: Home) -> None:
    assert home.json("pin", "--project", "site", "--yes") == {"pinned": ["a", "b"]}
    assert home.json("unpin", "--tag", "wip", "--yes") == {"unpinned": ["b"]}
    assert [each["tier"] for each in home.json("show", "a", "b")] == ["core", "capture"]


def test_a_query_chooses_what_holds_all_of_its_words(home: Home) -> None:
    done = home.json("tag", "--query", "the jenkins plugins", "--add", "ops", "--yes")
    assert done == {"tagged": ["b"]}
    assert home.json("show", "b")[0]["tags"] == ["wip", "ops"]
    check_error(home.call("tag", "--query", "the", "--add", "x", "--yes"), "no word to select by")


def test_moving_and_tagging_leave_the_age(home: Home) -> None:
    [before] = home.json("show", "a")
    later = {"RECOLLECT_NOW": "2030-01-01"}
    home.json("move", "a", "--to-project", "web", "--to-space", "work", using=later)
    home.json("tag", "a", "--add", "x", "--remove", "ci", using=later)
    [after] = home.json("show", "a")
    assert (after["project"], after["space"], after["tags"]) == ("web", "work", ["x"])
    assert after["updated_at"] == before["updated_at"]


def test_edit_takes_filters_beside_the_fields_of_the_same_names(home: Home) -> None:
    done = home.json("edit", "--where", "project=site", "--project", "web", "--yes")
    assert done == {"changed": ["a", "b"]}
    assert home.list_ids("--project", "web") == ["a", "b"]
    tagged = home.json("edit", "--where", "tag=ci", "--clear", "tags", "--yes")
    assert tagged == {"changed": ["a"]}


def test_forget_by_a_filter_and_get_it_back(home: Home) -> None:
    done = home.call("forget", "--kind", "note", "--yes")
    assert "1 memory forgotten." in done.out
    assert home.list_ids() == ["a", "b"]
    assert home.json("forget", "--undo", "c") == {"restored": ["c"]}


def test_a_script_must_say_yes_and_is_told_how_many(home: Home) -> None:
    check_error(home.call("forget", "--project", "site"), "2 memories will be forgotten", "--yes")
    assert home.list_ids() == ["a", "b", "c"]


@pytest.mark.usefixtures("terminal")
def test_a_terminal_is_asked(home: Home) -> None:
    no = home.call("forget", "--project", "site", stdin=b"\n")
    assert "2 memories will be forgotten. Go on? [y/N]" in no.err
    assert (no.code, home.list_ids()) == (1, ["a", "b", "c"])
    one = home.call("forget", "--purge", "a", stdin=b"\n")
    assert "1 memory will be deleted permanently. Go on? [y/N]" in one.err
    assert home.call("forget", "--project", "site", stdin=b"y\n").code == 0
    assert home.list_ids() == ["c"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("pin", "Name memories by id"),
        ("pin a --project site", "not both"),
        ("tag a", "Name a tag"),
        ("move a", "Name where to"),
        ("edit --where colour=red --title x --yes", "names are: project"),
    ],
)
def test_wrong_usage_says_what_to_write(home: Home, line: str, why: str) -> None:
    done = home.call(*line.split())
    assert done.code == 2
    assert why in done.err


def test_all_or_none_is_changed(home: Home) -> None:
    check_error(home.call("move", "a", "nothing", "--to-project", "x"), "'nothing'")
    assert home.json("show", "a")[0]["project"] == "site"
    assert home.json("pin", "--project", "nowhere") == {"pinned": []}
