"""A command that waits says for what, after a second."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest
from commandline import LONGEST_S, RECOLLECT, Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.save("--id", "oak", "The oak")
    return home


@contextmanager
def begun(home: Home, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command, running; at the end it has succeeded."""
    with subprocess.Popen(
        [RECOLLECT, *args],
        env=home.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        yield process
        assert process.wait(LONGEST_S) == 0


def test_a_save_says_that_another_process_writes(home: Home) -> None:
    with closing(apsw.Connection(str(home.vault))) as other:
        other.execute("BEGIN IMMEDIATE")
        with begun(home, "save", "--title", "The elm", "--text", "A tree") as process:
            assert process.stderr is not None
            told = process.stderr.readline()
            other.execute("ROLLBACK")
    assert told == b"Waiting: another process is writing to the vault.\n"
    assert len(home.list_ids()) == 2


def test_a_command_says_that_it_reads_standard_input(home: Home) -> None:
    with begun(home, "save", "--title", "The elm") as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        assert process.stdin is not None
        process.stdin.write(b"A tree")
        process.stdin.close()
    assert told.startswith(b"Waiting: standard input has not ended")
    assert home.json("search", "tree")["results"][0]["title"] == "The elm"


def test_the_demo_shows_how_far_it_is(home: Home) -> None:
    shown = home.on_terminal("demo")
    assert shown.code == 0
    assert "Preparing it" in shown.err
    assert shown.out.startswith("A demo vault with 80 sample memories.")
