"""`recollect backup` and `recollect restore`, as a person or a script calls them."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from commandline import Home, check_error, check_usage_error


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.save("--id", "oak", "--title", "The oak")
    return made


def test_a_backup_brings_back_what_was_lost(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "kept.db"
    made = home.call("backup", str(file))
    assert made.out == f"Backup verified and saved: {file} (1 memory, not locked)\n"
    assert home.call("backup", "--check", str(file)).out == f"{file} is OK: 1 memory, not locked.\n"
    home.call("forget", "--purge", "oak")
    done = home.call("restore", "--from", str(file))
    [said, kept] = done.out.splitlines()
    assert said == f"The vault is restored from {file}: 1 memory, not locked."
    assert Path(kept.removeprefix("The old vault was kept: ")).is_file()
    assert home.list_ids() == ["oak"]
    assert home.is_sound()


def test_the_same_as_json(home: Home, tmp_path: Path) -> None:
    made = home.json("backup", "--keep", "1")
    again = home.json("backup", "--keep", "1", using={"RECOLLECT_NOW": "2999-01-01"})
    assert again["removed"] == [made["file"]]
    holds = {"version": made["version"], "memories": 1, "forgotten": 0, "locked": False}
    assert again == {"file": again["file"], **holds, "removed": [made["file"]]}
    assert home.json("backup", "--check", again["file"]) == {"file": again["file"], **holds}
    done = home.json("restore", "--from", again["file"])
    assert done == {"vault": str(home.vault), **holds, "replaced": done["replaced"]}


def test_backups_of_one_second_stay_side_by_side(home: Home) -> None:
    now = {"RECOLLECT_NOW": "2026-03-01T12:00:00Z"}
    files = [home.json("backup", using=now)["file"] for _ in range(3)]
    assert len(set(files)) == 3
    assert all(home.json("backup", "--check", file)["memories"] == 1 for file in files)
    last = home.json("backup", "--keep", "2", using=now)
    assert last["removed"] == files[:2]


def test_backups_at_once_in_one_second_stay_side_by_side(home: Home) -> None:
    now = {"RECOLLECT_NOW": "2026-03-01T12:00:00Z"}
    with ThreadPoolExecutor() as pool:
        made = [pool.submit(home.run, "backup", "--json", using=now) for _ in range(3)]
    assert len({one.result().json()["file"] for one in made}) == 3
    assert len(list((home.folder / "backups").iterdir())) == 3


def test_a_refusal_is_one_sentence(home: Home, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    notes, missing = str(tmp_path / "notes.txt"), str(tmp_path / "missing" / "x.db")
    check_error(home.call("backup", notes), "not a backup")
    check_error(home.call("backup", missing), missing, "No such file or directory")
    check_error(home.call("backup", "--keep", "2", missing), "not a folder")
    check_error(home.call("backup", "--check", notes), "not a SQLite database")
    check_error(home.call("restore", "--from", missing), "There is no file")
    check_usage_error(home.call("backup", "--keep", "0"), "--keep must be 1 or more")
    check_usage_error(home.call("backup", "x.db", "--check", "y.db"), "--check takes one file")
    check_usage_error(home.call("restore"), "--from")


def test_a_terminal_sees_how_far_it_is(home: Home) -> None:
    done = home.on_terminal("backup")
    assert done.code == 0
    assert "Copying" in done.err


def test_a_migration_says_where_the_copy_is_in_one_line(home: Home) -> None:
    shutil.copyfile(Path(__file__).parents[1] / "migrations" / "vault-v4.db", home.vault)
    done = home.run("stats")
    [file] = (home.folder / "backups").iterdir()
    assert done.code == 0
    assert done.err == f"The vault {home.vault} is migrated. A copy of it as it was: {file}\n"
