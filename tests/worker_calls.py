"""Stands in for worker processes where a test needs their calls, not their processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


class CallsHere:
    """In place of `worker_processes.Workers`: the same calls in this process."""

    def __init__(self, function: Callable[[Any], Any], count: int) -> None:
        self._function = function

    def map(self, items: Iterable[Any]) -> Iterator[Any]:
        return map(self._function, items)
