"""`recollect undo`, `redo`, `trash` and `restore`."""

from __future__ import annotations

import pytest
from commandline import Home, check_error

from recollect.interfaces.cli import organise as command
from recollect.interfaces.cli import selection


@pytest.fixture
def tides(home: Home) -> Home:
    home.save("--id", "tides", "Tides turn at noon")
    return home


def test_undo_names_what_it_takes_back_and_redo_does_it_again(tides: Home) -> None:
    assert tides.call("undo").out.splitlines() == [
        "Undone: save of 2026-03-01 12:00 UTC, 1 memory.",
        "  to the trash    Tides turn at noon (tides)",
        "To redo: recollect redo",
    ]
    assert tides.list_ids() == []
    assert tides.call("redo").out.splitlines() == [
        "Redone: save of 2026-03-01 12:00 UTC, 1 memory.",
        "  from the trash  Tides turn at noon (tides)",
        "To undo: recollect undo",
    ]
    assert tides.list_ids() == ["tides"]
    check_error(tides.call("redo"), "There is nothing to redo")
    tides.call("edit", "tides", "--text", "At noon.")
    assert "  changed         Tides turn at noon (tides)" in tides.call("undo").out
    told = {"redone": "edit", "at": "2026-03-01T12:00:00Z", "ids": ["tides"], "forgotten": []}
    assert tides.json("redo") == told


def test_a_terminal_is_asked_before_many_memories_are_changed(
    tides: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (selection, command):
        monkeypatch.setattr(module, "on_terminal", lambda: True)
    tides.import_memories(
        *({"id": f"n{number:02}", "title": f"Note {number}"} for number in range(43))
    )
    asked = tides.call("undo", stdin=b"n\n")
    assert (asked.code, len(tides.list_ids())) == (1, 44)
    assert "This undoes the import of 2026-03-01 12:00 UTC, 43 memories. Go on? [y/N]" in asked.err
    assert "to the trash    Note 0 (n00)" in asked.err
    assert "and 33 more" in asked.err
    assert tides.call("undo", stdin=b"y\n").code == 0
    assert tides.list_ids() == ["tides"]
    assert "This redoes the import" in tides.call("redo", stdin=b"\n").err
    assert tides.call("redo", "--yes").code == 0
    assert len(tides.list_ids()) == 44
    tides.call("edit", "n00", "n01", "--add-tag", "x")
    assert tides.call("undo").err == ""  # few are not asked about


@pytest.fixture
def trashed(home: Home) -> Home:
    done = home.import_memories(
        {"id": "a", "title": "Deploys run on Jenkins", "project": "site"},
        {"id": "b", "title": "Tides turn at noon", "project": "harbor"},
    )
    assert done.code == 0
    assert home.call("forget", "a", "b").code == 0
    return home


def test_the_trash_says_what_when_why_and_by_whom(trashed: Home) -> None:
    text = trashed.call("trash").out
    assert "Deploys run on Jenkins" in text
    assert "forgotten, just now by command line" in text
    assert "recollect trash restore ID" in text
    [told] = trashed.json("trash", "tides")
    assert told["memory"]["id"] == "b"
    assert (told["why"], told["forgotten_at"]) == ("forgotten", "2026-03-01T12:00:00Z")
    assert "matches" in trashed.call("trash", "ships").out
    for words in ("project:harbor", "noon -jenkins", "tides turn -project:site"):
        assert [each["memory"]["id"] for each in trashed.json("trash", *words.split())] == ["b"]


def test_restore_takes_ids_filters_and_a_query(trashed: Home) -> None:
    assert trashed.json("restore", "a") == {"restored": ["a"]}
    trashed.json("forget", "a")
    check_error(trashed.call("restore", "--project", "site"), "1 memory will be restored", "--yes")
    assert trashed.json("restore", "--project", "site", "--yes") == {"restored": ["a"]}
    assert trashed.json("restore", "--query", "tides", "--yes") == {"restored": ["b"]}
    assert trashed.call("trash").out == "The trash is empty.\n"
    check_error(
        trashed.call("restore", "a"), "'a' is not in the trash. `recollect trash` lists what is."
    )
    assert trashed.call("restore").code == 2


def test_emptying_asks_first(trashed: Home) -> None:
    check_error(trashed.call("trash", "--empty"), "2 memories will be deleted permanently", "--yes")
    assert trashed.call("trash", "--empty", "tides").code == 2
    assert trashed.json("trash", "--empty", "--yes") == {"purged": 2}
    assert trashed.json("trash") == []
