"""Recipes as text: TOML that can be copied, edited and loaded again; and their differences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from recollect.present.words import counted
from recollect.recipes.base import Recipe
from recollect.recipes.learned import Learned, Lesson
from recollect.recipes.overrides import Tree, flat, tree
from recollect.types import View


class WeightJson(Struct):
    """A signal's weight."""

    declared: float
    now: float


class LearnedJson(Struct):
    """The weights that a recipe learned from feedback, with the evidence."""

    recipe: str
    feedback: bool
    weights: dict[str, WeightJson]
    events: int
    after: int
    lesson: Lesson | None


class RecipeFacts(Struct):
    """A recipe in short."""

    name: str
    about: str
    source: str
    view: View
    fingerprint: str
    default: bool


class RecipeList(Struct):
    """Every recipe; `broken` has the error of each file that cannot be read."""

    recipes: list[RecipeFacts]
    broken: dict[str, str]


class RecipeDetails(RecipeFacts):
    """A recipe with everything it declares, also as TOML."""

    declared: dict[str, Any]
    toml: str


def as_toml(recipe: Recipe) -> str:
    """Return the whole recipe. Every line below the heading, except those of type, name and source,
    is allowed in a user's own recipe."""
    nested = tree(recipe)
    heading = [f"# {recipe.name} · {recipe.about}", f"# {recipe.source} · {recipe.fingerprint}", ""]
    return "\n".join([*heading, *toml_lines(nested, "")]).rstrip() + "\n"


def facts(recipe: Recipe) -> dict[str, str]:
    """Return a recipe's name, description, source, view and fingerprint."""
    names = ("name", "about", "source", "view", "fingerprint")
    return {name: getattr(recipe, name) for name in names}


def differences(one: Recipe, other: Recipe) -> list[tuple[str, Any, Any]]:
    """Return each field in which two recipes differ, with both values; None for a missing one."""
    left, right = dict(flat(tree(one))), dict(flat(tree(other)))
    names = dict.fromkeys((*left, *right))
    skipped = {f"{part}{field}" for part in ("", "deep.") for field in ("name", "about", "source")}
    return [
        (name, left.get(name), right.get(name))
        for name in names
        if left.get(name) != right.get(name) and name not in skipped
    ]


def learned_json(found: Learned) -> dict[str, Any]:
    """Return learned weights as JSON."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain | {"weights": weights_json(found)}


def weights_json(found: Learned) -> dict[str, dict[str, float]]:
    return {name: {"declared": a, "now": b} for name, (a, b) in found.weights.items()}


def learned_lines(found: Learned) -> Iterator[str]:
    """Yield a recipe's learned weights and their evidence, for people."""
    changed = {name: pair for name, pair in found.weights.items() if pair[0] != pair[1]}
    if not found.weights:
        yield f"{found.recipe}: its weights do not learn from feedback."
        return
    yield f"{found.recipe}: {counted(len(changed), 'weight')} changed."
    for name, (declared, now) in changed.items():
        share = f" ({100 * (now / declared - 1):+.0f} %)" if declared else ""
        yield f"  {name:<16}{declared:.4g} → {now:.4g}{share}"
    yield f"  {_evidence(found)}"


def _evidence(found: Learned) -> str:
    lesson = found.lesson
    if lesson is None:
        events = counted(found.events, "question" if found.feedback else "feedback event")
        which = " with an accepted result" if found.feedback else ""
        more = "" if found.events >= found.after else f"; learning begins with {found.after}"
        return f"{events}{which}{more}."
    test = lesson.held_out
    outcome = "Learned" if lesson.applied else "Tried"
    return (
        f"{outcome} on {lesson.at:%Y-%m-%d} from {lesson.fit.questions} questions with an accepted "
        f"result. Of {test.questions} older ones, searched again, {test.better} rank it higher and "
        f"{test.worse} lower (mean reciprocal rank {test.after:.3f}, declared {test.before:.3f})"
        + ("." if lesson.applied else ": not used, since nothing is better or the older are worse.")
    )


def toml_lines(nested: Tree, prefix: str = "") -> Iterator[str]:
    """Yield a tree as TOML, values before tables."""
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
    """Quote a key, such as a kind, that is no bare TOML key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
