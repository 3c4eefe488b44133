"""`recollect find`: results while typing, the effects of keys, and its refusals."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import termios
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from unittest import mock

import apsw
import pytest
from commandline import NOW, RECOLLECT, Home, check_error
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from patience import until
from recollect.engine import Recollect
from recollect.interfaces.cli.find import TerminalText, find_terminal
from recollect.plugins.picker.answers import Answer, Item, LiveAnswers, key_lines
from recollect.plugins.picker.screen import Picker
from recollect.types import Search

LONGEST_S = 60
FORGET, UNDO, PIN, ACCEPT, OPEN = "\x18", "\x1a", "\x14", "\x07", "\x0f"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", RECOLLECT_NOW=NOW)
    home.import_memories(
        {"id": "a", "title": "Deploys run on Buildkite", "text": "Since the move.\tTwice a day."},
        {"id": "b", "title": "灰度发布步骤", "text": "a \x1b[31m deploy \u202e in steps"},
        {"id": "c", "title": "Tides", "text": "The harbour is deep at noon. " * 20},
    )
    return home


class Pilot:
    """Waits for texts on the picker's screen, each followed by keys."""

    def __init__(self, home: Home, columns: int = 120, query: str = "", lines: int = 24) -> None:
        self._home, self._query = home, query
        self._size = Size(lines, columns)
        self.screens: list[str] = []
        self.commands: list[list[str]] = []

    def _run(self, command: list[str]) -> int:
        self.commands.append(command)
        return 0

    def through(self, *steps: tuple[str, str]) -> Item | None:
        output = Vt100_Output(io.StringIO(), lambda: self._size, term="xterm")
        waiting = [*steps]
        with create_pipe_input() as keys:
            picker = Picker(
                lambda: Recollect(home=self._home.folder, environment=self._home.environment),
                Search(query=self._query, limit=20, mark=True),
                self._run,
                TerminalText(),
                colour=True,
                output=output,
                input=keys,
            )

            def rendered(app: object) -> None:
                while waiting and waiting[0][0] in (shown := self._text(picker)):
                    self.screens.append(shown)
                    if pressed := waiting.pop(0)[1]:
                        keys.send_text(pressed)
                        break

            picker.app.after_render += rendered
            late = threading.Timer(LONGEST_S, keys.send_text, ["\x03"])
            late.start()
            try:
                # A browser's event loop may be running in the main thread.
                with ThreadPoolExecutor(1) as own:
                    return own.submit(picker.run).result()
            finally:
                late.cancel()
                assert not waiting, self._text(picker)

    def _text(self, picker: Picker) -> str:
        screen = picker.app.renderer.last_rendered_screen
        if screen is None:
            return ""
        rows = (screen.data_buffer[row] for row in range(self._size.rows))
        lines = (
            "".join(row[column].char for column in range(self._size.columns)).rstrip()
            for row in rows
        )
        return "\n".join(lines)


def test_results_come_while_one_types_and_enter_chooses(home: Home) -> None:
    pilot = Pilot(home)
    chosen = pilot.through(("Type to search.", "deploy"), ("2 results", "\x1b[B"), ("› 灰", "\r"))
    assert chosen is not None
    assert chosen.memory.id == "b"
    assert "› Deploys run on Buildkite" in pilot.screens[1]
    assert "Since the move. Twice a day." in pilot.screens[1], "Its text stands beside the list."
    assert "a ␛[31m deploy <U+202E> in steps" in pilot.screens[2], "Nothing steers the terminal."


def test_the_keys_change_the_chosen_memory_and_undo_it(home: Home) -> None:
    pilot = Pilot(home, query="buildkite")
    left = pilot.through(
        ("› Deploys", FORGET),
        ("Forgotten.", UNDO),
        ("It is back.", ""),
        ("› Deploys", PIN),
        ("› * Deploys", ACCEPT),
        ("Accepted:", "\t"),
        ("matching words", "\x03"),
    )
    assert left is None
    assert home.json("show", "a")[0]["tier"] == "core"
    undone = home.call("feedback", "buildkite", "a", "--undo")
    assert undone.out == "Taken back. Feedback so far: 0 accepted, 0 dismissed.\n"


def test_a_file_is_opened_at_the_line_that_matches(home: Home) -> None:
    notes = home.folder.parent / "notes"
    notes.mkdir()
    (notes / "cranes.md").write_text("# Cranes\n\nSeven stand at the quay.\n\nOne is broken.\n")
    home.call("add", str(notes))
    pilot = Pilot(home, query="broken")
    chosen = pilot.through(("› Cranes", OPEN), ("1 result", "\r"))
    assert chosen is not None
    assert chosen.line == 5
    assert pilot.commands == [["open", "--line=5", "--", chosen.memory.id]]
    opened = home.folder.parent / "opened"
    editor = home.folder.parent / "vim"
    editor.write_text(f'#!/bin/sh\necho "$@" > {opened}\n')
    editor.chmod(0o755)
    assert home.call(*pilot.commands[0], using={"EDITOR": str(editor)}).code == 0
    assert opened.read_text().split() == ["+5", str(notes / "cranes.md")]


