"""Types of JSON answers, from which HTTP and MCP make their schemas."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType, defstruct, structs

from recollect.present.history import VersionJson
from recollect.present.response import VIEWS, Count, Time
from recollect.types import (
    Degraded,
    Evidence,
    Intent,
    Memory,
    Severity,
    Term,
    Tier,
    View,
)


class MemoryDate(Struct):
    """Another memory, by id, and when it last changed."""

    id: str
    updated_at: Time


class FileLines(Struct):
    """The place of a result in its file. `line`: the best match; `lines`: the first and the last
    line shown."""

    path: str
    heading: str
    line: int
    lines: tuple[int, int]


COMMON: dict[str, Any] = {
    "id": str, "score": float, "vault": str,
    "kind": str, "project": str, "created_at": Time, "updated_at": Time,
}  # fmt: skip


def _result_fields() -> dict[str, Any]:
    """Return the optional fields of a result: those of all views, and the rest."""
    views = [field for view in VIEWS.values() for field in structs.fields(view)]
    return {field.name: field.type for field in views if field.name not in COMMON} | {
        "memory": Memory,
        "same": list[MemoryDate],
        "replaces": list[MemoryDate],
        "superseded_by": MemoryDate,
        "seems_to_replace": list[MemoryDate],
        "seems_replaced_by": MemoryDate,
        "expired": bool,
        "file": FileLines,
        "joined": list[str],
        "explain": Term,
    }


_Result: Any = defstruct(
    "_Result",
    [
        *COMMON.items(),
        *((name, kind | UnsetType, UNSET) for name, kind in _result_fields().items()),
    ],
)


class ResultJson(_Result):  # type: ignore[misc]
    """One result: the fields of every view, and those of the chosen one."""


class ResponseJson(Struct):
    """The answer of a search."""

    query: str
    recipe: str
    view: View
    intent: Intent
    results: list[ResultJson]
    counts: dict[str, Count | dict[str, Count]]
    topics: dict[str, Count]
    understood: list[str]
    evidence: Evidence | None
    confidence: float | None
    degraded: list[Degraded]
    notes: list[str]
    timings_ms: dict[str, float]
    facets: dict[str, dict[str, Count]] | UnsetType = UNSET
    as_of: Time | UnsetType = UNSET


class ErrorJson(Struct):
    """An error of a command. `code` is stable; the message is for people, and may change."""

    code: str
    message: str


class ContextMemory(Struct):
    """A memory in a context; empty fields are left out. `has_more`: there are details, or the text
    is shortened; `snippet`: the matching passage of the details."""

    id: str
    title: str
    text: str
    kind: str
    project: str
    tier: Tier
    tags: list[str]
    created_at: Time
    updated_at: Time
    has_more: bool
    context: str | UnsetType = UNSET
    why: str | UnsetType = UNSET
    impact: str | UnsetType = UNSET
    severity: Severity | UnsetType = UNSET
    domain: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    space: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    valid_from: Time | UnsetType = UNSET
    valid_until: Time | UnsetType = UNSET
    snippet: str | UnsetType = UNSET


class ContextJson(Struct):
    """The context of an agent: memories that are `pinned`, `matched` the query or are the newest
    (`topped_up`). `left_out`: how many did not fit into max_tokens; `note`: why it is empty."""

    memories: list[ContextMemory]
    pinned: Count
    matched: Count
    topped_up: Count
    left_out: Count
    degraded: list[Degraded]
    note: str | UnsetType = UNSET
    as_of: Time | UnsetType = UNSET


class PurgedCount(Struct):
    """The number of memories deleted permanently."""

    purged: int


class UndoneJson(Struct):
    """An undone action; the memories in `forgotten` went to the trash."""

    undone: str
    at: Time
    ids: list[str]
    forgotten: list[str]


class RedoneJson(Struct):
    """A redone action; the memories in `forgotten` went to the trash."""

    redone: str
    at: Time
    ids: list[str]
    forgotten: list[str]


class VersionsJson(Struct):
    """The versions of a memory, newest first."""

    versions: list[VersionJson]
