"""A recipe of one's own, written by a program: whole, under a name that every system takes, or
not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.errors import Exists, NotFound, UserError
from recollect.recipes.registry import BUILT_IN, Recipes
from recollect.recipes.tree import constants

MORE = {"fuse.weights.vector": 2.5, "limits.default": 3}


@pytest.fixture
def recipes(tmp_path: Path) -> Recipes:
    return Recipes(tmp_path / "recipes")


def refusal(recipes: Recipes, name: str, extends: str = "blend", **more: object) -> str:
    with pytest.raises(UserError) as caught:
        recipes.save(name, extends, dict(more))
    told = str(caught.value)
    assert told.endswith(".")
    assert "\n" not in told
    return told


def test_a_saved_recipe_is_the_changed_one_under_its_own_name(recipes: Recipes) -> None:
    file = recipes.save("mine", "blend", MORE)
    assert file.name == "mine.toml"
    saved, changed = recipes.get("mine"), recipes.with_changes("blend", MORE)
    assert saved.fingerprint == changed.fingerprint != BUILT_IN["blend"].fingerprint
    assert (saved.name, saved.source) == ("mine", "mine.toml, extends blend")
    assert recipes.names()[-1] == "mine"


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_every_constant_can_be_saved(recipes: Recipes, name: str) -> None:
    """Kinds and columns with odd names among them."""
    changes = {one.name: one.value for one in constants(BUILT_IN[name])}
    recipes.save("all", name, changes)
    assert recipes.get("all").fingerprint == BUILT_IN[name].fingerprint


def test_texts_choices_and_odd_names_are_saved_as_they_are(recipes: Recipes) -> None:
    changes = {
        "about": 'Quo"tes, back\\slashes, new\nlines, 日本語 and 👩\u200d👧.',
        "view": "full",
        "stages.kind_boost.factors": {"my kind": 1.5, 'quo"te': 1.25, "a.b": 1.125, "日本": 2.0},
    }
    recipes.save("odd", "gnosis", changes)
    saved = recipes.get("odd")
    assert (saved.about, saved.view) == (changes["about"], "full")
    assert saved.fingerprint == recipes.with_changes("gnosis", changes).fingerprint


def test_a_recipe_may_extend_one_of_one_s_own(recipes: Recipes) -> None:
    recipes.save("base", "blend", {"limits.default": 3})
    recipes.save("top", "base", {"fuse.weights.vector": 2.5})
    assert recipes.get("top").fingerprint == recipes.with_changes("blend", MORE).fingerprint
    assert recipes.get("top").source == "top.toml, extends base"
    recipes.save("base", "blend", {"limits.default": 4}, replace=True)
    assert recipes.get("top").limits.default == 4


@pytest.mark.parametrize(
    "name",
    [
        "", " ", ".", "..", "../x", "a/b", "a\\b", "/etc/x", "x.toml", "BLEND", "Mine", "con",
        "nul", "aux", "com1", "lpt9", "-x", "_x", "x" * 65, "naïve", "日本", "a b", "a\n", "a\0",
    ],
)  # fmt: skip
def test_a_name_that_not_every_system_takes_is_refused(
    recipes: Recipes, name: str, tmp_path: Path
) -> None:
    assert f"cannot be named {name!r}" in refusal(recipes, name)
    assert list(tmp_path.iterdir()) == [], "Nothing was written, here or elsewhere."


@pytest.mark.parametrize("name", ["a", "0", "x" * 64, "con-1", "my_recipe-2", "com", "related"])
def test_a_plain_name_is_taken(recipes: Recipes, name: str) -> None:
    recipes.save(name, "blend", MORE)
    assert recipes.get(name).limits.default == 3


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_a_built_in_name_is_taken_even_to_replace(recipes: Recipes, name: str) -> None:
    assert "choose another name" in refusal(recipes, name)
    with pytest.raises(UserError, match="choose another name"):
        recipes.save(name, "vault", {}, replace=True)


@pytest.mark.parametrize("text", ["", "no recipe at all"])
def test_an_existing_file_stays_unless_it_is_to_be_replaced(recipes: Recipes, text: str) -> None:
    """One that was saved, and one that was written by hand."""
    file = recipes.save("mine", "blend", MORE)
    file.write_text(text or file.read_text())
    before = file.read_bytes()
    with pytest.raises(Exists, match="'mine' already"):
        recipes.save("mine", "vault", {})
    assert file.read_bytes() == before
    recipes.save("mine", "vault", {}, replace=True)
    assert recipes.get("mine").fingerprint == BUILT_IN["vault"].fingerprint


@pytest.mark.parametrize(
    ("extends", "changes", "part"),
    [
        ("nowhere", {}, "'nowhere'"),
        ("blend", {"limits.default": 0}, "limits.default"),
        ("blend", {"colour": 1}, "colour"),
        ("mine", {}, "cannot extend itself"),
        ("vault", {"stages.score.signals.severity.with_vectors": None}, "as TOML"),
        ("blend", {"about": "a\x7f"}, "as TOML"),
        ("blend", {"about": "\ud800"}, "as TOML"),
    ],
)
def test_unreadable_values_are_never_written(
    recipes: Recipes, extends: str, changes: dict[str, object], part: str
) -> None:
    file = recipes.save("mine", "blend", MORE)
    before = file.read_bytes()
    with pytest.raises(UserError) as caught:
        recipes.save("mine", extends, changes, replace=True)
    assert part in str(caught.value)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_recipes_that_would_extend_each_other_in_a_circle_are_not_written(recipes: Recipes) -> None:
    """The file was replaced first, and then neither of the two could be read."""
    recipes.save("base", "blend", MORE)
    recipes.save("middle", "base", {})
    recipes.save("top", "middle", {})
    for extends in ("middle", "top"):
        with pytest.raises(UserError, match=r"Recipe base extends (top, which extends )?middle"):
            recipes.save("base", extends, {}, replace=True)
    assert recipes.get("top").limits.default == 3


def test_there_must_be_a_folder() -> None:
    assert "no folder" in refusal(Recipes(), "mine")


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "recipes").write_text("a file")
    told = refusal(Recipes(tmp_path / "recipes"), "mine")
    assert told.startswith(f"{tmp_path / 'recipes' / 'mine.toml'} cannot be written: ")
    assert (tmp_path / "recipes").read_text() == "a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_a_sentence(tmp_path: Path) -> None:
    for mode in (0o500, 0o000):
        (tmp_path / "recipes").mkdir(mode=mode)
        told = refusal(Recipes(tmp_path / "recipes"), "mine")
        assert "cannot be written: Permission denied" in told
        (tmp_path / "recipes").rmdir()


def test_a_failed_write_leaves_only_the_old_file(
    recipes: Recipes, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = recipes.save("mine", "blend", MORE)
    before = file.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="cannot be written: No space left on device"):
        recipes.save("mine", "vault", {}, replace=True)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_name_that_is_a_folder_is_a_sentence(recipes: Recipes, tmp_path: Path) -> None:
    (tmp_path / "recipes" / "mine.toml").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot be written"):
        recipes.save("mine", "blend", MORE, replace=True)
    assert [file.name for file in (tmp_path / "recipes").iterdir()] == ["mine.toml"]


def test_a_recipe_without_a_name_is_not_found(recipes: Recipes) -> None:
    recipes.save("mine", "blend", MORE)
    for ask in (recipes.get, lambda name: recipes.with_changes(name, {})):
        with pytest.raises(NotFound, match="There is no recipe ''"):
            ask("")
