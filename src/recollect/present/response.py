"""A response as JSON: the same for every interface."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from recollect.memory_json import memory_json
from recollect.present.explain import as_json as term_json
from recollect.present.views import FullView
from recollect.times import iso
from recollect.types import Memory, Response, Result

LISTED = 1.0  # the most that a result of a query that lists can score: 1 / its place
NEAR = 0.5  # of the best score, as the bars beside the titles show it


def as_json(response: Response, explain: bool = False, *, whole: bool = False) -> dict[str, Any]:
    """The response as INTERFACE.md writes it; `whole` adds the memory to every result."""
    return {
        "query": response.query,
        "recipe": response.recipe,
        "view": response.view,
        "intent": response.intent,
        **({"as_of": iso(response.as_of)} if response.as_of else {}),
        "results": [result_json(result, explain, whole) for result in response],
        "counts": response.counts,
        "topics": response.topics,
        "understood": list(response.understood),
        "evidence": response.evidence,
        "confidence": response.confidence,
        "degraded": degraded_json(response),
        "notes": list(response.notes),
        **({"facets": response.facets} if response.facets else {}),
        "timings_ms": response.timings_ms,
    }


def near_best(response: Response) -> int:
    """Return how many of the results to show a person first: all of them, unless the evidence is
    strong; then the first ones that score at least NEAR as much as the best. Only recipes whose
    scores are log odds judge the evidence."""
    if response.evidence != "strong" or response.results[0].score <= LISTED:
        return len(response)
    least = NEAR * response.results[0].score
    places = (place for place, result in enumerate(response) if result.score < least)
    return next(places, len(response))


def degraded_json(response: Response) -> list[dict[str, Any]]:
    """What could not do its work, with `reach` where a reranker ran out of time."""
    return [to_builtins(part) for part in response.degraded]


def result_json(result: Result, explain: bool, whole: bool) -> dict[str, Any]:
    shown = {"id": result.id, "score": result.score, "vault": result.vault, **_fields(result)}
    if whole:
        shown["memory"] = memory_json(result.memory)
    for name in ("same", "replaces", "seems_to_replace"):
        if others := getattr(result, name):
            shown[name] = [_dated(memory) for memory in others]
    for name in ("superseded_by", "seems_replaced_by"):
        if newer := getattr(result, name):
            shown[name] = _dated(newer)
    if result.validity.startswith("expired"):
        shown["expired"] = True
    if result.file is not None:
        place = result.file
        lines = [place.first_line, place.last_line]
        shown["file"] = {
            "path": place.path, "heading": place.heading, "line": place.line, "lines": lines
        }  # fmt: skip
        shown |= {"joined": [memory.id for memory in result.joined]} if result.joined else {}
    return shown | ({"explain": term_json(result.explain)} if explain else {})


def _fields(result: Result) -> dict[str, Any]:
    """What the view shows, the passage that matched where it has no place for it, and what every
    view has."""
    memory = result.memory
    shown = result.fields
    if result.passage and not isinstance(result.shown, FullView):
        shown.setdefault("snippet", result.passage.text)
    return shown | {
        "kind": memory.kind,
        "project": memory.project,
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
    }


def _dated(memory: Memory) -> dict[str, str]:
    return {"id": memory.id, "updated_at": iso(memory.updated_at)}


def summary(response: Response) -> str:
    """What the pipeline did, in one line. Source: the `gnosis` recipe, "Preview"."""
    counts = response.counts
    return f"Reranked {counts['reranked']} of {counts['pool']}, returned {counts['returned']}"


def compact(response: Response) -> list[Any]:
    """`[results, counts, topics]`, small enough to read in an agent's context; the counts end with
    the evidence, where the recipe judges it."""
    results = [{"id": result.id, **_fields(result)} for result in response]
    judged = f"; evidence: {response.evidence}" if response.evidence else ""
    return [results, summary(response) + judged, response.topics]
