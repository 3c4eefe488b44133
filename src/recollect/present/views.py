"""The views: which fields of a result are shown, each as its recipe documents it."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from recollect.context import SearchContext
from recollect.memory_json import memory_json
from recollect.present.snippet import plain_start
from recollect.times import iso
from recollect.types import Hit, Memory

PREVIEW_CHARACTERS = 240
# Source: the `gnosis` recipe, "Preview": a whole text is inlined above this score, below this size.
INLINE_ABOVE = 0.80
INLINE_UNDER = 2048


def token_estimate(memory: Memory) -> int:
    """Characters of title, text and context, divided by 4, rounded up."""
    return ceil(len(memory.title + memory.text + memory.context) / 4)


def scan(hit: Hit, memory: Memory, context: SearchContext, place: int) -> dict[str, Any]:
    """Enough to choose by. Source: the `vault` recipe, "Modes"."""
    return {
        "title": memory.title,
        "type": memory.kind,
        "domain": memory.domain,
        "tags": list(memory.tags),
        "snippet": plain_start(memory.text),
        "token_estimate": token_estimate(memory),
    }


def full(hit: Hit, memory: Memory, context: SearchContext, place: int) -> dict[str, Any]:
    """The whole memory and the raw value of every signal. Source: the `vault` recipe, "Modes"."""
    signals = {term.name: term.value if term.raw is None else term.raw for term in hit.why.leaves()}
    return {"memory": memory_json(memory), "breakdown": signals}


def pointer(hit: Hit, memory: Memory, context: SearchContext, place: int) -> dict[str, Any]:
    """What it says and where the rest is. Source: the `echovault` recipe, "Result"."""
    return {
        "title": memory.title,
        "what": memory.text,
        "why": memory.why,
        "impact": memory.impact,
        "category": memory.kind,
        "tags": list(memory.tags),
        "project": memory.project,
        "source": memory.source,
        "has_details": bool(memory.details),
        "created_at": iso(memory.created_at),
    }


def preview(hit: Hit, memory: Memory, context: SearchContext, place: int) -> dict[str, Any]:
    """A preview, whole where the reranker is sure. Source: the `gnosis` recipe, "Preview"."""
    sure = hit.score > INLINE_ABOVE and len(memory.text) < INLINE_UNDER and place <= context.inlined
    text = memory.text or memory.title
    shown = text if sure else text[:PREVIEW_CHARACTERS]
    return {
        "preview": shown,
        "vector_similarity": context.cosine(hit.memory_id),
        "rerank_score": hit.score,
        "kind": memory.kind,
        "timestamp": iso(memory.updated_at),
        "topics": list(memory.tags),
        "complete": shown == text,
        "verified": hit.findings.verified,
    }


def snippet(hit: Hit, memory: Memory, context: SearchContext, place: int) -> dict[str, Any]:
    """The matching part, marked. Source: the `router` recipe, "Snippet"."""
    return {
        "title": memory.title,
        "snippet": context.snippets.get(memory.id, ""),
        "kind": memory.kind,
        "tags": list(memory.tags),
        "updated_at": iso(memory.updated_at),
    }


VIEWS: dict[str, Callable[[Hit, Memory, SearchContext, int], dict[str, Any]]] = {
    "scan": scan,
    "full": full,
    "pointer": pointer,
    "preview": preview,
    "snippet": snippet,
}
