"""Entry points, by which installed packages extend Recollect."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def entry_points_of(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group, sorted by name, without those whose module is gone, as
    after an update."""
    from importlib import metadata  # noqa: PLC0415  start-up time

    points = sorted(metadata.entry_points(group=group), key=lambda point: point.name)
    return {point.name: point for point in points if _exists(point.module)}


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of its package
        return False
