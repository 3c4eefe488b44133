"""`recollect recipes`: the declared rankings, and a person's own."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from commandline import Home, check_error, check_usage_error

from recollect.recipes.registry import BUILT_IN

MINE = """
extends = "vault"
about = "Severity above all."
[stages.score.signals.severity]
weight = 0.60
[stages.score.signals.semantic]
weight = 0.10
[limits]
default = 2
"""


def written(home: Home, text: str, name: str = "mine") -> Path:
    file = home.folder / "recipes" / f"{name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_the_list_names_every_recipe_and_the_default(home: Home) -> None:
    shown = home.run("recipes")
    assert (shown.code, shown.err) == (0, "")
    for name in BUILT_IN:
        assert f"\n{name} " in "\n" + shown.out
    assert shown.out.count("(default)") == 1
    facts = home.json("recipes")
    assert [one["name"] for one in facts] == list(BUILT_IN)
    assert {key for one in facts for key in one} == {
        "name", "about", "source", "view", "fingerprint", "default",
    }  # fmt: skip
    assert len({one["fingerprint"] for one in facts}) == len(facts)
    assert not home.vault.exists(), "Looking at recipes makes no vault."


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_recipe_is_shown_as_toml_that_says_everything(home: Home, name: str) -> None:
    shown = home.call("recipes", "show", name)
    assert shown.code == 0
    declared = tomllib.loads(shown.out)
    assert declared["name"] == name
    assert {"recall", "fuse", "stages", "limits"} <= set(declared)
    as_json = home.json("recipes", "show", name)
    assert as_json["declared"] == declared
    assert as_json["fingerprint"] in shown.out


def test_the_documented_weights_are_the_declared_ones(home: Home) -> None:
    signals = home.json("recipes", "show", "vault")["declared"]["stages"]["score"]["signals"]
    assert {name: signal["weight"] for name, signal in signals.items()} == {
        "semantic": 0.40,
        "vector": 0.0,
        "severity": 0.15,
        "temporal_decay": 0.15,
        "tag_overlap": 0.15,
        "domain_match": 0.15,
    }


def test_a_recipe_of_ones_own_is_listed_shown_compared_and_used(home: Home) -> None:
    file = written(home, MINE)
    assert "is OK" in home.run("recipes", "check", str(file)).out
    assert home.json("recipes", "check", str(file))["ok"] is True
    assert [one["name"] for one in home.json("recipes")] == [*BUILT_IN, "mine"]
    assert "extends vault" in home.call("recipes", "show", "mine").out
    changed = home.json("recipes", "diff", "vault", "mine")
    assert {one["field"]: (one["vault"], one["mine"]) for one in changed} == {
        "stages.score.signals.severity.weight": (0.15, 0.6),
        "stages.score.signals.semantic.weight": (0.4, 0.1),
        "limits.default": (10, 2),
    }
    assert (
        "stages.score.signals.severity.weight: 0.15 → 0.6\n"
        in home.run("recipes", "diff", "vault", "mine").out
    )

    home.import_memories(
        {"id": "said", "title": "token token rotation"},
        {"id": "dire", "title": "token and much else besides", "severity": "critical"},
    )
    assert home.search_ids("token rotation", "--recipe", "vault") == ["said", "dire"]
    answer = home.search("token rotation", "--recipe", "mine", "--explain")
    assert [result["id"] for result in answer["results"]] == ["dire", "said"]
    assert answer["results"][0]["explain"]["name"] == "mine"
    mine = {"RECOLLECT_SEARCH__RECIPE": "mine"}
    assert home.run("search", "token", "--json", using=mine).json()["recipe"] == "mine"


def test_a_file_of_a_built_in_name_is_reported_and_does_not_replace_it(home: Home) -> None:
    file = written(home, 'extends = "router"\nabout = "Mine."', "vault")
    shown = home.run("recipes")
    assert shown.code == 0
    assert f"{file} is not used: vault is a built-in recipe" in shown.err
    assert "Mine." not in shown.out
    assert [one["name"] for one in home.json("recipes")] == list(BUILT_IN)
    assert home.search("x", "--recipe", "vault")["view"] == "scan"


def test_a_recipe_may_extend_another_of_ones_own(home: Home) -> None:
    written(home, MINE)
    written(home, 'extends = "mine"\nview = "full"\n', name="wordy")
    assert home.search("x", "--recipe", "wordy")["view"] == "full"
    [view] = home.json("recipes", "diff", "mine", "wordy")
    assert view["field"] == "view"


def test_a_recipe_is_the_same_as_itself(home: Home) -> None:
    assert home.json("recipes", "diff", "vault", "vault") == []
    assert "rank the same way" in home.call("recipes", "diff", "vault", "vault").out


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_is_shown_can_be_loaded_again(home: Home, tmp_path: Path, name: str) -> None:
    """Every line but those that say what a part is."""
    kept = [
        line
        for line in home.call("recipes", "show", name).out.splitlines()
        if not line.startswith(("type =", "name =", "source ="))
    ]
    file = tmp_path / "copy.toml"
    file.write_text(f'extends = "{name}"\n' + "\n".join(kept), encoding="utf-8")
    copy = home.json("recipes", "check", str(file))
    assert copy["fingerprint"] == home.json("recipes", "show", name)["fingerprint"]


SEVERITY = 'extends = "vault"\n[stages.score.signals.severity]\n'


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        ("", ("extends",)),
        ("view = 'scan'", ("extends",)),
        ('extends = "bad"', ("itself",)),
        ("extends = [", ("TOML",)),
        ('extends = "vault"\nviews = "scan"', ("views", "view")),
        ('extends = "vault"\nview = "table"', ("view", "'table'", "scan, full")),
        ('extends = "vault"\nlimits = 5', ("limits", "table")),
        ('extends = "vault"\n[limits]\ndefault = 0', ("limits.default", "0")),
        (f"{SEVERITY}weight = -1", ("stages.score.signals.severity.weight", "-1")),
        (f"{SEVERITY}weight = nan", ("stages.score.signals.severity.weight", "nan")),
        (SEVERITY.replace("severity", "luck"), ("stages.score.signals.luck", "severity")),
        ('extends = "vault"\n[recall.keyword.columns]\ncolour = 1', ("colour", "title")),
    ],
)
def test_a_wrong_recipe_is_named_with_its_file_and_field(
    home: Home, text: str, holding: tuple[str, ...]
) -> None:
    file = written(home, text, name="bad")
    check_error(home.call("recipes", "check", str(file)), str(file), *holding)
    check_error(home.call("search", "x", "--recipe", "bad"), str(file), *holding)
    assert home.search("x", "--recipe", "vault")["results"] == []


def test_recipes_that_go_round_in_a_circle_are_refused(home: Home) -> None:
    written(home, 'extends = "b"', name="a")
    written(home, 'extends = "a"', name="b")
    check_error(home.call("search", "x", "--recipe", "a"), "Recipe a extends b, which extends a.")


def test_unknown_names_and_files(home: Home, tmp_path: Path) -> None:
    check_error(home.call("recipes", "show", "nothing"), "'nothing'", *BUILT_IN)
    check_error(home.call("recipes", "diff", "vault", "nothing"), "'nothing'")
    orphan = written(home, 'extends = "nothing"', name="orphan")
    check_error(home.call("recipes", "check", str(orphan)), "'nothing'", "vault")
    check_error(home.call("recipes", "check", str(tmp_path / "nothing.toml")), "nothing.toml")
    check_error(home.call("recipes", "check", str(tmp_path)), str(tmp_path))
    check_usage_error(home.run("recipes", "check"), "recollect recipes check FILE")
