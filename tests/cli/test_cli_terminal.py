"""Output that only a terminal gets: colour, bars, progress."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commandline import ESCAPE, NOW, Home, lines

MANY = lines(*({"title": f"Note {number}", "text": "some words"} for number in range(3000)))
CLEARED = "\x1b[2K"  # the progress bar's line
COMMANDS = (
    "search tokens --explain|list --limit 3|show auth-jwt-001|recipes|stats|doctor|"
    "context tokens --limit 2|demo"
).split("|")


def plain(text: str) -> str:
    """Without colour, and without what differs from run to run."""
    return re.sub(r"\x1b\[[0-9;]*m", "", re.sub(r"[0-9.]+ ms", "", text))


@pytest.mark.parametrize("line", COMMANDS)
def test_colour_on_a_terminal_and_none_in_a_pipe(demo: Home, line: str) -> None:
    terminal, pipe = demo.on_terminal(*line.split()), demo.run(*line.split())
    assert (terminal.code, pipe.code) == (0, 0)
    assert ESCAPE in terminal.out
    assert ESCAPE not in pipe.out
    assert pipe.err == ""
    assert terminal.err == "" or (line == "demo" and terminal.err.endswith(CLEARED))


def test_no_color_is_respected(demo: Home) -> None:
    """A title is bold still, and what matches is underlined: neither is a colour."""
    args = ("search", "refresh tokens")
    shown = demo.on_terminal(*args, using={"NO_COLOR": "1"}).out
    assert set(re.findall(r"\x1b\[[0-9;]*m", shown)) == {"\x1b[0m", "\x1b[1m", "\x1b[4m"}
    assert ESCAPE not in demo.on_terminal(*args, using={"TERM": "dumb"}).out
    assert ESCAPE in demo.on_terminal(*args, using={"NO_COLOR": ""}).out, "Empty counts as not set."


def test_colour_changes_no_word(demo: Home) -> None:
    for args in (("list", "--limit", "5"), ("search", "tokens", "--recipe", "vault")):
        coloured = demo.on_terminal(*args)
        uncoloured = demo.on_terminal(*args, using={"NO_COLOR": "1"})
        assert plain(coloured.out) == plain(uncoloured.out)


def test_a_context_has_bold_titles_and_dim_notes_around_them(demo: Home) -> None:
    args = ("context", "--limit", "2", "--dates")
    assert " · 15 days ago · core-" in demo.on_terminal(*args[:-1]).out
    shown = demo.on_terminal(*args).out
    title = "How I like to work with coding agents"
    assert f"> {ESCAPE}[0m{ESCAPE}[1m{title}{ESCAPE}[0m\n{ESCAPE}[2mpreference · " in shown
    assert f"{ESCAPE}[2m2 memories: 2 pinned{ESCAPE}[0m" in shown
    one_line = [text.replace("\n> ", " ") for text in (plain(shown), demo.run(*args).out)]
    assert one_line[0] == one_line[1]


def test_matches_are_marked_by_colour_and_never_by_tags(demo: Home) -> None:
    args = ("search", "refresh tokens", "--recipe", "router")
    assert "<mark>" not in demo.run(*args).out
    terminal = demo.on_terminal(*args).out
    assert "<mark>" not in terminal
    assert f"{ESCAPE}[1;33m" in terminal


def test_a_table_of_recipes_fits_the_terminal(demo: Home) -> None:
    assert max(map(len, plain(demo.on_terminal("demo").out).splitlines())) <= 120


def test_a_memory_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """An escape sequence in a text, which an agent may have read anywhere, is shown, not sent."""
    evil = "token \x1b]0;owned\x07 \x1b[2J \x9b31m \x08\x7f end"
    home = Home(tmp_path / "home", RECOLLECT_NOW=NOW)
    names = ("title", "text", "context", "why", "impact", "details", "kind", "domain", "project")
    home.import_memories({"id": "e\x1bvil", **dict.fromkeys(names, evil), "tags": [evil]})
    views = ("scan", "full", "pointer", "preview", "snippet")
    for args in (
        ("list", "--limit", "1"),
        ("show", "e\x1bvil"),
        ("context", "token"),
        ("stats",),
        *(("search", "token", "--view", view, "--explain") for view in views),
    ):
        shown = home.call(*args)
        assert shown.code == 0
        assert not set(shown.out) & set("\x1b\x07\x08\x7f\x9b"), args
        assert "␛" in shown.out
    assert home.json("show", "e\x1bvil")[0]["text"] == evil, "Programs get what was saved."


def test_an_import_shows_its_progress_on_a_terminals_stderr(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_bytes(MANY)
    home = Home(tmp_path / "home")
    watched = home.on_terminal("import", str(file))
    assert watched.code == 0
    assert "Importing" in watched.err
    assert re.search(r"\d+(\.\d+)?/\d+(\.\d+)? ?[kM]B", watched.err), "How far it is."
    assert watched.out == "3,000 added, 0 updated, 0 unchanged.\n"
    assert home.list_ids("--limit", "1")


def test_an_import_from_standard_input_shows_progress_and_below_it_bad_lines(
    tmp_path: Path,
) -> None:
    watched = Home(tmp_path / "home").on_terminal("import", "-", stdin=MANY + b'{"title": 5}\n')
    assert watched.code == 1
    assert "Importing" in watched.err
    assert watched.err.endswith(f"{CLEARED}line 3001: title must be a text, not a number.\n")
    assert "Embedding" not in watched.err, "There is no model, so there is no bar for it."
    assert watched.out.startswith("3,000 added")


def test_no_progress_in_a_pipe(tmp_path: Path) -> None:
    done = Home(tmp_path / "home").run("import", "-", stdin=MANY)
    assert (done.code, done.err) == (0, "")


def test_stats_are_drawn_on_a_terminal(demo: Home) -> None:
    drawn = plain(demo.on_terminal("stats").out)
    assert re.search(r"^  harbor-api +\d+  █+$", drawn, re.MULTILINE)
    assert re.search(r"^by month +[ ▁-█]+  24 months, at most \d+ in one$", drawn, re.MULTILINE)
