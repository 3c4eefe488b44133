"""Help: what it lists and explains, its width, and examples that are commands."""

from __future__ import annotations

import re
import shlex

import pytest
from commandline import ESCAPE, Home, check_usage_error

from recollect.interfaces.cli import commands
from recollect.interfaces.cli.arguments import parser_of
from recollect.interfaces.cli.commands import (
    FIRST,
    GROUPS,
    command_of,
    every_command,
    resolve,
)

# Up to a pipe, the end of a substitution, or a remark after several spaces.
CALL = re.compile(r"recollect (?P<line>[\w-]+(?:\"[^\"]*\"|'[^']*'|(?!  )[^|<>)\"'])*)")


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",), ("help",)])
def test_the_first_screen_explains_twelve_commands_and_names_the_groups(
    home: Home, args: tuple[str, ...]
) -> None:
    shown = home.call(*args)
    assert shown.code == 0
    for name in FIRST.split():
        assert f"\n  {name} " in shown.out
    for group, names in GROUPS.items():
        assert f"\n  {group:<10}{names.replace(' ', ', ')}\n" in shown.out
    assert len(shown.out.splitlines()) <= 33
    assert "\n  context " not in shown.out


@pytest.mark.parametrize("args", [("help", "--all"), ("--help", "--all"), ("-h", "--all")])
def test_all_of_the_help_explains_thirty_commands_and_then_the_others(
    home: Home, args: tuple[str, ...]
) -> None:
    shown = home.call(*args).out
    visible = f"{FIRST} {' '.join(GROUPS.values())}".split()
    assert 28 <= len(set(visible)) == len(visible) <= 34
    for name in visible:
        assert f"\n  {name} " in shown
    rest = shown.partition("\nRarely needed:\n")[2].partition("\n\n")[0]
    hidden = {name for name in every_command() if " " not in name} - set(visible)
    assert set(re.findall(r"^  (\S+)", rest, re.MULTILINE)) == hidden


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_help_is_as_wide_as_the_columns(
    home: Home, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    texts = [
        commands.overview(whole=True),
        *(parser_of(name).format_help() for name in every_command()),
    ]
    wide = [line for text in texts for line in text.splitlines() if len(line) > columns]
    assert max(map(len, "\n".join(texts).splitlines())) > columns - 10
    if columns == 60:  # examples stay as they are, to be copied
        wide = [line for line in wide if "recollect " not in line and "  " not in line[:2]]
    assert wide == []


@pytest.mark.installed
def test_help_of_the_installed_command_is_plain_80_columns_wide_and_makes_no_home(
    home: Home,
) -> None:
    piped = home.run("search", "--help")
    assert piped.code == 0
    assert ESCAPE not in piped.out
    assert 70 < max(map(len, piped.out.splitlines())) <= 80
    narrow = home.run("search", "--help", using={"COLUMNS": "50"}).out
    assert narrow.count("\n") > piped.out.count("\n")
    assert not home.folder.exists()


@pytest.mark.parametrize("name", every_command())
def test_every_command_has_help_with_an_example(home: Home, name: str) -> None:
    shown = home.call(*name.split(), "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"usage: recollect {name} ")
    _, _, example = shown.out.partition("\nexample:\n")
    assert example.startswith(f"  recollect {name}"), shown.out


@pytest.mark.parametrize("name", every_command())
def test_every_line_of_an_example_is_a_command(name: str) -> None:
    text = re.sub(r"\\\n\s*", "", command_of(name).example)
    calls = [resolve(shlex.split(call["line"])) for call in CALL.finditer(text)]
    assert calls
    assert name.split()[0] in {command.split()[0] for command, _ in calls}
    for command, args in calls:
        parser_of(command).parse_args(args)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tags", "tag"), ("unpin", "pin"), ("restore", "trash restore"), ("copy", "store copy"),
        ("migrate", "store migrate"), ("ls", "list"),
    ],
)  # fmt: skip
def test_a_merged_command_keeps_its_name(home: Home, old: str, new: str) -> None:
    assert f"\n  {old} " not in home.call("help", "--all").out
    help = home.call(*new.split(), "--help")
    assert help.out.startswith(f"usage: recollect {new} ")
    assert home.call("help", old) == home.call(old, "--help") == help


def test_a_group_without_its_second_word_explains_it(home: Home) -> None:
    for name in ("access", "store"):
        assert home.call(name).out == home.call(name, "--help").out
    assert "\n  access audit " in home.call("access").out
    check_usage_error(home.call("access", "tokn", "list"), "Did you mean token?")
    check_usage_error(home.call("stats", "all"), "unrecognized arguments: all.")
