"""The JSON of a search's answer, as types from which HTTP and MCP make their schemas."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType, defstruct, structs

from recollect.present.views import VIEWS, Count, Time
from recollect.types import Degraded, Evidence, Intent, Memory, Term, View


class MemoryDate(Struct):
    """Another memory, by id, and when it last changed."""

    id: str
    updated_at: Time


class FileLines(Struct):
    """Where in a file a result stands; `lines`: the first and the last one."""

    path: str
    heading: str
    lines: tuple[int, int]


def _result_fields() -> dict[str, Any]:
    """What a result may have beside id, score and vault: the fields of every view, and the rest."""
    views = [field for view in VIEWS.values() for field in structs.fields(view)]
    return {field.name: field.type for field in views} | {
        "memory": Memory,
        "updated_at": Time,
        "same": list[MemoryDate],
        "replaces": list[MemoryDate],
        "expired": bool,
        "file": FileLines,
        "joined": list[str],
        "explain": Term,
    }


_Result: Any = defstruct(
    "_Result",
    [
        *(("id", str), ("score", float), ("vault", str)),
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
