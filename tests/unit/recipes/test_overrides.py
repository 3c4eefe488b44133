"""A person's own recipe: what can be changed, what is refused, and how the refusal reads."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect import Recollect, UserError
from recollect.recipes.base import Recipe
from recollect.recipes.registry import BUILT_IN, Recipes
from recollect.recipes.tree import FIXED, OPEN_TABLES, as_toml, as_tree, differences, flat, override
from recollect.settings import Embedding, Rerank, Settings

NAMES = list(BUILT_IN)


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def read(folder: Path, text: str) -> Recipe:
    written(folder, "mine", text)
    return Recipes(folder).get("mine")


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(UserError) as caught:
        read(folder, text)
    return str(caught.value)


def nest(path: str, value: object) -> dict[str, Any]:
    """`{"a": {"b": value}}` for `a.b`."""
    for key in reversed(path.split(".")):
        value = {key: value}
    assert isinstance(value, dict)
    return value


# Extending


def test_a_recipe_extends_another_and_overrides_fields(tmp_path: Path) -> None:
    recipe = read(
        tmp_path,
        """
        extends = "vault"
        about = "Mine."
        view = "full"

        [recall.keyword.columns]
        why = 4

        [stages.score.signals.severity]
        weight = 0.3
        with_vectors = 0.2

        [stages.score.signals.temporal_decay]
        half_life_days = 30

        [limits]
        default = 3
        """,
    )
    assert (recipe.name, recipe.about, recipe.view) == ("mine", "Mine.", "full")
    assert recipe.source == "mine.toml, extends vault"
    changed = {name: after for name, _, after in differences(BUILT_IN["vault"], recipe)}
    assert changed == {
        "view": "full",
        "recall.keyword.columns.why": 4.0,
        "stages.score.signals.severity.weight": 0.3,
        "stages.score.signals.severity.with_vectors": 0.2,
        "stages.score.signals.temporal_decay.half_life_days": 30.0,
        "limits.default": 3,
    }


def test_a_recipe_extends_one_that_extends(tmp_path: Path) -> None:
    written(tmp_path, "base", 'extends = "router"\nlimits.default = 7\nfuse.k = 10')
    recipe = read(tmp_path, 'extends = "base"\nfuse.k = 20')
    assert recipe.limits.default == 7
    assert {name for name, _, _ in differences(BUILT_IN["router"], recipe)} == {
        "limits.default",
        "fuse.k",
    }


def test_deep_search_can_be_overridden(tmp_path: Path) -> None:
    recipe = read(tmp_path, 'extends = "gnosis"\n[deep.limits]\nleast_keywords = 3')
    assert recipe.deep is not None
    assert recipe.deep.limits.least_keywords == 3
    assert recipe.limits.least_keywords == 1


def test_an_overridden_recipe_searches(tmp_path: Path) -> None:
    """`when = "never"` holds for the signals too: the model that is not there is not missed."""
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    written(recipes, "words", 'extends = "vault"\nlimits.default = 1\nrecall.vector.when = "never"')
    settings = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
    with Recollect(home=tmp_path, settings=settings, environment={}) as memory:
        memory.save(title="otter")
        memory.save(title="otter too")
        response = memory.search("otter", recipe="words")
    assert (response.recipe, len(response), response.degraded) == ("words", 1, ())
    assert response.results[0].explain.name == "words"


# Refusals


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("limits.default = 3", ["mine.toml", '"extends"']),
        ('extends = ["vault"]', ["mine.toml", '"extends"']),
        ('extends = "mine"', ["mine.toml", "cannot extend itself"]),
        ('extends = "nowhere"', ["nowhere", "vault, echovault, gnosis, router, covalence"]),
        ("extends = ", ["mine.toml", "cannot be read as TOML"]),
        ("x = " + "[" * 10_000, ["mine.toml", "nested deeper than 20 levels"]),
        (".".join("a" * 30) + " = 1", ["mine.toml", "nested deeper than 20 levels"]),
        ("#" * 200_001, ["mine.toml", "at most 200,000"]),
        (
            'extends = "vault"\nrecall.keyword = 3',
            ["recall.keyword is a table", "index, columns, reading, depth"],
        ),
        (
            'extends = "vault"\nfuse.channels = ["keyword", "topic"]',
            ["fuse", "'topic'", "keyword, session, vector"],
        ),
        (
            'extends = "vault"\nstages.cut.guard_channel = "topic"',
            ["stages.cut", "'topic'", "keyword, session, vector"],
        ),
        (
            'extends = "vault"\nstages.score.adaptive.signal = "luck"',
            ["stages.score.adaptive", "'luck'", "semantic, vector, severity"],
        ),
        (
            'extends = "vault"\nstages.score.adaptive.fixed = ["vector", "severity", '
            '"temporal_decay", "tag_overlap", "domain_match"]',
            ["stages.score.adaptive", "other signals"],
        ),
        ('extends = "vault"\n[recall.recent]\nname = "recent"', ["recall.recent"]),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, text: str, parts: list[str]) -> None:
    message = refusal(tmp_path, text)
    assert [part for part in parts if part not in message] == []
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("recipe", "field", "value", "parts"),
    [
        (
            "vault",
            "colour",
            "1",
            "mine.toml: colour|allowed are: about, view, recall, fuse, stages, limits",
        ),
        (
            "vault",
            "recall.keyword.reeding",
            '"words"',
            "index, columns, reading, depth, kind, without_kinds",
        ),
        ("vault", "recall.keyword.reading", '"fuzzy"', "'fuzzy'|keywords, words, pieces, boolean"),
        ("vault", "recall.keyword.reading", "3", "keywords, words, pieces, boolean"),
        ("vault", "view", '"all"', "scan, full, pointer, preview, snippet"),
        ("echovault", "recall.vector.when", '"maybe"', "always, sparse, semantic, never"),
        ("router", "fuse.alone", '"none"', "rrf, scores"),
        ("echovault", "fuse.alone", '"none"', "expected float"),
        ("vault", "recall.keyword.index", '"fuzzy"', "stemmed, plain"),
        ("vault", "recall.keyword.columns.colour", "1", "stemmed|id, title, text, context, tags"),
        ("router", "recall.keyword.columns.why", "1", "plain|title, text, tags"),
        ("vault", "limits.default", '"ten"', "'ten'|expected int"),
        ("vault", "limits.default", "2.5", "expected int"),
        ("vault", "limits.default", "true", "expected int"),
        ("vault", "stages.score.signals.severity.weight", '"much"', "expected float"),
        ("vault", "name", '"other"', "not a field that can be changed"),
        ("vault", "source", '"me"', "not a field that can be changed"),
        ("vault", "recall.keyword.type", '"vector"', "not a field that can be changed"),
    ],
)
def test_a_refusal_names_the_field_and_what_is_allowed(
    tmp_path: Path, recipe: str, field: str, value: str, parts: str
) -> None:
    message = refusal(tmp_path, f'extends = "{recipe}"\n{field} = {value}')
    assert [part for part in (field, *parts.split("|")) if part not in message] == []
    assert message.endswith(".")
    assert "\n" not in message


ZERO, BELOW, NOT = [0, 0.0], [-1, -60.0, -1e-9], [float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize(
    ("recipe", "field", "bad"),
    [
        ("router", "fuse.k", [*BELOW, *NOT]),
        ("covalence", "stages.score.signals.keyword_rank.k", [*BELOW, *NOT]),
        ("covalence", "stages.score.signals.tier.k", [*BELOW, *NOT]),
        ("covalence", "stages.score.signals.tier.core", [0, -60]),
        ("covalence", "stages.score.signals.recency.hours", [*ZERO, *BELOW, *NOT]),
        ("covalence", "stages.score.signals.title.bonus", [*BELOW, *NOT]),
        ("vault", "stages.score.signals.temporal_decay.half_life_days", [*ZERO, *BELOW, *NOT]),
        ("vault", "stages.score.signals.temporal_decay.zone", [*BELOW, *NOT, 1.1]),
        ("vault", "stages.score.signals.semantic.weight", [*BELOW, *NOT]),
        ("vault", "stages.score.signals.semantic.with_vectors", [*BELOW, *NOT]),
        ("vault", "stages.score.signals.severity.critical", [*BELOW, *NOT, 1.1]),
        ("vault", "stages.score.adaptive.after", [0, -1]),
        ("vault", "stages.score.adaptive.span", [*BELOW, *NOT]),
        ("vault", "stages.session.score", [*BELOW, *NOT]),
        ("vault", "stages.cut.guard_below", [-1]),
        ("vault", "stages.cut.guard_share", [*BELOW, *NOT]),
        ("vault", "recall.keyword.columns.title", [*BELOW, *NOT]),
        ("vault", "recall.keyword.depth.per_result", [-1, 10**12]),
        ("vault", "recall.keyword.depth.at_least", [-1, 10**12]),
        ("router", "recall.vector.least_cosine", [-1.1, 1.1, *NOT]),
        ("covalence", "recall.vector.dimensions", [-1]),
        ("echovault", "recall.vector.sparse_below", [-1]),
        ("echovault", "fuse.weights.keyword", [*BELOW, *NOT]),
        ("echovault", "fuse.alone", [*BELOW, *NOT]),
        ("gnosis", "stages.kind_boost.factors.preference", [*ZERO, *BELOW, *NOT]),
        ("gnosis", "stages.kind_boost.factors.anything", [*ZERO, *BELOW, *NOT]),
        ("gnosis", "stages.kind_boost.pool", [0, -1]),
        ("gnosis", "stages.rerank.batch", [0, -8]),
        ("gnosis", "stages.rerank.skip_below", [-1]),
        ("gnosis", "stages.rerank.skip.steepness", [*BELOW, *NOT]),
        ("gnosis", "stages.rerank.skip.cap", [*BELOW, *NOT, 1.1]),
        ("gnosis", "stages.preference.factor", [*ZERO, *BELOW, *NOT]),
        ("gnosis", "stages.preference.cap", [*BELOW, *NOT, 1.1]),
        ("gnosis", "stages.done.factor", [*ZERO, *BELOW, *NOT]),
        ("gnosis", "stages.keyword_floor.floor", [*BELOW, *NOT, 1.1]),
        ("gnosis", "stages.score_floor.floor", [*BELOW, *NOT, 1.1]),
        ("gnosis", "limits.default", [0, -1]),
        ("gnosis", "limits.most", [-1]),
        ("gnosis", "limits.least_keywords", [-1]),
        ("gnosis", "limits.inlined", [-1]),
        ("gnosis", "deep.limits.default", [0]),
    ],
)
def test_numbers_that_would_divide_by_zero_or_rank_by_nothing_are_refused(
    recipe: str, field: str, bad: list[float]
) -> None:
    for value in bad:
        with pytest.raises(UserError) as caught:
            override(BUILT_IN[recipe], nest(field, value), "mine.toml")
        assert str(caught.value).startswith(f"mine.toml: {field} cannot be {value!r}; expected ")


def test_every_number_that_a_recipe_declares_is_bounded() -> None:
    """A new field without a bound would be a new way to write NaN into a ranking."""
    for name, recipe in BUILT_IN.items():
        for field, value in flat(as_tree(recipe)):
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            worst = float("nan") if isinstance(value, float) else -(10**15)
            with pytest.raises(UserError):
                override(recipe, nest(field, worst), name)


# Files


def test_recipes_that_extend_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "c"), ("c", "a")):
        written(tmp_path, one, f'extends = "{other}"')
    with pytest.raises(UserError, match="Recipe a extends b, which extends c, which extends a"):
        Recipes(tmp_path).get("a")


def test_names_are_the_built_in_ones_and_the_files(tmp_path: Path) -> None:
    written(tmp_path, "b", 'extends = "vault"')
    written(tmp_path, "a", 'extends = "vault"')
    (tmp_path / "notes.txt").write_text("no recipe")
    assert Recipes(tmp_path).names() == [*NAMES, "a", "b"]
    assert Recipes(tmp_path / "nowhere").names() == NAMES
    assert Recipes().names() == NAMES
    with pytest.raises(UserError, match=r"There is no recipe 'c'; there are: .*covalence, a, b"):
        Recipes(tmp_path).get("c")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"mine\.toml cannot be read as TOML"):
        Recipes(tmp_path).get("mine")


# Showing


def changeable(table: dict[str, Any], name: str = "") -> dict[str, Any]:
    """A recipe's tables without the fields that say what a part is."""
    return {
        key: changeable(value, key) if isinstance(value, dict) else value
        for key, value in table.items()
        if key not in FIXED or name in OPEN_TABLES
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_shown_recipe_can_be_loaded(name: str) -> None:
    recipe = BUILT_IN[name]
    shown = changeable(tomllib.loads(as_toml(recipe)))
    again = override(recipe, shown, "mine.toml")
    assert again.fingerprint == recipe.fingerprint
    assert again == recipe


@pytest.mark.parametrize("name", NAMES)
def test_a_shown_recipe_overrides_any_sibling(name: str, tmp_path: Path) -> None:
    """Every number put somewhere else first, then the shown text over it: it states them all."""
    recipe = BUILT_IN[name]
    moved = recipe
    for field, value in flat(as_tree(recipe)):
        if isinstance(value, float) and value not in (0.0, 1.0):
            moved = override(moved, nest(field, value / 2), "moved")
    assert moved.fingerprint != recipe.fingerprint
    again = override(moved, changeable(tomllib.loads(as_toml(recipe))), "mine.toml")
    assert again.fingerprint == recipe.fingerprint


def test_kinds_with_odd_names_are_shown_as_toml() -> None:
    factors = {"my kind": 1.5, "a.b": 1.25, 'quo"te': 1.125, "source": 1.1, "日本": 2.0}
    recipe = override(BUILT_IN["gnosis"], nest("stages.kind_boost.factors", factors), "x")
    shown = tomllib.loads(as_toml(recipe))
    assert shown["stages"]["kind_boost"]["factors"].items() >= factors.items()
    assert override(BUILT_IN["gnosis"], changeable(shown), "x").fingerprint == recipe.fingerprint


def test_a_column_may_be_called_like_a_fixed_field() -> None:
    """`source` says where a recipe comes from; as a column it is a number like any other."""
    recipe = override(BUILT_IN["echovault"], nest("recall.keyword.columns.source", 2), "x")
    assert differences(BUILT_IN["echovault"], recipe) == [
        ("recall.keyword.columns.source", 1.0, 2.0)
    ]


# Fingerprints

FINGERPRINTS = {name: recipe.fingerprint for name, recipe in BUILT_IN.items()}


def every_change(recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    for field, value in flat(as_tree(recipe)):
        if isinstance(value, float):
            new: object = value / 2 if value else 0.125
        elif isinstance(value, int) and not isinstance(value, bool):
            new = value + 1
        else:
            continue
        yield field, override(recipe, nest(field, new), "x")


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_in_the_fingerprint(name: str) -> None:
    recipe = BUILT_IN[name]
    seen = {recipe.fingerprint}
    changes = list(every_change(recipe))
    assert changes
    for field, changed in changes:
        assert changed.fingerprint not in seen, field
        seen.add(changed.fingerprint)


def test_names_are_not_in_the_fingerprint(tmp_path: Path) -> None:
    for name in NAMES:
        same = read(tmp_path, f'extends = "{name}"\nabout = "The same."')
        assert same.fingerprint == FINGERPRINTS[name]
    deep = read(tmp_path, 'extends = "gnosis"\ndeep.about = "The same."')
    assert deep.fingerprint == FINGERPRINTS["gnosis"]
    assert len(set(FINGERPRINTS.values())) == len(NAMES)


def test_fingerprints_are_the_same_in_every_process() -> None:
    code = (
        "from recollect.recipes.registry import BUILT_IN\n"
        "print(*(recipe.fingerprint for recipe in BUILT_IN.values()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == list(FINGERPRINTS.values())


def test_the_order_of_columns_is_not_in_the_fingerprint() -> None:
    recipe = BUILT_IN["vault"]
    shown: Any = as_tree(recipe)
    columns = dict(reversed(shown["recall"]["keyword"]["columns"].items()))
    keyword: Any = recipe.recall[0]
    turned = msgspec.structs.replace(
        recipe, recall=(msgspec.structs.replace(keyword, columns=columns), *recipe.recall[1:])
    )
    assert turned.fingerprint == recipe.fingerprint


def test_a_recipe_does_not_differ_from_itself() -> None:
    for one in BUILT_IN.values():
        assert differences(one, one) == []
    assert differences(BUILT_IN["vault"], BUILT_IN["router"])
