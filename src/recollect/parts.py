"""Work in parts, each to be done at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def parts(
    items: Iterable[Item],
    most: int,
    size: Callable[[Item], int] = lambda item: 0,
    most_size: int = 1,
) -> Iterator[list[Item]]:
    """The items in order, so many at a time, or fewer that together have `most_size`."""
    part: list[Item] = []
    total = 0
    for item in items:
        part.append(item)
        total += size(item)
        if len(part) >= most or total >= most_size:
            yield part
            part, total = [], 0
    if part:
        yield part
