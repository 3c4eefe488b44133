"""Commands that keep running, `add --watch` and `mirror --watch`, and commands that wait."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest
from commandline import LONGEST_S, RECOLLECT, Home, check_usage_error

from patience import until

FOLLOWING = "Watching for changes. Press Ctrl+C to stop."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/tides.md").write_text("The tables are here.")
    return Home(tmp_path / "home")


@pytest.fixture
def notes(home: Home) -> Path:
    return home.folder.parent / "notes"


class Running:
    """A command that goes on. What it prints is read from a file, so that nothing waits."""

    def __init__(self, home: Home, *args: str) -> None:
        home.folder.mkdir(exist_ok=True)
        self._file = home.folder.parent / f"{'-'.join(args[:1])}.out"
        with self._file.open("wb") as stream:
            self.process = subprocess.Popen(
                [RECOLLECT, *args],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=home.folder.parent,
                env=home.environment,
            )

    @property
    def out(self) -> str:
        return self._file.read_text()

    def says(self, part: str) -> None:
        until(lambda: part in self.out or self.process.poll() is not None)
        assert part in self.out, self.out

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(LONGEST_S)


@contextmanager
def running(home: Home, *args: str) -> Iterator[Running]:
    started = Running(home, *args)
    try:
        started.says(FOLLOWING)
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
            started.process.wait()


def finds(home: Home, query: str, *files: Path) -> None:
    wanted = sorted(map(str, files))
    until(lambda: sorted(one["file"]["path"] for one in home.search(query)["results"]) == wanted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_add_goes_on_and_follows_until_it_is_stopped(
    home: Home, notes: Path, number: signal.Signals
) -> None:
    with running(home, "add", "notes", "--watch") as following:
        assert following.out.startswith("Files: 1 added. Memories: 1 added.\n")
        (notes / "new.md").write_text("The quokka sleeps.")
        finds(home, "quokka", notes / "new.md")
        following.says("notes: 1 added")
        (notes / "new.md").unlink()
        finds(home, "quokka")
        assert home.call("add", "--list").out == f"{notes}  1 file, project notes, watched\n"
        assert following.stop(number) == 0
        assert "Traceback" not in following.out
    assert home.is_sound()


def test_one_process_follows_all_folders_and_a_second_is_told(
    home: Home, notes: Path, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    with running(home, "add", "--watch") as following:
        done = home.run("add", "notes", "--watch")
        assert done.code == 0
        assert "Another process already follows the folders of this vault" in done.out
        assert home.run("add", "more", "--watch").code == 0
        (tmp_path / "more/new.md").write_text("The quokka sleeps.")
        finds(home, "quokka", tmp_path / "more/new.md")
        done = home.run("add", "--watch")
        assert (done.code, "Another process" in done.out) == (0, True)
        assert following.stop() == 0


def test_a_mirror_is_followed_on_both_sides(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "mirror"
    folder.mkdir()
    home.save("--id", "jwt", "--title", "Switched to JWT")
    with running(
        home, "mirror", "mirror", "--watch"
    ) as following:  # named relative to the working directory
        assert following.out.startswith("1 written, 0 unchanged.\n")
        home.save("--id", "tide", "--title", "Tides")
        until((folder / "Tides.md").exists)
        (folder / "Idea.md").write_text("An idea of a quokka.\n")
        until(lambda: len(home.search_ids("quokka")) == 1)
        following.says("1 imported")

        folder.rename(tmp_path / "aside")
        following.says("recollect: There is no folder")
        (tmp_path / "aside/Thought.md").write_text("A thought of a wombat.\n")
        (tmp_path / "aside").rename(folder)
        until(lambda: len(home.search_ids("wombat")) == 1)
        assert len(home.list_ids()) == 4
        assert following.out.count("There is no folder") == 1
        assert following.stop() == 0
        assert "Traceback" not in following.out


@pytest.mark.parametrize("args", ["--dry-run", "--json"])
def test_a_mirror_that_is_followed_is_neither_tried_nor_json(home: Home, args: str) -> None:
    check_usage_error(
        home.call("mirror", "notes", "--watch", args), "--watch cannot be combined with"
    )


@pytest.fixture
def oak(home: Home) -> Home:
    home.save("--id", "oak", "The oak")
    return home


@contextmanager
def started(home: Home, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the command; check at the end that it succeeded."""
    with home.start(*args) as process:
        yield process
        assert process.wait(LONGEST_S) == 0


def test_a_save_says_that_another_process_writes(oak: Home) -> None:
    with closing(apsw.Connection(str(oak.vault))) as other:
        other.execute("BEGIN IMMEDIATE")
        with started(oak, "save", "--title", "The elm", "--text", "A tree") as process:
            assert process.stderr is not None
            told = process.stderr.readline()
            other.execute("ROLLBACK")
    assert told == b"Waiting: another process is writing to the vault.\n"
    assert len(oak.list_ids()) == 2


def test_a_command_says_that_it_reads_standard_input(oak: Home) -> None:
    with started(oak, "save", "--title", "The elm") as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        assert process.stdin is not None
        process.stdin.write(b"A tree")
        process.stdin.close()
    assert told.startswith(b"Waiting: standard input has not ended")
    assert oak.json("search", "tree")["results"][0]["title"] == "The elm"


def test_the_demo_shows_how_far_it_is(home: Home) -> None:
    shown = home.on_terminal("demo")
    assert shown.code == 0
    assert "Preparing it" in shown.err
    assert shown.out.startswith("A demo vault with 80 sample memories.")
