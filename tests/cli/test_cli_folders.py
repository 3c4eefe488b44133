"""`recollect add --list`: which there are, bringing them into step, and letting go of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import NOW, Home, check_error, check_usage_error


@pytest.fixture
def home(tmp_path: Path) -> Home:
    for name in ("harbour", "kitchen"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.md").write_text(f"The first note of the {name}.")
        (tmp_path / name / "two.md").write_text(f"The second note of the {name}.")
    made = Home(tmp_path / "home", RECOLLECT_NOW=NOW)
    for name in ("harbour", "kitchen"):
        assert made.call("add", str(tmp_path / name)).code == 0
    return made


@pytest.fixture
def harbour(home: Home) -> Path:
    return home.folder.parent / "harbour"


@pytest.fixture
def kitchen(home: Home) -> Path:
    return home.folder.parent / "kitchen"


def found(home: Home, query: str) -> list[str]:
    return [one["file"]["path"] for one in home.search(query)["results"]]


def test_folders_are_listed(home: Home, harbour: Path, kitchen: Path) -> None:
    done = home.run("add", "--list")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"{harbour}  2 files, project harbour\n{kitchen}  2 files, project kitchen\n"
    )
    assert home.call("add", "--list").out == done.out
    assert home.json("add", "--list") == {
        "folders": [
            {"path": str(path), "project": path.name, "followed": False, "files": 2}
            for path in (harbour, kitchen)
        ]
    }


def test_where_there_is_none_it_is_said_how_to_add_one(tmp_path: Path) -> None:
    home = Home(tmp_path / "other")
    assert home.call("add", "--list").out == "No folders yet. To add one: recollect add FOLDER\n"
    assert home.json("add", "--list") == {"folders": []}
    assert home.json("add", "--sync") == {"folders": [], "waiting": 0}
    assert home.call("add", "--sync").code == 0


def test_a_name_of_two_lines_is_shown_in_one(home: Home, tmp_path: Path) -> None:
    odd = tmp_path / "two\nlines"
    odd.mkdir()
    assert home.call("add", str(odd)).code == 0
    assert len(home.call("add", "--list").out.splitlines()) == 3
    assert home.call("add", "--remove", str(odd)).out.count("\n") == 1


def test_all_folders_are_brought_into_step(home: Home, harbour: Path, kitchen: Path) -> None:
    (harbour / "new.md").write_text("The quokka sleeps.")
    (kitchen / "one.md").unlink()
    done = home.run("add", "--sync")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"{harbour}\nFiles: 1 added, 2 unchanged. Memories: 1 added.\n"
        f"{kitchen}\nFiles: 1 gone, 1 unchanged. Memories: 1 forgotten.\n"
    )
    assert found(home, "quokka") == [str(harbour / "new.md")]
    assert found(home, "first note of the kitchen")[0] != str(kitchen / "one.md")


def test_one_that_is_away_is_told_and_the_others_are_brought_into_step(
    home: Home, harbour: Path, kitchen: Path
) -> None:
    harbour.rename(harbour.with_name("aside"))
    (kitchen / "new.md").write_text("The quokka sleeps.")
    done = home.run("add", "--sync")
    assert done.code == 1
    away = f"The folder {harbour} is not there; its memories are kept as they are."
    assert done.err == f"recollect: {away}\n"
    assert done.out == f"{kitchen}\nFiles: 1 added, 2 unchanged. Memories: 1 added.\n"
    assert str(harbour / "one.md") in found(home, "first note of the harbour")

    done = home.call("add", "--sync", "--json")
    assert done.code == 1
    first, second = json.loads(done.out)["folders"]
    assert first == {"path": str(harbour), "problem": away}
    assert second["path"] == str(kitchen)
    assert second["files"] == {"unchanged": 3}
    assert (second["memories"], second["left_out"], second["named"]) == ({}, {}, [])


def test_one_that_is_empty_now_is_kept_in_mind(home: Home, harbour: Path) -> None:
    for file in harbour.iterdir():
        file.unlink()
    done = home.call("add", "--sync")
    assert done.code == 1
    assert "is empty, and it had 2 files before" in done.err
    assert len(home.list_ids()) == 4


def test_a_removed_folder_is_forgotten_its_files_stay_and_bring_it_back(
    home: Home, harbour: Path, kitchen: Path
) -> None:
    before = home.list_ids()
    brings_back = f"`recollect add {harbour}` brings them back.\n"
    would = home.call("add", "--remove", str(harbour), "--dry-run").out
    assert "2 memories of" in would
    assert would.endswith(brings_back)
    assert home.list_ids() == before
    assert len(home.json("add", "--list")["folders"]) == 2
    done = home.run("add", "--remove", str(harbour))
    assert (done.code, done.err) == (0, "")
    removed = f"Removed: {harbour}. 2 memories forgotten; its files are kept. {brings_back}"
    assert done.out == removed
    assert sorted(file.name for file in harbour.iterdir()) == ["one.md", "two.md"]
    assert [one["path"] for one in home.json("add", "--list")["folders"]] == [str(kitchen)]
    assert len(home.list_ids()) == 2
    assert home.call("add", str(harbour)).code == 0
    assert home.list_ids() == before
    printed = home.json("add", "--remove", str(kitchen))
    assert printed == {"removed": str(kitchen), "forgotten": 2}
    assert home.is_sound()


def test_one_that_is_away_can_be_removed(home: Home, harbour: Path) -> None:
    harbour.rename(harbour.with_name("aside"))
    assert home.call("add", "--remove", str(harbour)).code == 0
    assert len(home.list_ids()) == 2


def test_what_was_never_added_cannot_be_removed(home: Home, tmp_path: Path) -> None:
    check_error(
        home.call("add", "--remove", str(tmp_path)), "was never added", "recollect add --list"
    )


@pytest.mark.parametrize(
    ("args", "holding"),
    [
        ((), ("FOLDER",)),
        ((".", "."), ()),
        (("--burn",), ("There is no option --burn",)),
        (("--remove",), ("recollect add --remove FOLDER",)),
        (("--sync", "x"), ("recollect add --sync",)),
        (("--list", "x"), ("recollect add --list",)),
        (("--sync", "--watch"), ("recollect add --sync",)),
        (("--list", "--sync"), ("not allowed with",)),
        ((".", "--dry-run"), ("--dry-run is for --remove",)),
        ((".", "--jsonl"), ("--jsonl and --fields are for lists",)),
    ],
)
def test_wrong_usage_is_told(home: Home, args: tuple[str, ...], holding: tuple[str, ...]) -> None:
    check_usage_error(home.call("add", *args), *holding)
