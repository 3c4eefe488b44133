"""The checks of the examples themselves: a wrong page must not pass them."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_blocks import Block, Reader, matches, shown


def console(text: str) -> Block:
    return Block(Path(__file__), 1, "console", text, "", "")


def test_three_dots_stand_for_lines_or_for_part_of_one() -> None:
    assert matches("a\n...\nz", "a\nb\nc\nz\n")
    assert matches("took ... here", "took a while here\n")
    assert not matches("a\n...\nz", "a\nb\n")
    assert not matches("a", "a\nb\n")
    assert not matches("a ... c", "a\nb c\n")


def test_times_and_milliseconds_may_differ() -> None:
    assert matches("2026-01-02T03:04:05Z · 1.2 ms", "2027-11-12T13:14:15.123456Z · 34.5 ms\n")
    assert not matches("1.2 s", "1.3 s\n")


def test_scores_of_a_model_may_differ_a_little() -> None:
    assert matches(
        "x  0.4199\n├─ vector  0.102411  cosine",
        "x  0.4187\n├─ vector  0.101  cosine",
        0.02,
    )
    assert matches("x  11.0431", "x  11.2431\n", 0.02)
    assert not matches("x  11.0431", "x  11.2931\n", 0.02)
    assert not matches("x  0.4199", "x  0.5199\n", 0.02)
    assert not matches("x  0.4199", "x  0.4187\n")
    assert not matches("x  0.4199", "y  0.4199\n", 0.02)


def test_a_command_may_go_on_in_the_next_line() -> None:
    [one, two] = shown(console("$ recollect save \\\n    --title T\nt-abc\n$ recollect list\n"))
    assert one == ("recollect save \\\n    --title T", "t-abc")
    assert two == ("recollect list", "")


@pytest.mark.parametrize(
    "text",
    [
        "$ recollect list\nSomething else.\n",
        "$ recollect show nope\n...\n",
        "$ recollect list\nrecollect: ...\n",
        "$ false\n$ recollect list\n...\n",
    ],
    ids=["other output", "unseen failure", "promised failure", "failure in the shell"],
)
def test_a_wrong_page_is_noticed(text: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        Reader(tmp_path).console(console(text))


def test_an_error_is_shown_by_its_line_or_by_its_exit_code(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    reader.console(console("$ recollect show nope\nrecollect: There is no memory 'nope'.\n"))
    reader.console(console("$ recollect show nope\nrecollect: ...\n$ echo $?\n1\n"))
    reader.console(console("$ export COLOUR=blue\n$ echo $COLOUR | tr a-z A-Z\nBLUE\n"))
