"""Every number of a recipe by its name, with the range it may be set within."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from recollect.errors import UserError
from recollect.recipes.registry import BUILT_IN, Recipes
from recollect.recipes.related import RELATED
from recollect.recipes.tree import as_tree, constants, flat, nested_changes

NAMES = list(BUILT_IN)
EVERY = [*BUILT_IN.values(), RELATED]


def refusal(name: str, changes: dict[str, object]) -> str:
    with pytest.raises(UserError) as caught:
        Recipes().with_changes(name, changes)
    told = str(caught.value)
    assert told.endswith(".")
    assert "\n" not in told
    return told


def test_every_number_is_listed_once() -> None:
    for one in EVERY:
        numbers = {
            name: value
            for name, value in flat(as_tree(one))
            if isinstance(value, int | float) and not isinstance(value, bool)
            if not name.startswith("deep.")
        }
        listed = constants(one)
        assert {held.name: held.value for held in listed} == numbers, one.name
        assert len(listed) == len(numbers), one.name


@pytest.mark.parametrize("name", NAMES)
def test_setting_a_number_to_what_it_is_changes_nothing(name: str) -> None:
    recipes, recipe = Recipes(), BUILT_IN[name]
    listed = constants(recipe)
    for one in listed:
        assert recipes.with_changes(name, {one.name: one.value}).fingerprint == recipe.fingerprint
    every = recipes.with_changes(name, {one.name: one.value for one in listed})
    assert every == recipe
    assert recipes.with_changes(name, {}) == recipe


@pytest.mark.parametrize("name", NAMES)
def test_numbers_within_their_bounds_are_accepted_and_others_refused(name: str) -> None:
    listed = constants(BUILT_IN[name])
    assert listed
    for one in listed:
        assert one.least <= one.value <= one.most, one
        assert one.value > one.least or not one.above, one
        assert math.isfinite(one.least), one
        assert math.isfinite(one.most), one
        assert isinstance(one.value, int) or not one.whole, one
        step = 1 if one.whole else 0.5
        for value in (one.least if one.above else one.least - step, one.most + step):
            told = refusal(name, {one.name: value})
            assert f"{name}: {one.name} cannot be {value!r}; expected " in told
        if one.whole:
            assert "expected int" in refusal(name, {one.name: one.value + 0.5})
        middle = (one.least + one.most) / 2
        for value in (int(middle) if one.whole else middle, one.most):
            told = ""
            try:
                Recipes().with_changes(name, {one.name: value})
            except UserError as error:  # it has to fit another number as well
                told = str(error)
            assert "expected" not in told, one


@pytest.mark.parametrize(
    ("recipe", "changes", "parts"),
    [
        ("blend", {"fuse.weights.vektor": 2}, ["fuse.weights.vektor cannot be 2", "unknown field"]),
        ("blend", {"fuse.k": 2}, ["blend: fuse.k is not a field", "weights, alone, tokens"]),
        ("blend", {"colour": 2}, ["blend: colour", "recall, fuse, stages"]),
        ("blend", {"": 2}, ["not a field"]),
        ("blend", {"fuse.": 2}, ["not a field"]),
        ("blend", {"fuse..weights": 2}, ["not a field"]),
        ("blend", {"name": "x"}, ["blend: name is not a field"]),
        ("blend", {"extends": "vault"}, ["blend: extends is not a field"]),
        ("blend", {"fuse.weights": 2}, ["fuse.weights is a table", "base, keyword, bm25, vector"]),
        ("blend", {"fuse.weights.vector.x": 2}, ["fuse.weights.vector", "expected float"]),
        ("blend", {"fuse.weights.vector": "2"}, ["fuse.weights.vector", "'2'", "got str"]),
        ("blend", {"fuse.weights.vector": True}, ["fuse.weights.vector", "True", "got bool"]),
        ("blend", {"fuse.weights.vector": None}, ["fuse.weights.vector", "None", "got null"]),
        ("blend", {"fuse.weights.vector": [1]}, ["fuse.weights.vector", "got array"]),
        ("blend", {"fuse.weights.vector": -0.1}, ["fuse.weights.vector", ">= 0.0"]),
        ("blend", {"fuse.weights.vector": float("nan")}, ["fuse.weights.vector", "nan"]),
        ("blend", {"limits.default": 2.5}, ["limits.default", "expected int"]),
        ("vault", {"stages.score.signals.semantic.weight": 1001}, ["semantic.weight", "<= 1000"]),
        ("nowhere", {"limits.default": 2}, ["'nowhere'", "blend, vault"]),
    ],
)
def test_a_change_that_does_not_fit_is_refused_by_name(
    recipe: str, changes: dict[str, object], parts: list[str]
) -> None:
    told = refusal(recipe, changes)
    for part in parts:
        assert part in told


def test_one_wrong_change_among_right_ones_is_the_one_named() -> None:
    told = refusal("blend", {"fuse.weights.vector": 2.0, "limits.default": 0, "fuse.pool": {}})
    assert "limits.default cannot be 0" in told


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"fuse": 1, "fuse.weights": 2}, "fuse.weights and a name before it"),
        ({"fuse.weights": 1, "fuse.weights.vector": 2}, "fuse.weights.vector and a name before it"),
        ({"fuse.weights.vector": 2, "fuse.weights": 1}, "fuse.weights and a name below it"),
        ({"fuse.weights.vector": 2, "fuse": {"weights": {}}}, "fuse and a name below it"),
        ({"fuse": {"k": 1}, "fuse.k": 2}, "fuse.k and a name below it"),
    ],
)
def test_a_name_and_one_inside_it_cannot_both_be_changed(
    changes: dict[str, object], named: str
) -> None:
    with pytest.raises(UserError, match=named):
        nested_changes(changes)


def test_the_caller_s_changes_stay_as_they_were() -> None:
    table = {"weights": {"vector": 2.0}}
    nested_changes({"fuse": table, "fuse.weights.keyword": 1.0})
    assert table == {"weights": {"vector": 2.0}}


def test_the_built_in_recipes_stay_as_they_are(tmp_path: Path) -> None:
    before = BUILT_IN["blend"].fingerprint
    changes = {"fuse.weights.vector": 2.0, "recall.keyword.columns.title": 1.0}
    changed = Recipes(tmp_path).with_changes("blend", changes)
    assert changed.fingerprint != before == BUILT_IN["blend"].fingerprint
    assert changed.name == "blend"
