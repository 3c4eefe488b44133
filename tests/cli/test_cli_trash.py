"""`recollect trash` and `recollect restore`."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home, check_error


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", RECOLLECT_NOW="2026-03-01T12:00:00Z")
    done = home.import_memories(
        {"id": "a", "title": "Deploys run on Jenkins", "project": "site"},
        {"id": "b", "title": "Tides turn at noon", "project": "harbor"},
    )
    assert done.code == 0
    assert home.call("forget", "a", "b").code == 0
    return home


def test_the_trash_says_what_when_why_and_by_whom(home: Home) -> None:
    text = home.call("trash").out
    assert "Deploys run on Jenkins" in text
    assert "forgotten, just now by command line" in text
    assert "recollect trash restore ID" in text
    [told] = home.json("trash", "tides")
    assert told["memory"]["id"] == "b"
    assert (told["why"], told["forgotten_at"]) == ("forgotten", "2026-03-01T12:00:00Z")
    assert "matches" in home.call("trash", "ships").out
    for words in ("project:harbor", "noon -jenkins", "tides turn -project:site"):
        assert [each["memory"]["id"] for each in home.json("trash", *words.split())] == ["b"]


def test_restore_takes_ids_filters_and_a_query(home: Home) -> None:
    assert home.json("restore", "a") == {"restored": ["a"]}
    home.json("forget", "a")
    check_error(home.call("restore", "--project", "site"), "1 memory will be restored", "--yes")
    assert home.json("restore", "--project", "site", "--yes") == {"restored": ["a"]}
    assert home.json("restore", "--query", "tides", "--yes") == {"restored": ["b"]}
    assert home.call("trash").out == "The trash is empty.\n"
    check_error(home.call("restore", "a"), "not among the forgotten")
    assert home.call("restore").code == 2


def test_emptying_asks_first(home: Home) -> None:
    check_error(home.call("trash", "--empty"), "2 memories will be deleted permanently", "--yes")
    assert home.call("trash", "--empty", "tides").code == 2
    assert home.json("trash", "--empty", "--yes") == {"purged": 2}
    assert home.json("trash") == []


def test_removing_a_folder_says_how_many_it_would_forget(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "one.md").write_text("One thing", encoding="utf-8")
    assert home.call("add", str(folder)).code == 0
    would = home.call("add", "--remove", str(folder), "--dry-run").out
    assert "1 memory of" in would
    assert f"`recollect add {folder}` brings them back." in would
    assert len(home.json("add", "--list")["folders"]) == 1
    done = home.call("add", "--remove", str(folder)).out
    assert f"`recollect add {folder}` brings them back." in done
    assert home.call("add", str(folder)).code == 0
    assert len(home.list_ids()) == 1
