"""`recollect demo`: every recipe side by side, one explanation, and no leftovers."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from commandline import NOW, Home, check_error
from msgspec import structs

from recollect import Recollect
from recollect.demo import sample
from recollect.interfaces.cli.demo import print_degraded, print_newer_first
from recollect.recipes.registry import BUILT_IN
from recollect.types import Degraded, Reach

AT = datetime.fromisoformat(NOW)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", RECOLLECT_NOW=NOW, TMPDIR=str(tmp_path))


def test_the_demo_shows_and_explains_and_leaves_nothing(home: Home, tmp_path: Path) -> None:
    shown = home.run("demo")
    assert (shown.code, shown.err) == (0, "")
    assert "80 sample memories" in shown.out
    [heading] = [line for line in shown.out.splitlines() if line.split() == list(BUILT_IN)]
    rows = shown.out.partition(heading)[2].partition("1 is the first")[0].strip().splitlines()
    assert len(rows) >= 5
    assert all(len(row) == len(heading) for row in rows), "The columns stand below each other."
    places = [row.split()[-len(BUILT_IN) :] for row in rows]
    for column in zip(*places, strict=True):
        ranks = sorted(int(cell) for cell in column if cell != "·")
        assert ranks[:5] == list(range(1, len(ranks[:5]) + 1)), "Everyone's best five are there."
        assert len(set(ranks)) == len(ranks), "Each place is given once."
    assert "Why " in shown.out
    assert "%  matching words" in shown.out
    assert "Try next" in shown.out
    assert list(tmp_path.iterdir()) == []


def test_the_demo_shows_that_a_newer_statement_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Recollect(tmp_path / "vault.db", home=tmp_path, clock=lambda: AT) as memory:
        memory.save_all([one for one in sample(AT) if "pool" in one.fields.get("tags", ())])
        print_newer_first(memory)
    assert capsys.readouterr().out.splitlines()[2:] == [
        "2025-06-23  Connection pool: from now on 12 connections per web worker",
        "2025-06-09  Connection pool: 20 connections per web worker",
        "",
    ]


def test_the_demo_asks_what_it_is_told(home: Home) -> None:
    shown = home.call("demo", "--query", "roadmap 1.4")
    assert shown.code == 0
    assert "roadmap 1.4" in shown.out
    assert "ROADMAP" in shown.out.upper().partition("COVALENCE")[2]


@pytest.mark.parametrize("query", ["zzyzx", "the", "", "(", "👩‍👩‍👧‍👦"])
def test_the_demo_answers_even_where_little_is_found(home: Home, query: str) -> None:
    shown = home.call("demo", "--query", query)
    assert (shown.code, shown.err) == (0, "")
    assert ("! Recipe gnosis needs" in shown.out) == (query != "zzyzx")


def test_a_query_that_no_recipe_takes_is_refused(home: Home, tmp_path: Path) -> None:
    done = home.run("demo", "--query", b"\xff")
    assert done.code == 1
    assert done.err == "recollect: The query is not valid UTF-8 text.\n"
    assert list(tmp_path.iterdir()) == []


def test_the_demo_can_be_kept(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    shown = home.run("demo", "--keep", str(folder))
    assert shown.code == 0
    assert f"RECOLLECT_HOME={folder}" in shown.out
    kept = Home(folder, RECOLLECT_NOW=NOW)
    assert len(kept.list_ids()) == 80
    assert kept.is_sound()
    assert kept.search_ids("refresh tokens")
    check_error(home.run("demo", "--keep", str(folder)), str(folder), "already exists")
    assert len(kept.list_ids()) == 80


def test_the_demo_works_with_settings_of_ones_own(home: Home) -> None:
    home.folder.mkdir()
    (home.folder / "config.toml").write_text('[search]\nrecipe = "router"\n')
    assert home.run("demo").code == 0
    assert not home.vault.exists()


def test_the_demo_leaves_out_a_reranker_that_ran_out_of_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Recollect(tmp_path / "vault.db", home=tmp_path, clock=lambda: AT) as memory:
        found = memory.search("pool", recipe="vault")
    parts = [Degraded("rerank", "any reason", Reach(read, 64)) for read in (8, 0)]
    failed = Degraded("vector", "there is no model")
    answers = [structs.replace(found, degraded=(part, failed)) for part in parts]
    print_degraded(answers)
    assert capsys.readouterr().out.splitlines() == [
        "Incomplete search by meaning: there is no model",
    ]
