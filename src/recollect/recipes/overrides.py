"""A user's own recipe: a TOML file that `extends` a recipe and overrides declared fields.

A recipe is shown, overridden and compared as one tree of names: `recall.keyword.columns.title`,
`stages.score.signals.severity.weight`, `limits.default`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import msgspec

from recollect.errors import UserError
from recollect.fuse.fusions import Alone
from recollect.recall.keyword import Reading
from recollect.recall.vector import When
from recollect.recipes.base import Recipe, check, recipe_of
from recollect.settings_reading import toml_values
from recollect.store.base import KeywordIndexName
from recollect.types import View

Tree = dict[str, Any]

# Lists that are tables in the tree, by the name of each member.
NAMED_LISTS = {"recall": "name", "stages": "name", "signals": "type"}
# Tables from names to numbers, which may get new names.
OPEN_TABLES = {"columns", "factors", "weights", "added", "least_deviation"}
# Fields that identify a part and cannot change. In an open table they are ordinary names:
# `columns.source`.
FIXED = {"type", "name", "source"}
CHOICES = {
    "view": get_args(View),
    "reading": get_args(Reading),
    "when": get_args(When),
    "alone": get_args(Alone),
    "index": get_args(KeywordIndexName),
}


def tree(recipe: Recipe) -> Tree:
    """Return the recipe as nested tables, without empty fields."""
    return _without_nulls(_by_name(msgspec.to_builtins(recipe)))


def flat(nested: Tree, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf of a tree with its dotted name."""
    for key, value in nested.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def read_toml(file: Path) -> Tree:
    """Return the content of a recipe file, unchecked."""
    try:
        return toml_values(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from error
    except ValueError as error:  # of UTF-8 or of TOML
        raise UserError(f"{file} cannot be read as TOML: {error}.") from error


def read_recipe(file: Path, find: Callable[[str], Recipe]) -> Recipe:
    """Read the recipe of a file. find: returns the recipe that it extends."""
    asked = read_toml(file)
    parent = asked.pop("extends", None)
    if not isinstance(parent, str):
        raise UserError(f'{file}: the key "extends" must name the recipe to start from.')
    try:
        base = find(parent)
    except UserError as error:
        message = str(error) if str(error).startswith(str(file.parent)) else f"{file}: {error}"
        raise UserError(message) from error
    recipe = override(base, asked, str(file))
    return msgspec.structs.replace(recipe, name=file.stem, source=f"{file.name}, extends {parent}")


def override(recipe: Recipe, asked: Tree, place: str) -> Recipe:
    """Return the recipe with these fields changed. place: begins every error message."""
    nested = _by_name(msgspec.to_builtins(recipe))
    _override(nested, asked, place, "", nested)
    changed = _recipe(nested)
    try:
        check(changed)
    except UserError as error:
        raise UserError(f"{place}: {error}") from error
    return changed


def nested_changes(changes: Mapping[str, object]) -> Tree:
    """Return `{"fuse": {"weights": {"vector": 2}}}` for `{"fuse.weights.vector": 2}`."""
    nested: Tree = {}
    for name, value in changes.items():
        *tables, key = name.split(".")
        table = nested
        for part in tables:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise UserError(f"{name} and a name before it cannot both be changed.")
        if key in table:
            raise UserError(f"{name} and a name below it cannot both be changed.")
        table[key] = deepcopy(value)  # a later name may go into it
    return nested


def _override(nested: Tree, asked: Tree, place: str, prefix: str, whole: Tree) -> None:
    for key, value in asked.items():
        where = f"{place}: {prefix}{key}"
        table = prefix.rstrip(".").rpartition(".")[2]
        if table not in OPEN_TABLES and (key in FIXED or key not in nested):
            allowed = ", ".join(name for name in nested if name not in FIXED)
            raise UserError(f"{where} is not a field that can be changed; allowed are: {allowed}.")
        before = nested.get(key)
        if isinstance(before, dict):
            if not isinstance(value, dict):
                fields = ", ".join(name for name in before if name not in FIXED)
                raise UserError(f"{where} is a table; its fields are: {fields}.")
            _override(before, value, place, f"{prefix}{key}.", whole)
        else:
            nested[key] = value
            _try(whole, where, value, CHOICES.get(key, ()) if isinstance(before, str) else ())


def _try(whole: Tree, where: str, value: object, choices: Sequence[str]) -> None:
    """Raise UserError if the tree is no recipe after this one change."""
    try:
        _recipe(whole)
    except msgspec.ValidationError as error:
        if choices:
            reason = f"allowed are: {', '.join(choices)}"
        else:
            reason = str(error).partition(" - at ")[0].replace("`", "").lower()
        raise UserError(f"{where} cannot be {value!r}; {reason}.") from error


def _recipe(nested: Tree) -> Recipe:
    return recipe_of(_as_lists(nested))


def _by_name(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _by_name(member, name) for name, member in value.items()}
    if key in NAMED_LISTS:
        return {member[NAMED_LISTS[key]]: _by_name(member) for member in value}
    return value


def _without_nulls(nested: Tree) -> Tree:
    return {
        name: _without_nulls(value) if isinstance(value, dict) else value
        for name, value in nested.items()
        if value is not None
    }


def _as_lists(value: Any, key: str = "") -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: _as_lists(member, name) for name, member in value.items()}
    return list(inner.values()) if key in NAMED_LISTS else inner
