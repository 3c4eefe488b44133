"""Responses as JSON: the views of a result, the explanation of its score, and the whole answer.

The schemas of HTTP and MCP and the parser of a remote vault's answers use the structs of the views,
with their order of fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, to_builtins

from recollect.context import SearchContext
from recollect.memory_json import memory_json
from recollect.present.sentences import number, title_of
from recollect.times import iso
from recollect.types import OPERATIONS, Hit, Memory, Response, Result, Term, View, ViewFields

SCAN_CHARACTERS = 120  # Source: the `vault` recipe, "Modes".
PREVIEW_CHARACTERS = 240
# A whole text is inlined above this score and below this size. Source: `gnosis`, "Preview".
INLINE_ABOVE = 0.80
INLINE_UNDER = 2048
CHARACTERS_PER_TOKEN = 4  # an estimate. Source: the `vault` recipe, "Modes".

Count = Annotated[int, Meta(ge=0)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


def token_estimate(memory: Memory) -> int:
    """Estimate tokens: characters of title, text and context, divided by 4, rounded up."""
    return ceil(len(memory.title + memory.text + memory.context) / CHARACTERS_PER_TOKEN)


def _title(memory: Memory, context: SearchContext) -> str:
    """Return the title for people. In the documented recipes, a file's title is its path."""
    return title_of(memory) if memory.id in context.passages else memory.title


def _passage(memory: Memory, context: SearchContext, otherwise: str) -> str:
    """Return the matching passage, if the recipe finds passages."""
    found = context.passages.get(memory.id)
    return found.text if found else otherwise


class ScanView(ViewFields, frozen=True):
    """A short view to choose by. Source: the `vault` recipe, "Modes"."""

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
    """The text without details. Source: the `echovault` recipe, "Result"."""

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
    """A preview, or the whole text if the score is high. Source: the `gnosis` recipe, "Preview"."""

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
    """The marked snippet. Source: the `router` recipe, "Snippet"."""

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


BAR = 24
BASE = "base"  # the part with which every memory starts
LEAST_SHARE = 0.005  # smaller shares would be shown as 0 %
# How a part changes the value before it, by the formula, unless that is a sum.
DOES = {"product": "×", "max": "at least", "min": "at most"}
# Parts with general names, shown together with the name of their term.
NAMELESS = ("factor", "cap")


class ScoreStep(NamedTuple):
    """The contribution of one signal to a score, positive or negative."""

    name: str
    value: float
    formula: str
    how: str


def term_json(term: Term) -> dict[str, Any]:
    """Return the tree as plain data; `weight`, `raw` and `how` only if a term has them."""
    node: dict[str, Any] = {"name": term.name, "value": term.value, "formula": term.formula}
    if term.weight is not None:
        node |= {"weight": term.weight, "raw": term.raw}
    if term.how:
        node["how"] = term.how
    node["parts"] = [term_json(part) for part in term.parts]
    return node


def as_lines(term: Term, first: str = "", rest: str = "") -> Iterator[tuple[str, float, str]]:
    """Draw the tree line by line: (branch and name, value, formula and reason). `first` and `rest`:
    prefixes of the first line and of the others."""
    reason = term.formula if not term.how else f"{term.formula}   {term.how}"
    yield first + term.name, term.value, reason
    for place, part in enumerate(term.parts, start=1):
        last = place == len(term.parts)
        branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from as_lines(part, rest + branch, rest + below)


def bar(value: float, largest: float, length: int = BAR) -> str:
    """Draw a bar for a value; that of the largest value takes the whole length."""
    if largest <= 0 or value <= 0:
        return ""
    return "█" * min(length, max(1, round(length * value / largest)))


