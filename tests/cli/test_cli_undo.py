"""`recollect undo` and `recollect redo`."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home, check_error

from recollect.interfaces.cli import organise as command
from recollect.interfaces.cli import selection


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", RECOLLECT_NOW="2026-03-01T12:00:00Z")
    home.save("--id", "tides", "Tides turn at noon")
    return home


def test_undo_names_what_it_takes_back_and_redo_does_it_again(home: Home) -> None:
    assert home.call("undo").out.splitlines() == [
        "Undone: save of 2026-03-01 12:00 UTC, 1 memory.",
        "  to the trash    Tides turn at noon (tides)",
        "To go back: recollect redo",
    ]
    assert home.list_ids() == []
    assert home.call("redo").out.splitlines() == [
        "Redone: save of 2026-03-01 12:00 UTC, 1 memory.",
        "  from the trash  Tides turn at noon (tides)",
        "To go back: recollect undo",
    ]
    assert home.list_ids() == ["tides"]
    check_error(home.call("redo"), "There is nothing to redo")
    home.call("edit", "tides", "--text", "At noon.")
    assert "  changed         Tides turn at noon (tides)" in home.call("undo").out
    told = {"redone": "edit", "at": "2026-03-01T12:00:00Z", "ids": ["tides"], "forgotten": []}
    assert home.json("redo") == told


def test_undo_speaks_the_users_time_zone(home: Home) -> None:
    home.environment["TZ"] = "Pacific/Auckland"
    assert "Undone: save of 2026-03-02 01:00 NZDT, 1 memory." in home.call("undo").out


def test_a_terminal_is_asked_before_many_memories_are_changed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (selection, command):
        monkeypatch.setattr(module, "on_terminal", lambda: True)
    home.import_memories(
        *({"id": f"n{number:02}", "title": f"Note {number}"} for number in range(43))
    )
    asked = home.call("undo", stdin=b"n\n")
    assert (asked.code, len(home.list_ids())) == (1, 44)
    assert "This undoes the import of 2026-03-01 12:00 UTC, 43 memories. Go on? [y/N]" in asked.err
    assert "to the trash    Note 0 (n00)" in asked.err
    assert "and 33 more" in asked.err
    assert home.call("undo", stdin=b"y\n").code == 0
    assert home.list_ids() == ["tides"]
    assert "This redoes the import" in home.call("redo", stdin=b"\n").err
    assert home.call("redo", "--yes").code == 0
    assert len(home.list_ids()) == 44
    home.call("edit", "n00", "n01", "--add-tag", "x")
    assert home.call("undo").err == ""  # few are not asked about
