"""The conditions of a Filter that both stores write alike, but for the sign of a value."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from recollect.times import to_micros
from recollect.types import Filter

EQUAL = ("project", "source", "domain", "kind", "space", "severity", "tier")
UNEQUAL = {"without_kinds": "kind", "without_projects": "project", "without_sources": "source"}
TIMES = {
    "since": "m.updated_at >= {}",
    "until": "m.updated_at <= {}",
    "made_since": "m.created_at >= {}",
    "made_before": "m.created_at < {}",
}


class Conditions:
    """Conditions on the memories table, named `m`, with their values. `sign` stands for a value;
    a column of `unindexed` chooses no index."""

    def __init__(self, sign: str, unindexed: Collection[str] = ()) -> None:
        self._sign = sign
        self._unindexed = unindexed
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:
        self.parts.append(condition)
        self.values += values

    def columns(self, filter: Filter) -> None:
        """What a memory's columns must be, and must not be; any of several values is right."""
        for column in EQUAL:
            wanted = getattr(filter, column)
            plus = "+" if column in self._unindexed else ""
            if isinstance(wanted, tuple):
                self.add(f"{plus}m.{column} IN ({self._signs(wanted)})", *wanted)
            elif wanted is not None:
                self.add(f"{plus}m.{column} = {self._sign}", wanted)
        for name, column in UNEQUAL.items():
            if unwanted := getattr(filter, name):
                self.add(f"m.{column} NOT IN ({self._signs(unwanted)})", *unwanted)

    def times(self, filter: Filter) -> None:
        for name, condition in TIMES.items():
            moment = getattr(filter, name)
            if moment is not None:
                self.add(condition.format(self._sign), to_micros(moment))
        if filter.valid_at is not None:
            at = to_micros(filter.valid_at)
            self.add(f"(m.valid_from IS NULL OR m.valid_from <= {self._sign})", at)
            self.add(f"(m.valid_until IS NULL OR m.valid_until > {self._sign})", at)

    def tags(self, filter: Filter, tagged: str, stored: Callable[[str], Any]) -> None:
        """`tagged`: that a memory has a tag; `stored`: how the store writes one."""
        for no, tags in (("", filter.tags), ("NOT ", filter.without_tags)):
            for tag in tags:
                self.add(no + tagged, stored(tag))

    def _signs(self, values: Collection[object]) -> str:
        return ", ".join([self._sign] * len(values))
