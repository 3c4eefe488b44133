"""The numbers that a recipe declares, with their allowed ranges."""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

from recollect.recipes import unions
from recollect.recipes.base import Recipe
from recollect.recipes.overrides import NAMED_LISTS


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
    return get_type_hints(part, localns=vars(unions), include_extras=True)


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
