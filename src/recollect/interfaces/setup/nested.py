"""Values at a path of keys in nested dictionaries; nothing is changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Keys = tuple[str, ...]


def value_at(data: Any, path: Keys) -> Any:
    """The value there, or None."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def with_value_at(data: Any, path: Keys, value: Any) -> Any:
    """The data with the value there; dictionaries on the way to it are made where missing."""
    if not path:
        return value
    inside = data if isinstance(data, dict) else {}
    return inside | {path[0]: with_value_at(inside.get(path[0]), path[1:], value)}


def without_value_at(data: Any, path: Keys) -> Any:
    """The data with nothing there."""
    if not isinstance(data, dict) or path[0] not in data:
        return data
    if len(path) == 1:
        return {key: value for key, value in data.items() if key != path[0]}
    return data | {path[0]: without_value_at(data[path[0]], path[1:])}


def leaves(data: dict[str, Any]) -> Iterator[tuple[Keys, Any]]:
    """Every value that is not a dictionary, with its path."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield from (((key, *below), leaf) for below, leaf in leaves(value))
        else:
            yield (key,), value
