"""Recipes as text: TOML that can be copied, edited and loaded again; and what differs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from recollect.recipes.base import Recipe
from recollect.recipes.overrides import Tree, flat, tree


def as_toml(recipe: Recipe) -> str:
    """The whole recipe. Every line below the heading but those of type, name and source can stand
    in a recipe of your own."""
    nested = tree(recipe)
    heading = [f"# {recipe.name} · {recipe.about}", f"# {recipe.source} · {recipe.fingerprint}", ""]
    return "\n".join([*heading, *toml_lines(nested, "")]).rstrip() + "\n"


def facts(recipe: Recipe) -> dict[str, str]:
    """What a recipe is, in short."""
    names = ("name", "about", "source", "view", "fingerprint")
    return {name: getattr(recipe, name) for name in names}


def differences(one: Recipe, other: Recipe) -> list[tuple[str, Any, Any]]:
    """Each field in which two recipes differ, with both values; None where a field is missing."""
    left, right = dict(flat(tree(one))), dict(flat(tree(other)))
    names = dict.fromkeys((*left, *right))
    skipped = {f"{part}{field}" for part in ("", "deep.") for field in ("name", "about", "source")}
    return [
        (name, left.get(name), right.get(name))
        for name in names
        if left.get(name) != right.get(name) and name not in skipped
    ]


def toml_lines(nested: Tree, prefix: str = "") -> Iterator[str]:
    """A tree as TOML, values before tables."""
    plain = {key: value for key, value in nested.items() if not isinstance(value, dict)}
    if prefix and plain:
        yield f"[{prefix.rstrip('.')}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}"
    if plain:
        yield ""
    for key, value in nested.items():
        if isinstance(value, dict):
            yield from toml_lines(value, f"{prefix}{_key(key)}.")


def _key(name: str) -> str:
    """A kind may hold what a bare TOML key may not."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
