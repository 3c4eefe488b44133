"""Following folders: what changes on the disk is found soon after, whatever happens to the files.

A real watcher runs in a thread, on real files. Nothing is timed: each test waits until it is so.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from folder_homes import found, ids, long_note, vault, write

from patience import LONGEST_S, until
from recollect import Recollect
from recollect.engine import folders
from recollect.folders import watch
from recollect.folders.chunk_writing import Synced
from recollect.folders.scan import Matcher, scan_paths
from recollect.folders.watch import alone, folder_changes, wait_until_alone
from recollect.store.folders import Folder

QUIET_MS = 100


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check every few milliseconds instead of every second."""
    monkeypatch.setattr(watch, "CHECK_MS", QUIET_MS)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with vault(tmp_path / "home") as made:
        yield made


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    write(folder, {"tides.md": "The tables are here.", "work/gate.md": "The gate is shut."})
    return folder


@contextmanager
def in_a_thread(target: Callable[[], object], stop: threading.Event) -> Iterator[None]:
    """Run something that ends when `stop` is set; raise what it raises."""
    threads = ThreadPoolExecutor(1)
    running = threads.submit(target)
    try:
        yield
    finally:
        stop.set()
        threads.shutdown(wait=False)
        running.result(LONGEST_S)


@contextmanager
def following(memory: Recollect, *folders: Path) -> Iterator[list[str]]:
    """The folders are added and followed; what is told about it."""
    for folder in folders:
        memory.add_folder(folder, follow=True)
    stop, ready = threading.Event(), threading.Event()
    told: list[str] = []
    with in_a_thread(lambda: memory.follow_folders(stop, told.append, ready.set), stop):
        assert ready.wait(LONGEST_S)
        yield told


def finds(memory: Recollect, query: str, *files: str) -> None:
    """Wait until a search finds just these files."""
    until(lambda: sorted(found(memory, query)) == sorted(files), f"{query}: {ids(memory)}")


def goes_on(memory: Recollect, folder: Path) -> None:
    """A new file is found, so whatever came before it was dealt with."""
    (folder / "after.md").write_text("Zebras came afterwards.")
    finds(memory, "zebras", "after.md")
    (folder / "after.md").unlink()
    finds(memory, "zebras")


# Single files


def test_a_new_file_is_found(memory: Recollect, notes: Path) -> None:
    with following(memory, notes) as told:
        (notes / "new.md").write_text("The quokka sleeps.")
        finds(memory, "quokka", "new.md")
        until(lambda: told == ["notes: 1 added"], told)


def test_a_changed_file_is_found_as_it_is_now(memory: Recollect, notes: Path) -> None:
    with following(memory, notes):
        before = ids(memory)
        (notes / "tides.md").write_text("The quokka sleeps.")
        finds(memory, "quokka", "tides.md")
        finds(memory, "tables")
        assert ids(memory) == before


def test_a_deleted_file_disappears_and_can_be_restored(memory: Recollect, notes: Path) -> None:
    with following(memory, notes):
        [id] = ids(memory)["tides.md"]
        (notes / "tides.md").unlink()
        finds(memory, "tables")
        memory.forget([id], undo=True)
        goes_on(memory, notes)
        assert found(memory, "tables") == ["tides.md"]


def test_editors_that_write_by_rename_change_the_file(memory: Recollect, notes: Path) -> None:
    with following(memory, notes):
        before = ids(memory)
        for word in ("quokka", "wombat", "numbat"):
            (notes / "tides.md.tmp").write_text(f"The {word} sleeps.")
            (notes / "tides.md.tmp").replace(notes / "tides.md")
            finds(memory, word, "tides.md")
        assert ids(memory) == before


def test_editors_that_keep_the_old_file_change_it_too(memory: Recollect, notes: Path) -> None:
    """As vim does: try whether the folder can be written, move the old one away, write anew."""
    with following(memory, notes):
        before = ids(memory)
        (notes / "4913").touch()
        (notes / "4913").unlink()
        (notes / "tides.md").rename(notes / "tides.md~")
        (notes / "tides.md").write_text("The quokka sleeps.")
        (notes / "tides.md~").unlink()
        finds(memory, "quokka", "tides.md")
        goes_on(memory, notes)
        assert ids(memory).keys() == before.keys()


