"""What was forgotten and can be brought back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from recollect.types import Filter, Memory


class Trashed(NamedTuple):
    """A forgotten memory: when, by whom (the name of their token; empty: the owner), through which
    interface and program, and why it is gone: what was done, its reason, and the id of the memory
    that it was merged into. What history no longer knows is empty."""

    memory: Memory
    at: datetime
    action: str = ""
    reason: str = ""
    target: str = ""
    interface: str = ""
    client: str = ""
    user: str = ""

    @property
    def why(self) -> str:
        """`forgotten`, `its file vanished`, `merged into deploy-2`, or the policy."""
        if self.action == "merge":
            return f"merged into {self.target}"
        return self.reason or "forgotten"


class TrashPlace(NamedTuple):
    """Where a forgotten memory stands in the trash."""

    at: datetime
    id: str


class Trash(Protocol):
    def listed(self, filter: Filter, limit: int, after: TrashPlace | None = None) -> list[Trashed]:
        """What was forgotten, the last first."""

    def merged(self, ids: Sequence[str]) -> dict[str, str]:
        """Those of these ids that were merged into another memory, with its id."""
