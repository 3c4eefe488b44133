"""Forgotten memories, which can be brought back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from recollect.memory_json import memory_json
from recollect.store.memory_rows import ListedMemories
from recollect.store.vault import SqlDatabase
from recollect.times import iso, to_micros
from recollect.types import Filter, Memory

# Why a memory is gone, where the write that forgot it gives no reason.
REASONS = {"sync": "its file changed", "mirror": "its mirrored file is gone"}
WRITES = """
SELECT m.id, w.action, w.reason, w.target, w.interface, w.client, w.{author}
  FROM memories m JOIN writes w ON {w.vault} AND w.seq =
       (SELECT max(v.write) FROM versions v WHERE {v.vault} AND v.memory = m.key)
 WHERE {m.vault} AND m.id {among} AND m.forgotten_at IS NOT NULL"""
MOST_MERGES = 100  # of merged memories that were merged again: a bound, should they form a ring
LAST_FIRST = "m.forgotten_at DESC, m.id"
BEHIND = " AND m.forgotten_at <= ? AND (m.forgotten_at < ? OR m.id > ?)"


class TrashPlace(NamedTuple):
    """The position of a forgotten memory in the trash, for paging."""

    at: datetime
    id: str


class Trashed(NamedTuple):
    """A forgotten memory: when, by whom (the name of their token; empty: the owner), through which
    interface and program, and why: the action, its reason, and the id of the memory that it was
    merged into. Fields that history has lost are empty."""

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
        """`forgotten`, `its file is gone`, `merged into deploy-2`, `policy session-notes`."""
        if self.action == "merge":
            return f"merged into {self.target}"
        reason = self.reason.removesuffix(".")
        return f"{reason[:1].lower()}{reason[1:]}" or REASONS.get(self.action, "forgotten")

    @property
    def by(self) -> str:
        """The user and the program, as in `laptop, mcp`; the owner has no name."""
        return ", ".join(filter(None, (self.user, self.client or self.interface)))

    @property
    def place(self) -> TrashPlace:
        return TrashPlace(self.at, self.memory.id)


def trashed_json(trashed: Trashed) -> dict[str, object]:
    """Return a forgotten memory as JSON values."""
    return {
        "memory": memory_json(trashed.memory),
        "forgotten_at": iso(trashed.at),
        "why": trashed.why,
        "user": trashed.user,
        "interface": trashed.interface,
        "client": trashed.client,
    }


class Trash:
    def __init__(self, database: SqlDatabase, memories: ListedMemories) -> None:
        self._database = database
        self._memories = memories

    def listed(self, filter: Filter, limit: int, after: TrashPlace | None = None) -> list[Trashed]:
        """Return forgotten memories, the latest first."""
        behind: tuple[Any, ...] = ()
        if after is not None:
            at = to_micros(after.at)
            behind = (BEHIND, at, at, after.id)
        with self._database.reading():
            found = self._memories.listed(filter, LAST_FIRST, limit, *behind, forgotten=True)
            written = _written(self._database, [stored.memory.id for stored in found])
        return [
            Trashed(stored.memory, stored.forgotten_at, *written.get(stored.memory.id, ()))
            for stored in found
            if stored.forgotten_at is not None
        ]

    def count(self, filter: Filter) -> int:
        """Return how many memories `listed` has without a limit."""
        return self._memories.count(filter, forgotten=True)

    def merged(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the ids that were merged into another memory, with its id."""
        return merged(self._database, ids)


def merged(database: SqlDatabase, ids: Sequence[str]) -> dict[str, str]:
    """Return the ids that were merged into another memory, with its id."""
    into: dict[str, str] = {}
    asked = list(ids)
    for _ in range(MOST_MERGES):
        writes = _written(database, asked)
        found = {id: target for id, (action, _, target, *_) in writes.items() if action == "merge"}
        into |= found
        asked = [target for target in found.values() if target not in into]
        if not asked:
            break
    return {id: _last(into, id) for id in ids if id in into}


def _last(into: dict[str, str], id: str) -> str:
    for _ in range(MOST_MERGES):
        if id not in into:
            break
        id = into[id]
    return id


def _written(database: SqlDatabase, ids: Sequence[str]) -> dict[str, list[Any]]:
    """Return the last write of each of these memories that is forgotten."""
    rows = database.rows(database.sql(WRITES), database.listed(ids))
    return {id: write for id, *write in rows}
