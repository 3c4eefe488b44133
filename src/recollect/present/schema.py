"""The JSON of a search's answer, as types from which HTTP and MCP make their schemas."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType, defstruct, structs

from recollect.present.history import VersionJson
from recollect.present.views import VIEWS, Count, Time
from recollect.types import (
    Choice,
    Degraded,
    Evidence,
    Intent,
    Memory,
    ReviewKind,
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
    """Where in a file a result stands. `line`: the one that matches best; `lines`: the first and
    the last of what is shown."""

    path: str
    heading: str
    line: int
    lines: tuple[int, int]


COMMON: dict[str, Any] = {
    "id": str, "score": float, "vault": str,
    "kind": str, "project": str, "created_at": Time, "updated_at": Time,
}  # fmt: skip


def _result_fields() -> dict[str, Any]:
    """What a result may have beside what all have: the fields of every view, and the rest."""
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
    """One result: what every view has, and of the rest what the view asked for has."""


class ResponseJson(Struct):
    """What a search answers."""

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
    """Why a command failed. `code` stays the same; the message is for people, and may change."""

    code: str
    message: str


class ContextMemory(Struct):
    """A memory as a context has it: fields that were never given are left out. `has_more`: there
    are details, or the text is shortened. `snippet`: what of the details is asked for."""

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
    """What an agent should know when it starts. How many are `pinned`, `matched` the question, or
    are there since they are the newest (`topped_up`); how many have no room in max_tokens
    (`left_out`); `note` says why there is nothing."""

    memories: list[ContextMemory]
    pinned: Count
    matched: Count
    topped_up: Count
    left_out: Count
    degraded: list[Degraded]
    note: str | UnsetType = UNSET
    as_of: Time | UnsetType = UNSET


class PurgedCount(Struct):
    """How many memories were deleted permanently."""

    purged: int


class UndoneJson(Struct):
    """What was taken back; those of `forgotten` went to the trash."""

    undone: str
    at: Time
    ids: list[str]
    forgotten: list[str]


class RedoneJson(Struct):
    """What was done again; those of `forgotten` went to the trash."""

    redone: str
    at: Time
    ids: list[str]
    forgotten: list[str]


class ReviewItemJson(Struct):
    """Something to decide. `proposed`: what an agent would do; empty where none said anything."""

    id: str
    kind: ReviewKind
    why: str
    sure: float
    suggested: Choice
    choices: list[Choice]
    proposed: str
    memories: list[Memory]


class ReviewJson(Struct):
    """The next items, how many there are of each kind, and beyond the limit."""

    items: list[ReviewItemJson]
    counts: dict[str, int]
    more: Count


class VersionsJson(Struct):
    """The versions of a memory, newest first."""

    versions: list[VersionJson]