def test_a_renamed_file_keeps_its_memories(memory: Recollect, notes: Path) -> None:
    with following(memory, notes):
        before = ids(memory)["tides.md"]
        (notes / "tides.md").rename(notes / "work/ebb.md")
        finds(memory, "tables", "work/ebb.md")
        assert ids(memory)["work/ebb.md"] == before


def test_a_name_with_a_newline_is_a_name(memory: Recollect, notes: Path) -> None:
    with following(memory, notes):
        (notes / "two\nlines.md").write_text("The quokka sleeps.")
        finds(memory, "quokka", "two\nlines.md")
        (notes / "two\nlines.md").unlink()
        finds(memory, "quokka")


def test_links_pipes_and_odd_names_stay_out(memory: Recollect, notes: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"secret.md": "The quokka sleeps."})
    with following(memory, notes):
        Path(os.fsdecode(os.fsencode(notes) + b"/\xff.md")).write_text("The quokka sleeps.")
        (notes / "out").symlink_to(tmp_path / "outside")
        (notes / "loop").symlink_to(notes)
        (notes / "one.md").symlink_to(tmp_path / "outside/secret.md")
        os.mkfifo(notes / "pipe.md")
        goes_on(memory, notes)
        assert found(memory, "quokka") == []


def test_a_file_that_changes_while_it_is_read_is_found_as_it_is_in_the_end(
    memory: Recollect, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing, os_fstat = notes / "changing.md", os.fstat
    times = 0

    def written_meanwhile(handle: int) -> os.stat_result:
        nonlocal times
        held = os_fstat(handle)
        if times < 5 and changing.exists() and held.st_ino == changing.stat().st_ino:
            times += 1
            with changing.open("a") as stream:
                stream.write(f"Line {times}. ")
        return held

    with following(memory, notes):
        monkeypatch.setattr(os, "fstat", written_meanwhile)
        changing.write_text("The quokka sleeps. ")
        finds(memory, "quokka", "changing.md")
        until(lambda: times == 5)
        finds(memory, '"line 5"', "changing.md")


# Folders in it


def test_a_folder_moved_in_and_removed(memory: Recollect, notes: Path, tmp_path: Path) -> None:
    write(tmp_path / "aside", {"a.md": "The quokka sleeps.", "deep/b.md": "The wombat digs."})
    with following(memory, notes):
        (tmp_path / "aside").rename(notes / "animals")
        finds(memory, "quokka", "animals/a.md")
        finds(memory, "wombat", "animals/deep/b.md")
        (notes / "animals/deep/b.md").write_text("The numbat digs.")  # it listens there as well
        finds(memory, "numbat", "animals/deep/b.md")
        before = ids(memory)["animals/a.md"]

        (notes / "animals").rename(notes / "beasts")
        finds(memory, "quokka", "beasts/a.md")
        finds(memory, "numbat", "beasts/deep/b.md")
        assert ids(memory)["beasts/a.md"] == before
        (notes / "beasts/a.md").write_text("The quokka wakes.")
        finds(memory, "wakes", "beasts/a.md")

        shutil.rmtree(notes / "beasts")
        finds(memory, "quokka")
        finds(memory, "numbat")
        assert found(memory, "shut") == ["work/gate.md"]


@pytest.mark.parametrize("name", ["archive", "v1.2", "notes.md", ".hidden"])
def test_a_folder_that_is_moved_out_takes_its_files_along(
    memory: Recollect, notes: Path, tmp_path: Path, name: str
) -> None:
    """Of the files in it nothing is heard, only of the folder."""
    write(notes, {f"{name}/a.md": "The quokka sleeps.", f"{name} too.md": "The wombat digs."})
    with following(memory, notes):
        finds(memory, "quokka", *([] if name.startswith(".") else [f"{name}/a.md"]))
        (notes / name).rename(tmp_path / "out")
        finds(memory, "quokka")
        goes_on(memory, notes)
        assert found(memory, "shut") == ["work/gate.md"]


def test_a_folder_that_becomes_a_file(memory: Recollect, notes: Path) -> None:
    with following(memory, notes):
        shutil.rmtree(notes / "work")
        (notes / "work").write_text("The quokka sleeps.")
        finds(memory, "quokka", "work")
        finds(memory, "shut")


def test_an_ignored_file_disappears_until_it_is_not_ignored(memory: Recollect, notes: Path) -> None:
    write(notes, {"more.md": "There is more."})
    with following(memory, notes):
        (notes / ".gitignore").write_text("tides.md\n")
        finds(memory, "tables")
        (notes / "work/.recollectignore").write_text("gate.md\n")
        finds(memory, "shut")
        (notes / ".gitignore").write_text("*.log\n")
        finds(memory, "tables", "tides.md")
        (notes / "work/.recollectignore").unlink()
        finds(memory, "shut", "work/gate.md")
        (notes / "noise.log").write_text("The quokka sleeps.")
        goes_on(memory, notes)
        assert found(memory, "quokka") == []


@pytest.mark.parametrize("above", [".recollect", "node_modules", ".trash"])
def test_a_folder_may_be_anywhere(memory: Recollect, tmp_path: Path, above: str) -> None:
    folder = tmp_path / above / "notes"
    write(folder, {"a.md": "The gate is shut."})
    with following(memory, folder):
        (folder / "b.md").write_text("The quokka sleeps.")
        finds(memory, "quokka", "b.md")
        write(folder / ".git", {"c.md": "The wombat digs."})
        goes_on(memory, folder)
        assert found(memory, "wombat") == []


# Bursts


def test_a_burst_is_taken_in_and_searching_goes_on(
    memory: Recollect, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MANY", 100)
    many = 400
    with following(memory, notes):
        for number in range(many):
            file = notes / f"{number % 30}" / f"{number}.md"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"Note {number} of the burst.")
        searched = 0

        def all_there() -> bool:
            nonlocal searched
            searched += found(memory, "tables") == ["tides.md"]
            return len(ids(memory)) == many + 2

        until(all_there)
        assert searched > 0
        for number in range(0, many, 2):
            (notes / f"{number % 30}" / f"{number}.md").unlink()
        until(lambda: len(ids(memory)) == many // 2 + 2, len(ids(memory)))
        here = {str(file.relative_to(notes)) for file in notes.rglob("*.md")}
        assert ids(memory).keys() == here
        (notes / "1/new.md").write_text("The quokka sleeps.")  # it listens there as well
        finds(memory, "quokka", "1/new.md")


def test_after_a_burst_it_listens_anew(
    memory: Recollect, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system drops what it cannot queue, new folders among it, and nothing is heard of them."""
    monkeypatch.setattr(watch, "MANY", 3)
    begun = 0
    listen = watch.Follower._changes

    def counted(self: watch.Follower, present: dict[str, tuple[Folder, tuple[int, int]]]) -> object:
        nonlocal begun
        begun += 1
        return listen(self, present)

    monkeypatch.setattr(watch.Follower, "_changes", counted)
    with following(memory, notes):
        assert begun == 1
        write(notes, {f"burst-{number}.md": f"Note {number}." for number in range(10)})
        until(lambda: begun > 1)
        goes_on(memory, notes)
        assert len(ids(memory)) == 12


# Away


def test_a_folder_that_is_away_for_a_while(memory: Recollect, notes: Path) -> None:
    aside = notes.with_name("aside")
    with following(memory, notes) as told:
        notes.rename(aside)
        gone = f"The folder {notes} is not there; its memories are kept as they are."
        until(lambda: told == [gone], told)
        assert found(memory, "tables") == ["tides.md"]
        (aside / "tides.md").write_text("The quokka sleeps.")
        aside.rename(notes)
        finds(memory, "quokka", "tides.md")
        goes_on(memory, notes)
        assert told.count(gone) == 1
        assert told[1] == f"The folder {notes} is followed again."


def test_a_missing_folder_delays_no_other(memory: Recollect, notes: Path, tmp_path: Path) -> None:
    other, aside = tmp_path / "other", tmp_path / "aside"
    write(other, {"a.md": "The gate is open."})
    with following(memory, notes, other) as told:
        notes.rename(aside)
        until(lambda: len(told) == 1, told)
        goes_on(memory, other)
        aside.rename(notes)
        until(lambda: told[-1] == f"The folder {notes} is followed again.", told)
        goes_on(memory, notes)
        goes_on(memory, other)


def test_one_folder_in_which_something_always_changes_does_not_hold_up_another(
    memory: Recollect, notes: Path, tmp_path: Path
) -> None:
    busy = tmp_path / "busy"
    write(busy, {"a.md": "The gate is open."})
    (busy / ".git").mkdir()
    stop = threading.Event()

    def scribble() -> None:
        while not stop.wait(0.01):
            (busy / "noise.log").write_text(str(time.monotonic()))
            (busy / ".git/index").write_text(str(time.monotonic()))

    with following(memory, busy), in_a_thread(scribble, stop):
        memory.add_folder(notes, follow=True)
        (notes / "new.md").write_text("The quokka sleeps.")
        finds(memory, "quokka", "new.md")


def test_an_empty_folder_in_its_place_is_a_missing_disk(memory: Recollect, notes: Path) -> None:
    with following(memory, notes) as told:
        notes.rename(notes.with_name("aside"))
        notes.mkdir()
        until(lambda: any("is empty, and it had 2 files before" in one for one in told), told)
        assert found(memory, "tables") == ["tides.md"]
        notes.rmdir()
        notes.with_name("aside").rename(notes)
        until(lambda: told[-1] == f"The folder {notes} is followed again.", told)
        goes_on(memory, notes)
        assert len(ids(memory)) == 2


def test_a_folder_that_is_emptied_is_kept_in_mind(memory: Recollect, tmp_path: Path) -> None:
    """As `recollect add --sync` does: nothing says why it is empty."""
    folder = tmp_path / "notes"
    write(folder, {"tides.md": "The tables are here."})
    with following(memory, folder) as told:
        (folder / "tides.md").unlink()
        until(lambda: any("is empty, and it had 1 file" in one for one in told), told)
        assert found(memory, "tables") == ["tides.md"]
        (folder / "new.md").write_text("The quokka sleeps.")
        finds(memory, "quokka", "new.md")
        finds(memory, "tables")  # it is not empty any more, and this one is gone


def test_a_folder_that_is_away_from_the_start(memory: Recollect, notes: Path) -> None:
    memory.add_folder(notes, follow=True)
    notes.rename(notes.with_name("aside"))
    with following(memory) as told:
        until(lambda: len(told) == 1, told)
        notes.with_name("aside").rename(notes)
        goes_on(memory, notes)


# Which folders


def test_another_process_changes_folders(memory: Recollect, notes: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", {"a.md": "The gate is open."})
    with vault(tmp_path / "home") as second, following(memory):
        second.add_folder(notes, follow=True)
        goes_on(memory, notes)
        second.add_folder(tmp_path / "other", follow=True)
        goes_on(memory, tmp_path / "other")
        second.remove_folder(notes)
        (notes / "tides.md").write_text("The quokka sleeps.")  # at once, before it is known
        goes_on(memory, tmp_path / "other")
        assert ids(memory).keys() == {"a.md"}
        assert not [one for one in memory.doctor() if one.problem]


def test_other_folders_are_not_followed(memory: Recollect, notes: Path, tmp_path: Path) -> None:
    write(tmp_path / "still", {"a.md": "The gate is open."})
    memory.add_folder(tmp_path / "still")
    with following(memory, notes):
        (tmp_path / "still/b.md").write_text("The quokka sleeps.")
        goes_on(memory, notes)
        assert found(memory, "quokka") == []


def test_what_changed_before_it_began_is_found(memory: Recollect, notes: Path) -> None:
    memory.add_folder(notes, follow=True)
    write(notes, {"tides.md": "The quokka sleeps.", "long.md": long_note("ports", "cranes")})
    (notes / "work/gate.md").unlink()
    with following(memory):
        assert found(memory, "quokka") == ["tides.md"]
        assert found(memory, "cranes") == ["long.md"]
        assert found(memory, "shut") == []


def test_following_a_folder_around_the_vault_itself_comes_to_rest(
    memory: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vault's own files change with every file that is taken in."""
    write(tmp_path, {"tides.md": "The tables are here."})
    synced = 0
    sync = folders.sync_folder

    def counted(*args: Any, **named: Any) -> Synced:
        nonlocal synced
        synced += 1
        return sync(*args, **named)

    monkeypatch.setattr(folders, "sync_folder", counted)
    with following(memory, tmp_path):
        (tmp_path / "new.md").write_text("The quokka sleeps.")
        finds(memory, "quokka", "new.md")
        before = synced
        for _ in range(5):
            (tmp_path / "new.md").read_text()
            time.sleep(QUIET_MS / 1000)
        assert synced - before < 5
        assert ids(memory).keys() == {"tides.md", "new.md"}


# Ending, and who follows


def test_it_is_stopped_while_nothing_is_there(memory: Recollect) -> None:
    with following(memory) as told:
        pass
    assert told == []


def test_it_does_not_begin_when_it_is_stopped_already(memory: Recollect, notes: Path) -> None:
    memory.add_folder(notes, follow=True)
    stop = threading.Event()
    stop.set()
    memory.follow_folders(stop)
    assert [*folder_changes(notes, stop)] == []


def test_of_two_followers_of_a_home_one_is_told(tmp_path: Path) -> None:
    with alone(tmp_path) as first:
        with alone(tmp_path) as second:
            assert (first, second) == (True, False)
        with alone(tmp_path) as third:
            assert not third
    with alone(tmp_path) as again:
        assert again


def test_who_waits_goes_on_once_the_other_has_ended(tmp_path: Path) -> None:
    stop, begun = threading.Event(), threading.Event()

    def wait() -> None:
        for _ in wait_until_alone(tmp_path, stop):
            begun.set()
            stop.wait(LONGEST_S)

    with ExitStack() as other:
        other.enter_context(alone(tmp_path))
        with in_a_thread(wait, stop):
            assert not begun.wait(3 * QUIET_MS / 1000)
            other.close()
            assert begun.wait(LONGEST_S)
    assert [*wait_until_alone(tmp_path, stop)] == []


# A mirror


def test_a_folder_beats_when_it_changes_goes_and_comes_back(notes: Path) -> None:
    stop, aside = threading.Event(), notes.with_name("aside")
    heard: list[bool] = []

    def listen() -> None:
        for changed in folder_changes(notes, stop):
            heard.append(changed)

    with in_a_thread(listen, stop):
        until(lambda: len(heard) > 2 and not heard[-1])  # it listens, and nothing changes
        for act in (
            lambda: (notes / "tides.md").write_text("Changed."),
            lambda: notes.rename(aside),
            lambda: shutil.copytree(aside, notes),  # another folder at the same place
            lambda: (notes / "tides.md").write_text("Changed again."),
        ):
            before = len(heard)
            act()
            until(lambda before=before: any(heard[before:]), heard[before:])  # type: ignore[misc]
            until(lambda: not heard[-1] or not notes.exists())


# Looking at single files


def test_of_a_folder_that_is_gone_all_files_are_gone(notes: Path) -> None:
    shutil.rmtree(notes / "work")
    scan = scan_paths(notes, ["work"], Matcher(notes))
    assert scan.gone("work/gate.md")
    assert not scan.gone("workshop.md")
    assert not scan.gone("tides.md")


def test_an_unreadable_file_is_not_gone(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lstat = os.lstat

    def refusing(path: os.PathLike[str] | str) -> os.stat_result:
        if str(path).endswith("gate.md"):
            raise PermissionError(13, "Permission denied")
        return lstat(path)

    monkeypatch.setattr(os, "lstat", refusing)
    monkeypatch.setattr(Path, "lstat", lambda self: refusing(self))
    scan = scan_paths(notes, ["work/gate.md", "tides.md"], Matcher(notes))
    assert not scan.gone("work/gate.md")
    assert scan.left_out == {"unreadable": 1}
    assert [path for path, _ in scan.named] == ["work/gate.md"]
