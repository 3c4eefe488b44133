"""`recollect tour`: its steps with and without a terminal, and that nothing is left of it."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from commandline import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", TMPDIR=str(tmp_path))


def test_without_a_terminal_every_step_is_printed_with_its_answer(home: Home) -> None:
    done = home.call("tour")
    assert (done.code, done.err) == (0, "")
    for part in (
        "8/8 Agent", "matching words", "replaces deploys", "version 1 ", "Deploys run on Buildkite",
    ):  # fmt: skip
        assert part in done.out
    assert not home.folder.exists(), "The person's own vault is not touched."
    assert not [*home.folder.parent.glob("recollect-tour-*")]


def test_a_person_types_commands_and_leaves_at_any_time(home: Home) -> None:
    typed = b'recollect save "A thought of mine"\nserve\n"\n\nthought\nq\n'
    with mock.patch("recollect.interfaces.cli.tour.on_terminal", return_value=True):
        done = home.call("tour", stdin=typed)
    assert done.code == 0
    assert "The tour is for: save, edit" in done.out, "Nothing outside the vault is changed."
    assert "No closing quotation. Once more." in done.out
    assert " 1  A thought of mine" in done.out
    assert "2/8" in done.out, "After a command of their own the step is still there."
    assert "3/8" not in done.out
    assert done.out.endswith("You left the tour; nothing of it is left.\n")
