"""First impressions: folded lists, a pager, exit codes, and near names."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import ESCAPE, NOW, Home, check_error

from recollect.interfaces.cli.output import ELSEWHERE, Screen

STRONG = "connection pool: connections per web worker"
FOLDED = re.compile(r"(\d+) weaker results?: --all")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The sample memories, and the bundled models: only meaning makes an answer sure."""
    home = Home(
        tmp_path_factory.mktemp("seeing") / "home",
        RECOLLECT_NOW=NOW,
        RECOLLECT_EMBEDDING__PROVIDER="builtin",
    )
    assert home.call("demo", "--keep", str(home.folder)).code == 0
    return home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", RECOLLECT_NOW=NOW)
    home.save("--id", "a", "Deploys run on Buildkite", "--tag", "ci", "--project", "harbor-api")
    home.save("--id", "b", "The port of the page", "--kind", "bug")
    return home


def places(text: str) -> list[int]:
    """The numbers of the results that are shown."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return [int(place) for place in re.findall(r"^ ?(\d+)  \S", plain, re.MULTILINE)]


def test_a_strong_answer_folds_what_is_far_behind_it(demo: Home) -> None:
    whole = demo.search(STRONG)
    assert whole["evidence"] == "strong"
    shown = demo.on_terminal("search", STRONG).out
    [folded] = map(int, FOLDED.findall(shown))
    assert places(shown) == [*range(1, len(whole["results"]) - folded + 1)]
    assert 1 < len(places(shown)) < len(whole["results"])


@pytest.mark.parametrize(
    "more",
    [("--all",), ("--limit", "10"), ("--sort", "newest")],
    ids=lambda more: more[0],
)
def test_who_asks_for_the_list_gets_all_of_it(demo: Home, more: tuple[str, ...]) -> None:
    shown = demo.on_terminal("search", STRONG, *more).out
    assert places(shown) == [*range(1, len(demo.search_ids(STRONG, *more)) + 1)]
    assert not FOLDED.search(shown)


def test_a_program_gets_the_whole_list(demo: Home) -> None:
    found = demo.search_ids(STRONG)
    assert len(places(demo.run("search", STRONG).out)) == len(found)
    assert demo.on_terminal("search", STRONG, "--ids").out.split() == found
    assert len(demo.on_terminal("search", STRONG, "--json").json()["results"]) == len(found)


def test_a_weak_answer_folds_nothing(demo: Home) -> None:
    query = "who owns billing"
    assert demo.search(query)["evidence"] == "weak"
    assert len(places(demo.on_terminal("search", query).out)) == len(demo.search_ids(query))


def test_what_a_query_lists_is_not_folded(demo: Home) -> None:
    assert demo.search("bugs")["evidence"] == "strong"
    assert not FOLDED.search(demo.on_terminal("search", "bugs").out)


def test_a_folded_result_has_no_short_name(demo: Home) -> None:
    seen = ELSEWHERE.set(Screen(terminal=True, width=80, styles=0, session=7))
    try:
        shown = len(places(demo.call("search", STRONG).out))
        assert demo.call("show", f"@{shown}").code == 0
        check_error(demo.call("show", f"@{shown + 1}"), f"showed {shown} memories")
    finally:
        ELSEWHERE.reset(seen)


def pager(folder: Path, script: str = "") -> tuple[dict[str, str], Callable[[], str]]:
    """The variable that names a pager, and what was given to it."""
    program, given = folder / "pager", folder / "given"
    program.write_text(f"#!/bin/sh\necho PAGED\n{script or f'cat > {given}'}\n")
    program.chmod(0o755)
    return {"RECOLLECT_PAGER": str(program)}, lambda: given.read_text("utf-8")


@pytest.mark.parametrize(
    "args", [("list", "--limit", "40"), ("search", "tokens", "--all"), ("show", "auth-jwt-001"),
             ("--help",), ("help", "search"), ("timeline", "auth-jwt-001")],
    ids=lambda args: args[0],
)  # fmt: skip
def test_what_is_longer_than_the_window_goes_to_the_pager(
    demo: Home, tmp_path: Path, args: tuple[str, ...]
) -> None:
    variable, given = pager(tmp_path)
    shown = demo.in_window(*args, rows=10, using=variable)
    assert (shown.code, shown.out) == (0, "PAGED\n")
    assert given().count("\n") >= 10
    assert "PAGED" not in demo.in_window(*args, rows=1000, using=variable).out


def test_the_trash_goes_to_the_pager(home: Home, tmp_path: Path) -> None:
    home.call("forget", "a", "b")
    variable, given = pager(tmp_path)
    assert home.in_window("trash", rows=5, using=variable).out == "PAGED\n"
    assert "Deploys run on Buildkite" in given()


def test_no_pager_without_a_person(demo: Home, tmp_path: Path) -> None:
    variable, _ = pager(tmp_path)
    assert "PAGED" not in demo.run("list", "--all", using=variable).out
    assert "PAGED" not in demo.on_terminal("list", "--all", using=variable).out  # types nothing
    assert demo.in_window("list", "--json", rows=5, using=variable).json()
    assert "PAGED" not in demo.in_window("list", using=variable | {"TERM": "dumb"}).out


@pytest.mark.parametrize(
    "using",
    [{"NO_PAGER": "1"}, {"PAGER": "cat"}, {"PAGER": ""}, {"PAGER": "no-such-program -x"},
     {"PAGER": "'"}],
    ids=str,
)  # fmt: skip
def test_a_person_does_without_a_pager(demo: Home, using: dict[str, str]) -> None:
    shown = demo.in_window("list", "--limit", "40", rows=10, using=using)
    assert shown.code == 0
    assert places(shown.out) == [*range(1, 41)]


def test_the_variable_of_its_own_comes_before_the_common_one(demo: Home, tmp_path: Path) -> None:
    variable, _ = pager(tmp_path)
    assert "PAGED" in demo.in_window("list", using=variable | {"PAGER": "cat"}).out
    common = {"PAGER": variable["RECOLLECT_PAGER"]}
    assert "PAGED" in demo.in_window("list", using=common).out
    assert "PAGED" not in demo.in_window("list", using=common | {"RECOLLECT_PAGER": "cat"}).out


def test_who_quits_the_pager_has_seen_enough(demo: Home, tmp_path: Path) -> None:
    variable, _ = pager(tmp_path, "exit 3")
    long = demo.in_window("list", "--all", rows=10, using=variable)
    assert (long.code, long.out) == (0, "PAGED\n")


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_less_is_the_pager_unless_another_is_named(demo: Home) -> None:
    shown = demo.in_window("list", "--limit", "40", rows=10, key="q")
    assert shown.code == 0
    assert ESCAPE in shown.out
    assert "Traceback" not in shown.out
    assert places(shown.out)
    assert max(places(shown.out)) < 10, "The rest waits for a key."


EMPTY = (
    "search zzyzx|zzyzx|list --tag ci --kind bug|trash|trash zzyzx|related alone|"
    "timeline 2020-01-01 --project harbor-api --kind bug"
).split("|")


@pytest.mark.parametrize("line", EMPTY)
def test_the_status_is_1_where_nothing_is_found(home: Home, line: str) -> None:
    if line == "related alone":
        home = Home(home.folder / "other", RECOLLECT_NOW=NOW)
        home.save("--id", "alone", "Deploys run on Buildkite")
    for form in ((), ("--json",)):
        ran = home.call(*line.split(), *form)
        assert (ran.code, ran.err) == (1, "")
        assert ran.out, "It is said, too."
        assert home.call(*line.split(), *form, "--exit-zero").code == 0
    assert home.call("search", "zzyzx", "--ids") == (1, "", "")


def test_the_status_is_0_where_something_is_found(home: Home) -> None:
    home.save("--id", "c", "The port of the office")
    home.call("forget", "c")
    for args in (("search", "buildkite"), ("list",), ("timeline", "a"), ("trash",), ("context",)):
        assert home.call(*args).code == 0, args


@pytest.mark.parametrize(
    "args",
    [("search", "deploys"), ("list",), ("context",), ("context", "deploys"), ("trash",),
     ("trash", "deploys"), ("timeline", "2026-03-01"), ("tag", "--add", "x"), ("pin",),
     ("move", "--to-project", "x"), ("forget",), ("restore",)],
    ids=" ".join,
)  # fmt: skip
def test_a_wrong_project_tag_or_kind_names_the_near_ones(home: Home, args: tuple[str, ...]) -> None:
    for option, near in (
        ("--project=harbour-api", "There is no project 'harbour-api'; did you mean harbor-api?"),
        ("--tag=c", "There is no tag 'c'; did you mean ci?"),
        ("--kind=bgu", "There is no kind 'bgu'; did you mean bug?"),
    ):
        ran = home.call(*args, option)
        assert near in " ".join((ran.out + ran.err).split()), (args, ran)


def test_an_edit_of_many_names_the_near_ones(home: Home) -> None:
    ran = home.call("edit", "--where", "project=harbour-api", "--kind", "fact")
    assert "There is no project 'harbour-api'; did you mean harbor-api?" in ran.err


def test_bars_and_rules_are_for_a_terminal(demo: Home) -> None:
    for args, sign in (
        (("search", "tokens"), "█"),
        (("search", "tokens", "--explain"), "█"),
        (("search", "tokens", "--explain=full"), "█"),
        (("stats",), "█"),
        (("search", "def issue_access_token"), "│"),
    ):
        assert sign in demo.on_terminal(*args).out, args
        assert sign not in demo.run(*args).out, args
