"""`recollect eval suite`: the table, the queries, an explanation, JSON, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import ESCAPE, NOW, Home, check_error, check_usage_error

from recollect.recipes.registry import BUILT_IN

SUITE = ("eval", "suite")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", RECOLLECT_NOW=NOW, TMPDIR=str(tmp_path))


def test_the_table_has_a_row_per_kind_and_a_column_per_recipe(home: Home, tmp_path: Path) -> None:
    shown = home.run(*SUITE)
    assert (shown.code, shown.err) == (0, "")
    heading, *rows, sums = shown.out.partition("\n\n")[0].splitlines()
    assert heading.split() == list(BUILT_IN)
    assert len(rows) == 10
    assert all(len(row) == len(heading) for row in (*rows, sums)), "Columns stand below each other."
    cells = [[int(cell) for cell in row.split()[-len(BUILT_IN) :]] for row in rows]
    assert sums.split() == ["of", "30", *(str(sum(column)) for column in zip(*cells, strict=True))]
    assert "Models: embedding none, rerank none." in shown.out
    assert '! covalence: vector: embedding.provider is "none"' in shown.out
    assert list(tmp_path.iterdir()) == [], "Neither the vault nor a home is left behind."


def test_the_json_is_the_contract(home: Home) -> None:
    found = home.json(*SUITE, "--recipe", "blend", "--recipe", "router")
    assert len(found["queries"]) == 10
    assert found["queries"][0] == {
        "kind": "file by name",
        "text": "roadmap 1.4",
        "filter": {},
        "rule": "place",
        "expected": ["file-roadmap-14"],
        "outdated": [],
        "about": found["queries"][0]["about"],
    }
    assert found["queries"][5]["filter"] == {"source": "codex", "tags": ["incident"]}
    assert list(found["recipes"]) == ["blend", "router"]
    for one in found["recipes"].values():
        assert one["of"] == 30
        assert list(one["queries"]) == [query["kind"] for query in found["queries"]]
        assert one["points"] == sum(query["points"] for query in one["queries"].values())
        for query in one["queries"].values():
            assert query.keys() == {"points", "rank", "why"}
            assert query["points"] == 0 or query["rank"] >= 1


def test_a_recipe_of_ones_own_is_scored_like_the_others(home: Home) -> None:
    (home.folder / "recipes").mkdir(parents=True)
    (home.folder / "recipes" / "mine.toml").write_text('extends = "blend"\nabout = "Mine."\n')
    found = home.json(*SUITE, "--recipe", "mine", "--recipe", "blend", "--recipe", "mine")
    assert list(found["recipes"]) == ["mine", "blend"]
    assert found["recipes"]["mine"] == found["recipes"]["blend"]


def test_every_query_is_shown_with_its_filter_and_what_came_of_it(home: Home) -> None:
    shown = home.call(*SUITE, "--recipe", "covalence", "--queries")
    assert (shown.code, shown.err) == (0, "")
    assert "file by name  roadmap 1.4\n" in shown.out
    assert "space-scoped  who has the key  space: choir\n" in shown.out
    assert "stop arriving  source: codex  tags: incident\n" in shown.out
    assert shown.out.count("\n  covalence  ") == 10


def test_one_answer_is_explained_down_to_the_wanted_memory(home: Home) -> None:
    shown = home.call(*SUITE, "--recipe", "vault", "--explain", "canonical file")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("vault: incident response procedure  1 point, place ")
    assert "* handbook/incident-response.md  file-incident-response\n" in shown.out
    assert "├─ " in shown.out
    assert "roadmap" not in shown.out.lower()


def test_on_a_terminal_there_are_colours(home: Home) -> None:
    shown = home.on_terminal(*SUITE, "--recipe", "router")
    assert shown.code == 0
    assert ESCAPE in shown.out
    assert "of 30" in shown.out


def test_what_is_not_there_is_refused_in_one_line(home: Home, tmp_path: Path) -> None:
    check_error(home.call(*SUITE, "--recipe", "nope"), "no recipe 'nope'; there are: blend, ")
    check_error(home.call(*SUITE, "--explain", "nope"), "no kind of query 'nope'", "exact title")
    (home.folder / "recipes").mkdir(parents=True)
    (home.folder / "recipes" / "bad.toml").write_text("extends = 7\n")
    check_error(home.call(*SUITE, "--recipe", "bad"), "bad.toml")


def test_forms_that_exclude_each_other_are_refused(home: Home) -> None:
    check_error(home.call(*SUITE, "--json", "--queries"), "--json cannot be combined with", code=2)
    check_error(home.call(*SUITE, "--json", "--explain", "temporal"), "--json", code=2)
    check_usage_error(home.call(*SUITE, "--queries", "--explain", "temporal"), "not allowed with")