def steps(term: Term) -> list[ScoreStep]:
    """Return the score as steps that add up to it, in order.

    A sum has the steps of its parts. A maximum or minimum starts with its first part, a product
    with its first part that has parts itself; every other part is one more step.
    """
    if not term.parts:
        return [ScoreStep(term.name, term.value, term.formula, term.how)]
    if term.formula == "sum":
        return [step for part in term.parts for step in steps(part)]
    parts = term.parts
    if term.formula == "product":  # a factor such as a vault's priority may come first
        parts = tuple(sorted(parts, key=lambda part: not part.parts))
    first, *others = parts
    found, before = steps(first), first.value
    for part in others:
        after = float(OPERATIONS[term.formula]([before, part.value]))
        name = f"{term.name} {part.name}" if part.name in NAMELESS else part.name
        does = f"{DOES.get(term.formula, term.formula)} {number(part.value)}"
        found.append(ScoreStep(name, after - before, does, _reason(part)))
        before = after
    return found


def _reason(part: Term) -> str:
    """Return why a part changes a score: its own words, or the values of its parts."""
    if part.parts:
        return f"{part.formula} of " + ", ".join(
            f"{one.name} {number(one.value)}" for one in part.parts
        )
    return ", ".join(text for text in (part.formula, part.how) if text)


def in_words(term: Term, about: Callable[[str], str]) -> list[tuple[float, str]]:
    """Return the reasons for a score without numbers of the recipe: first those in its favour, with
    their shares, then those against it, with share 0.

    The largest step comes first in both. Tiny steps and the base are left out. `about`: describes
    a part by its name, for reasons that are empty or one word such as `critical`.
    """
    own = (step for step in steps(term) if step.name != BASE)
    every = sorted(own, key=lambda step: (step.value < 0, -abs(step.value)))
    total = sum(step.value for step in every if step.value > 0)
    reasons = []
    for step in every:
        if abs(step.value) <= LEAST_SHARE * total:
            continue
        words = "" if step.how.startswith("(") else step.how.partition(" (")[0]
        if " " not in words:
            words = ": ".join(filter(None, (about(step.name), words)))
        if step.value > 0:
            reasons.append((step.value / total, words))
        else:
            reasons.append((0.0, f"counts against it: {words}"))
    return reasons


LISTED = 1.0  # the largest score of the listing channel, 1 / rank
NEAR = 0.5  # a share of the best score


def as_json(response: Response, explain: bool = False, *, whole: bool = False) -> dict[str, Any]:
    """Return the response as INTERFACE.md specifies it. `whole`: with the memory of each result."""
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
    """Return how many results to show a person first: all, or if the evidence is strong, those
    before the first that scores less than NEAR of the best. Only recipes with log odds as scores
    judge the evidence."""
    if response.evidence != "strong" or response.results[0].score <= LISTED:
        return len(response)
    least = NEAR * response.results[0].score
    places = (place for place, result in enumerate(response) if result.score < least)
    return next(places, len(response))


def degraded_json(response: Response) -> list[dict[str, Any]]:
    """Return the parts that failed, with `reach` if a reranker ran out of time."""
    return [to_builtins(part) for part in response.degraded]


def result_json(result: Result, explain: bool, whole: bool) -> dict[str, Any]:
    shown = {"id": result.id, "score": result.score, "vault": result.vault, **_fields(result)}
    if whole:
        shown["memory"] = memory_json(result.memory)
    for name in ("same", "replaces", "seems_to_replace"):
        if others := getattr(result, name):
            shown[name] = [_memory_date(memory) for memory in others]
    for name in ("superseded_by", "seems_replaced_by"):
        if newer := getattr(result, name):
            shown[name] = _memory_date(newer)
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
    """Return the fields of the view and those that every view has, with the matching passage."""
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


def _memory_date(memory: Memory) -> dict[str, str]:
    return {"id": memory.id, "updated_at": iso(memory.updated_at)}


def summary(response: Response) -> str:
    """Return what the pipeline did in one line. Source: the `gnosis` recipe, "Preview"."""
    counts = response.counts
    return f"Reranked {counts['reranked']} of {counts['pool']}, returned {counts['returned']}"


def compact(response: Response) -> list[Any]:
    """Return `[results, counts, topics]`, small enough for an agent's context. The counts include
    the evidence if the recipe judges it."""
    results = [{"id": result.id, **_fields(result)} for result in response]
    judged = f"; evidence: {response.evidence}" if response.evidence else ""
    return [results, summary(response) + judged, response.topics]