@pytest.mark.parametrize("down", [0, 1, 2])
def test_the_cursor_stays_on_what_was_forgotten_and_brought_back(home: Home, down: int) -> None:
    first, second, third = titles = ["Deploys", "灰", "Tides"]
    here = titles[down]
    after = {first: second, second: third, third: second}[here]
    Pilot(home).through(
        *((f"› {title}", "\x1b[B") for title in titles[:down]),
        (f"› {here}", FORGET),
        ("Forgotten.", ""),
        (f"› {after}", UNDO),
        ("It is back.", ""),
        (f"› {here}", PIN),  # it goes to the top
        (f"› * {here}", UNDO),
        ("Unpinned.", ""),
        (f"› {here}", "\x03"),
    )


def test_the_status_says_what_is_waited_for(home: Home) -> None:
    pilot = Pilot(home, query="tides")
    with closing(apsw.Connection(str(home.vault))) as other, ThreadPoolExecutor(1) as aside:
        other.execute("BEGIN IMMEDIATE")

        def end() -> None:
            until(lambda: len(pilot.screens) > 1)
            other.execute("ROLLBACK")

        ended = aside.submit(end)
        waiting = "Waiting: another process is writing to the vault."
        pilot.through(("› Tides", FORGET), (waiting, ""), ("Forgotten.", "\x03"))
        ended.result()
    assert home.list_ids() == ["a", "b"]


def test_a_narrow_screen_has_the_preview_below_and_every_key(home: Home) -> None:
    pilot = Pilot(home, columns=60, query="tides")
    pilot.through(("› Tides", "\x1b[6~"), ("noon", "\x03"))
    assert "─" * 60 in pilot.screens[0]
    assert "Esc leave" in pilot.screens[0]
    assert max(map(len, key_lines(60))) <= 60


def test_a_vault_that_cannot_be_opened_ends_it(home: Home) -> None:
    (home.folder / "config.toml").write_text("[search\n", encoding="utf-8")
    with pytest.raises(Exception, match="cannot be read as TOML"):
        Pilot(home).through()


def test_an_answer_for_words_that_are_gone_is_dropped(home: Home) -> None:
    begun, ended, shown = threading.Event(), threading.Event(), threading.Event()
    answers: list[Answer] = []

    def answered(self: LiveAnswers, memory: Recollect, query: str, quick: bool) -> Answer:
        if query == "old":
            begun.set()
            assert ended.wait(LONGEST_S)
        return Answer(problem=query)

    def show(answer: Answer) -> None:
        answers.append(answer)
        shown.set()

    memory = Recollect(home=home.folder, environment=home.environment)
    with mock.patch.object(LiveAnswers, "_search_now", answered):
        asking = LiveAnswers(memory, Search(query=""), show)
        asking.ask("old")
        assert begun.wait(LONGEST_S)
        asking.ask("new")
        ended.set()
        assert shown.wait(LONGEST_S)
        asking.close()
    assert [answer.problem for answer in answers] == ["new"]


def test_without_a_terminal_it_says_what_to_use(home: Home) -> None:
    check_error(home.call("find", "x"), "needs a terminal", "recollect search WORDS")
    terminal = mock.Mock(isatty=lambda: True)
    with mock.patch("sys.stdin", terminal), mock.patch("sys.stdout", terminal):
        with mock.patch.dict(os.environ, {"TERM": "dumb"}):
            assert find_terminal() is None
        with mock.patch.dict(os.environ, {"TERM": "xterm"}):
            assert find_terminal() is terminal


@pytest.mark.installed
def test_the_installed_command_is_used_in_a_script(home: Home) -> None:
    """As in `recollect show $(recollect find)`: drawn on the terminal, the id in the pipe."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(there)
    with subprocess.Popen(
        [RECOLLECT, "find", "tides"],
        stdin=there,
        stdout=subprocess.PIPE,
        stderr=there,
        env=home.environment | {"TERM": "xterm-256color"},
    ) as process:
        seen = b""
        while b"1 result" not in seen:
            seen += os.read(here, 65536)
        os.write(here, b"\r")
        assert process.stdout is not None
        assert process.stdout.read() == b"c\n"
    assert process.returncode == 0
    assert termios.tcgetattr(there) == before
    os.close(there)
    os.close(here)
