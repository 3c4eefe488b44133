"""The views: which fields of a result are shown, one struct per view, as its recipe documents it.

The JSON of a result, HTTP's and MCP's schemas and the reader of a remote vault's answers are made
from these structs; the order of their fields is the order in JSON.
"""

from __future__ import annotations

from math import ceil
from typing import Annotated

from msgspec import Meta

from recollect.context import SearchContext
from recollect.memory_json import memory_json
from recollect.present.words import title_of
from recollect.times import iso
from recollect.types import Hit, Memory, View, ViewFields

SCAN_CHARACTERS = 120  # Source: the `vault` recipe, "Modes".
PREVIEW_CHARACTERS = 240
# Source: the `gnosis` recipe, "Preview": a whole text is inlined above this score, below this size.
INLINE_ABOVE = 0.80
INLINE_UNDER = 2048
CHARACTERS_PER_TOKEN = 4  # an estimate. Source: the `vault` recipe, "Modes".

Count = Annotated[int, Meta(ge=0)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


def token_estimate(memory: Memory) -> int:
    """Characters of title, text and context, divided by 4, rounded up."""
    return ceil(len(memory.title + memory.text + memory.context) / CHARACTERS_PER_TOKEN)


def _title(memory: Memory, context: SearchContext) -> str:
    """As people call it. In the recipes that are documented, a file's title is its path."""
    return title_of(memory) if memory.id in context.passages else memory.title


def _passage(memory: Memory, context: SearchContext, otherwise: str) -> str:
    """What matched, where the recipe tells."""
    found = context.passages.get(memory.id)
    return found.text if found else otherwise


class ScanView(ViewFields, frozen=True):
    """Enough to choose by. Source: the `vault` recipe, "Modes"."""

    title: str
    type: str
    domain: str
    tags: list[str]
    snippet: str
    token_estimate: Count

    @classmethod
    def of(cls, hit: Hit, memory: Memory, context: SearchContext, place: int) -> ScanView:
        return cls(
            title=_title(memory, context),
            type=memory.kind,
            domain=memory.domain,
            tags=list(memory.tags),
            snippet=_passage(memory, context, memory.text[:SCAN_CHARACTERS]),
            token_estimate=token_estimate(memory),
        )


class FullView(ViewFields, frozen=True):
    """The whole memory and the raw value of every signal. Source: the `vault` recipe, "Modes"."""

    memory: Memory
    breakdown: dict[str, float]

    @classmethod
    def of(cls, hit: Hit, memory: Memory, context: SearchContext, place: int) -> FullView:
        leaves = hit.why.leaves()
        signals = {leaf.name: leaf.value if leaf.raw is None else leaf.raw for leaf in leaves}
        return cls(memory, signals)

    def as_json(self) -> dict[str, object]:
        return {"memory": memory_json(self.memory), "breakdown": self.breakdown}


class PointerView(ViewFields, frozen=True):
    """What it says and where the rest is. Source: the `echovault` recipe, "Result"."""

    title: str
    what: str
    why: str
    impact: str
    category: str
    tags: list[str]
    project: str
    source: str
    has_details: bool
    created_at: Time

    @classmethod
    def of(cls, hit: Hit, memory: Memory, context: SearchContext, place: int) -> PointerView:
        return cls(
            title=_title(memory, context),
            what=memory.text,
            why=memory.why,
            impact=memory.impact,
            category=memory.kind,
            tags=list(memory.tags),
            project=memory.project,
            source=memory.source,
            has_details=bool(memory.details),
            created_at=iso(memory.created_at),
        )


class PreviewView(ViewFields, frozen=True):
    """A preview, whole where the reranker is sure. Source: the `gnosis` recipe, "Preview"."""

    preview: str
    vector_similarity: float | None
    rerank_score: float
    kind: str
    timestamp: Time
    topics: list[str]
    complete: bool
    verified: bool

    @classmethod
    def of(cls, hit: Hit, memory: Memory, context: SearchContext, place: int) -> PreviewView:
        short = len(memory.text) < INLINE_UNDER and place <= context.inlined
        text = memory.text or memory.title
        start = _passage(memory, context, text[:PREVIEW_CHARACTERS])
        preview = text if hit.score > INLINE_ABOVE and short else start
        return cls(
            preview=preview,
            vector_similarity=context.cosine(hit.memory_id),
            rerank_score=hit.score,
            kind=memory.kind,
            timestamp=iso(memory.updated_at),
            topics=list(memory.tags),
            complete=preview == text,
            verified=hit.findings.verified,
        )


class SnippetView(ViewFields, frozen=True):
    """The matching part, marked. Source: the `router` recipe, "Snippet"."""

    title: str
    snippet: str
    kind: str
    tags: list[str]
    updated_at: Time

    @classmethod
    def of(cls, hit: Hit, memory: Memory, context: SearchContext, place: int) -> SnippetView:
        return cls(
            title=_title(memory, context),
            snippet=context.snippets.get(memory.id, ""),
            kind=memory.kind,
            tags=list(memory.tags),
            updated_at=iso(memory.updated_at),
        )


VIEWS: dict[View, type[ScanView | FullView | PointerView | PreviewView | SnippetView]] = {
    "scan": ScanView,
    "full": FullView,
    "pointer": PointerView,
    "preview": PreviewView,
    "snippet": SnippetView,
}
