"""What installed packages add to Recollect, found by the entry points of their distributions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def entry_points_of(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, in the order of the names.

    An entry point whose module is gone is left out: its distribution's metadata may be older.
    """
    # A search in a file needs no entry point, and this import would take as long as the search.
    from importlib import metadata  # noqa: PLC0415  start-up time

    points = sorted(metadata.entry_points(group=group), key=lambda point: point.name)
    return {point.name: point for point in points if _is_there(point.module)}


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it would be in
        return False
