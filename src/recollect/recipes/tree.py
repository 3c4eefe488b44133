"""A recipe as one tree of names: `recall.keyword.columns.title`, `limits.default`,
`stages.score.signals.severity.weight`. So it is shown as TOML, compared, overridden, and saved.

A user's own recipe is a TOML file that `extends` a recipe and overrides declared fields.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from recollect.errors import Exists, UserError
from recollect.files import locked_folder, write_whole
from recollect.fuse import Alone
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
# A name is also a file name, on every system, and a part of a URL.
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)")  # names that Windows keeps for devices


def as_tree(recipe: Recipe) -> Tree:
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


def as_toml(recipe: Recipe) -> str:
    """Return the whole recipe. Every line below the heading, except those of type, name and source,
    is allowed in a user's own recipe."""
    nested = as_tree(recipe)
    heading = [f"# {recipe.name} · {recipe.about}", f"# {recipe.source} · {recipe.fingerprint}", ""]
    return "\n".join([*heading, *toml_lines(nested, "")]).rstrip() + "\n"


def differences(one: Recipe, other: Recipe) -> list[tuple[str, Any, Any]]:
    """Return each field in which two recipes differ, with both values; None for a missing one."""
    left, right = dict(flat(as_tree(one))), dict(flat(as_tree(other)))
    names = dict.fromkeys((*left, *right))
    skipped = {f"{part}{field}" for part in ("", "deep.") for field in ("name", "about", "source")}
    return [
        (name, left.get(name), right.get(name))
        for name in names
        if left.get(name) != right.get(name) and name not in skipped
    ]


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


def write_recipe(
    folder: Path, name: str, extends: str, changes: Mapping[str, object], *, replace: bool
) -> Path:
    """Write `folder/NAME.toml` with the extended recipe's name and the changes; return the file."""
    file = folder / _file_name(name)
    text = _as_toml({"extends": extends} | nested_changes(changes))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_folder(folder):
            if file.exists() and not replace:
                raise Exists(f"There is a recipe {name!r} already; say that it is to be replaced.")
            write_whole(file, text)
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error
    return file


def rename_recipe(file: Path, name: str) -> None:
    """Rename a recipe's file; raise Exists if there is one of that name."""
    new = file.with_name(_file_name(name))
    try:
        with locked_folder(file.parent):
            if new.exists():
                raise Exists(f"There is a recipe {name!r} already; choose another name.")
            file.rename(new)
    except OSError as error:
        raise UserError(f"{file} cannot be renamed: {error.strerror}.") from error


def _file_name(name: str) -> str:
    if not NAME.fullmatch(name) or RESERVED.fullmatch(name):
        raise UserError(
            f"A recipe cannot be named {name!r}: a name has up to 64 small letters, digits, "
            "hyphens and underscores, and begins with a letter or digit."
        )
    return f"{name}.toml"


def _as_toml(tree: Tree) -> str:
    """Return the tree as TOML; raise UserError for values that cannot be read back, such as null or
    control characters."""
    text = "\n".join(toml_lines(tree)).rstrip() + "\n"
    try:
        toml_values(text.encode().decode())
    except ValueError as error:  # of UTF-8 or of TOML
        raise UserError(f"These changes cannot be written as TOML: {error}.") from error
    return text


class Constant(NamedTuple):
    """A number by its dotted name. `least` and `most` are allowed; if `above`, `least` itself is
    not."""

    name: str
    value: float
    whole: bool
    least: float
    most: float
    above: bool


def constants(recipe: Recipe) -> list[Constant]:
    """Return the recipe's numbers in the order of their declaration, without those of its deep
    search, which is a recipe of its own."""
    return [one for one in _within(recipe, "") if not one.name.startswith("deep.")]


def _within(part: Struct, prefix: str) -> Iterator[Constant]:
    kinds = _kinds(type(part))
    for field in part.__struct_fields__:
        value = getattr(part, field)
        if isinstance(value, Struct):
            yield from _within(value, f"{prefix}{field}.")
        elif field in NAMED_LISTS:
            for member in value:
                name = getattr(member, NAMED_LISTS[field], None) or member.__struct_config__.tag
                yield from _within(member, f"{prefix}{field}.{name}.")
        elif isinstance(value, dict):
            kind = get_args(kinds[field])[1]
            for key, number in value.items():
                yield from _number(f"{prefix}{field}.{key}", number, kind)
        else:
            yield from _number(prefix + field, value, kinds[field])


@cache
def _kinds(part: type[Struct]) -> dict[str, Any]:
    return get_type_hints(part, include_extras=True)


def _number(name: str, value: object, kind: Any) -> Iterator[Constant]:
    found = _range_of(kind)
    if isinstance(value, bool) or not isinstance(value, int | float) or found is None:
        return
    base, bounds = found
    least = bounds.gt if bounds.gt is not None else bounds.ge
    assert least is not None, f"{name} has no lower bound"
    assert bounds.le is not None, f"{name} has no upper bound"
    yield Constant(name, value, base is int, least, bounds.le, above=bounds.gt is not None)


def _range_of(kind: Any) -> tuple[type, Meta] | None:
    """Return a field's bare type and its range; for `Weight | None`, those of Weight."""
    if get_origin(kind) is Annotated:
        base, *notes = get_args(kind)
        return next(((base, note) for note in notes if isinstance(note, Meta)), None)
    if get_origin(kind) in (Union, types.UnionType):
        return next((found for one in get_args(kind) if (found := _range_of(one))), None)
    return None
