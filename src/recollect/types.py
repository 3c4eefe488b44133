"""The values that all parts of Recollect share: frozen, and without local imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from math import prod
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from msgspec import Meta, Struct, field, structs

Severity = Literal["critical", "warning", "suggestion"]
Tier = Literal["core", "file", "capture"]
View = Literal["scan", "full", "pointer", "preview", "snippet"]
Intent = Literal["keyword", "semantic"]
# The order of results: by score, or by the last change.
Sort = Literal["best", "newest"]
# Whether the results answer the query: yes, maybe, no.
Evidence = Literal["strong", "weak", "none"]
# Kinds of score parts; charts give each family a colour.
Family = Literal["meaning", "words", "structure", "literal", "rarity", "reranking", "time", "trust"]

# The kinds of review items, and the decisions.
ReviewKind = Literal[
    "candidate", "secret", "contradiction", "duplicate", "expired", "expiring", "unused", "policy"
]
Choice = Literal["keep", "edit", "merge", "supersede", "forget", "later"]

# The forms of sentences that are captured; see `capture.forms`.
CaptureForm = Literal["correction", "remember", "from-now-on", "prefer", "never", "always"]

# The kind of transcripts of agents' sessions: many, and not yet knowledge.
SESSION = "session"

# How a memory came into an agent's context.
Origin = Literal["pinned", "matched", "newest"]


def about(description: str, example: object = None, **extra: str) -> Any:
    """Describe a field for the interfaces; fields without this are not offered.

    example: a value for the documentation of the HTTP API.
    metavar: the placeholder in help, as in `--kind KIND`.
    one: the singular name of a list field: `--not-tag`, `?not_tag=`.
    short: an option of one letter.
    """
    examples = None if example is None else [example]
    return Meta(description=description, examples=examples, extra=extra)


class Memory(Struct, frozen=True, kw_only=True, gc=False):
    """A memory, as stored. Missing texts are empty, not null. `superseded_by`: the id of the memory
    that replaced it; `archived_at`: since when searches leave it out by default."""

    id: Annotated[str, about("an id of your own; otherwise made from the title")]
    title: Annotated[str, about("the title, one line")] = ""
    text: Annotated[str, about("the memory itself")] = ""
    context: Annotated[str, about("the situation it comes from", metavar="TEXT")] = ""
    why: Annotated[str, about("the reason", metavar="TEXT")] = ""
    impact: Annotated[str, about("the consequence", metavar="TEXT")] = ""
    details: Annotated[str, about("the long version")] = ""
    tags: Annotated[tuple[str, ...], about("topics", one="tag", short="t")] = ()
    kind: Annotated[
        str, about("decision, bug, preference or any other (default: fact)", short="k")
    ] = "fact"
    severity: Annotated[
        Severity | None, about("critical, warning or suggestion", metavar="LEVEL")
    ] = None
    domain: Annotated[str, about("the subject area, such as auth", metavar="NAME")] = ""
    project: Annotated[str, about("the project it belongs to", metavar="NAME", short="p")] = ""
    source: Annotated[
        str, about("where it comes from, such as a tool or a person", metavar="NAME")
    ] = ""
    tier: Annotated[Tier, about("core, file or capture (default: capture)")] = "capture"
    space: Annotated[
        str, about("a separate group of memories, such as one conversation", metavar="NAME")
    ] = ""
    path: Annotated[str, about("the file it is about")] = ""
    created_at: Annotated[datetime, about("when it was created", metavar="TIME")]
    updated_at: Annotated[datetime, about("when it was last changed", metavar="TIME")]
    valid_from: Annotated[
        datetime | None, about("when it becomes true: 2026-12-01, monday", metavar="TIME")
    ] = None
    valid_until: Annotated[
        datetime | None, about("when it stops being true: friday, 90d", metavar="TIME")
    ] = None
    superseded_by: Annotated[str, about("the id of the memory that replaces it")] = ""
    archived_at: Annotated[datetime | None, about("when it was archived", metavar="TIME")] = None


# The fields of a memory that are times; its texts, in reading order; and what it belongs to.
TIMES = ("created_at", "updated_at", "valid_from", "valid_until", "archived_at")
TEXTS = ("title", "text", "context", "why", "impact", "details")
PLACES = ("kind", "domain", "project", "source", "space", "path")


class Span(NamedTuple):
    """A range of characters, without its end."""

    start: int
    end: int


class Passage(NamedTuple):
    """A part of one of a memory's fields, with `…` where it was cut."""

    field: str
    text: str


class Use(NamedTuple):
    """The number of times a memory was returned by a search, opened and accepted; and the last."""

    returned: int
    opened: int
    accepted: int
    last_at: datetime


class Place(NamedTuple):
    """A position in browsing order; a page can start after it even if its memory is gone."""

    tier: Tier
    updated_at: datetime
    id: str


def place_of(memory: Memory) -> Place:
    return Place(memory.tier, memory.updated_at, memory.id)


# One value, or several alternatives.
AnyOf = str | tuple[str, ...]


def any_of(wanted: AnyOf | None) -> tuple[str, ...]:
    """Return the alternatives; empty if every value is right."""
    return wanted if isinstance(wanted, tuple) else () if wanted is None else (wanted,)


class Filter(Struct, frozen=True, kw_only=True):
    """Conditions that a memory must all fulfil; of several projects, sources, domains or kinds one
    is enough. A single alternative is stored as text, so that equal filters compare equal."""

    project: Annotated[
        AnyOf | None, about("only this project, or one of these", metavar="NAME", short="p")
    ] = None
    source: Annotated[
        AnyOf | None, about("only from this source, or one of these", metavar="NAME")
    ] = None
    domain: Annotated[
        AnyOf | None, about("only of this domain, or one of these", metavar="NAME")
    ] = None
    kind: Annotated[AnyOf | None, about("only of this kind, or one of these", short="k")] = None
    space: Annotated[str | None, about("only in this space", metavar="NAME")] = None
    tags: Annotated[tuple[str, ...], about("only with all of these", one="tag", short="t")] = ()
    since: Annotated[
        datetime | None, about("changed since: 2026-03-01, 7d, last week", metavar="TIME")
    ] = None
    until: Annotated[
        datetime | None, about("changed until: 2026-03-31, yesterday", metavar="TIME")
    ] = None
    without_tags: Annotated[tuple[str, ...], about("only without this tag", one="not_tag")] = ()
    without_projects: Annotated[
        tuple[str, ...], about("only outside this project", one="not_project", metavar="NAME")
    ] = ()
    without_kinds: Annotated[tuple[str, ...], about("only of other kinds", one="not_kind")] = ()
    without_sources: Annotated[
        tuple[str, ...], about("only from other sources", one="not_source", metavar="NAME")
    ] = ()
    archived: Annotated[bool | None, about("also archived memories")] = None
    severity: Severity | None = None
    tier: Tier | None = None
    made_since: datetime | None = None
    made_before: datetime | None = None
    holding: tuple[str, ...] = ()  # words that every memory must hold, in any form
    without: tuple[tuple[str, ...], ...] = ()  # a memory that holds all words of one is left out
    valid_at: datetime | None = None
    among: tuple[str, ...] | None = None  # ids; none of them lets nothing pass
    unchanged_since: int | None = None  # a write's number: what later ones changed is left out

    def __post_init__(self) -> None:
        for name in ANY_OF:
            if isinstance(several := getattr(self, name), list | tuple):
                values = tuple(dict.fromkeys(several))
                first = values[0] if values else None
                structs.force_setattr(self, name, values if len(values) > 1 else first)

    def narrows(self) -> bool:
        """Return whether it has any condition."""
        return self not in (Filter(), Filter(archived=True))


# The fields of a Filter that take several values.
ANY_OF = ("project", "source", "domain", "kind")
# Those that name what is left out.
WITHOUT = ("without_tags", "without_projects", "without_kinds", "without_sources")


class Search(Struct, frozen=True, kw_only=True):
    """A search request. None leaves a choice to the recipe or the settings."""

    query: Annotated[str, about("what to look for")]
    recipe: Annotated[str | None, about("the ranking to use", metavar="NAME")] = None
    view: Annotated[View | None, about("scan, full, pointer, preview or snippet")] = None
    limit: Annotated[
        int | None, about("maximum number of results", metavar="N", short="n"), Meta(ge=1)
    ] = None
    deep: Annotated[bool, about("search deeper: more candidates, more results")] = False
    filter: Filter = Filter()
    # These count in the ranking and filter nothing.
    prefer_tags: Annotated[
        tuple[str, ...],
        about("rank memories with this tag higher", one="prefer_tag"),
    ] = ()
    prefer_domain: Annotated[
        str | None, about("rank memories of this domain higher", metavar="NAME")
    ] = None
    prefer_project: Annotated[
        str | None, about("rank memories of this project higher", metavar="NAME")
    ] = None
    literal: Annotated[
        bool | None,
        about(
            'search for every word as typed: read no fields ("kind:bug"), times ("last week"), '
            'kinds ("bugs") or exclusions ("-redis"), correct no typing errors'
        ),
    ] = None
    ignored: Annotated[
        tuple[str, ...],
        about(
            'do not interpret this part of the query, such as "kind bug" or "last week"',
            one="ignore", metavar="READING",
        ),
    ] = ()  # fmt: skip
    include_expired: Annotated[bool, about("rank expired or replaced memories like others")] = False
    now: Annotated[datetime | None, about("count ages from this time", metavar="TIME")] = None
    as_of: Annotated[
        datetime | None,
        about("the vault as it was then: 2026-03-01, yesterday, 7d", metavar="TIME"),
    ] = None
    mark: bool = False  # cut a snippet with the match marked for every result, whatever the view
    facets: Annotated[
        bool, about("count all memories found by kind, project, tags, source and age")
    ] = False
    # Other constants of the recipe, for this search alone: `{"fuse.weights.vector": 2.0}`.
    changes: Mapping[str, object] = {}
    vaults: Annotated[tuple[str, ...], about("only this vault", one="vault", metavar="NAME")] = ()
    federate: Annotated[bool, about("also in other known vaults")] = True
    deadline_ms: Annotated[
        int | None,
        about("time limit in ms; slow parts are skipped and listed", metavar="N"),
        Meta(extra_json_schema={"minimum": 1}),
    ] = None
    sort: Annotated[Sort, about("newest: by date, the last changed first", metavar="ORDER")] = (
        "best"
    )

    @property
    def wanted_tags(self) -> frozenset[str]:
        """The tags of the filter and the preferences, in lower case."""
        return frozenset(tag.lower() for tag in (*self.filter.tags, *self.prefer_tags))

    @property
    def wanted_domains(self) -> frozenset[str]:
        """The domains of the filter and the preferences, in lower case."""
        asked = (*any_of(self.filter.domain), self.prefer_domain)
        return frozenset(domain.lower() for domain in asked if domain)


class Term(Struct, frozen=True, gc=False):
    """One node of a score's explanation.

    `formula` is an operation on the parts, or the arithmetic of a leaf; `how` says where a raw
    value comes from. A leaf with a weight has `value = weight × raw`. Build terms with the
    functions below: they compute the value from the parts, so a score cannot differ from its
    explanation.
    """

    name: str
    value: float
    formula: str
    weight: float | None = None
    raw: float | None = None
    how: str = ""
    parts: tuple[Term, ...] = ()

    def leaves(self) -> Iterator[Term]:
        """Yield the terms without parts, left to right."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


def leaf(name: str, value: float, formula: str) -> Term:
    """Return a term without parts, with the formula that computed its value."""
    return Term(name, float(value), formula)


def weighted(name: str, weight: float, raw: float, how: str = "") -> Term:
    """Return a signal's term in a sum: `weight × raw`."""
    formula = f"{weight:.6g} × {raw:.6g}"
    return Term(name, weight * raw, formula, weight=weight, raw=float(raw), how=how)


OPERATIONS: dict[str, Callable[[list[float]], float]] = {
    "sum": lambda values: sum(values, 0.0),
    "product": prod,
    "max": max,
    "min": min,
}


def combine(name: str, operation: str, parts: Iterable[Term]) -> Term:
    """Return an inner term: `operation` (a name in OPERATIONS) applied to the parts' values."""
    terms = tuple(parts)
    value = OPERATIONS[operation]([term.value for term in terms])
    return Term(name, value, operation, parts=terms)


def recompute(term: Term) -> float:
    """Compute the value from the parts alone; it equals `term.value` for every real term."""
    if term.parts:
        return float(OPERATIONS[term.formula]([recompute(part) for part in term.parts]))
    if term.weight is not None and term.raw is not None:
        return term.weight * term.raw
    return term.value


class FilePlace(Struct, frozen=True):
    """The place of a result in its file: the headings above it, and its first and last lines.
    `line`: the best match; None without a search."""

    path: str
    heading: str
    first_line: int
    last_line: int
    line: int | None = None


class Relatives(Struct, frozen=True):
    """Other memories that are shown with a hit, and its place in a file.

    same: duplicates with the same words, merged into this hit.
    replaces, superseded_by: memories that it replaced, and the one that replaced it, by links.
    seems_to_replace, seems_replaced_by: the same, but guessed by the ranking.
    file: its place, if it is a chunk of a file.
    joined: the neighbouring chunks merged into this hit.
    """

    same: tuple[Memory, ...] = ()
    replaces: tuple[Memory, ...] = ()
    superseded_by: Memory | None = None
    seems_to_replace: tuple[Memory, ...] = ()
    seems_replaced_by: Memory | None = None
    file: FilePlace | None = None
    joined: tuple[Memory, ...] = ()


class Findings(Relatives, frozen=True, gc=False):
    """The findings of channels and stages about a hit.

    passage: the part of its details that a channel found.
    span: the part of title, text and context that a channel found.
    verified: the reranker has read it.
    unreached: the reranker would have read it, but the deadline came first.
    """

    passage: str = ""
    span: Span | None = None
    verified: bool = False
    unreached: bool = False


NO_FINDINGS = Findings()


class Hit(Struct, frozen=True, gc=False):
    """A memory in a ranking. Its score *is* the value of its explanation."""

    memory_id: str
    why: Term
    findings: Findings = NO_FINDINGS

    @property
    def score(self) -> float:
        return self.why.value

    def with_score(self, why: Term) -> Hit:
        """Return the hit with another score and the same findings."""
        return Hit(self.memory_id, why, self.findings)

    def with_findings(self, **found: object) -> Hit:
        """Return the hit with these findings added."""
        return Hit(self.memory_id, self.why, structs.replace(self.findings, **found))


class Judgement(NamedTuple):
    """The confidence of a recipe that the results answer the query, 0…1, and that in a word."""

    confidence: float
    evidence: Evidence


class Ranking(Struct, frozen=True):
    """Hits, best first, and the number of dropped ones by reason.

    `reranked`: how many hits the reranker has read; `judgement`: whether they answer the query, if
    a stage has judged that; `largest`: the largest score that a fusion by ranks can give.
    """

    hits: tuple[Hit, ...] = ()
    dropped: dict[str, int] = field(default_factory=dict)
    reranked: int = 0
    judgement: Judgement | None = None
    largest: float = 1.0

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple([hit.memory_id for hit in self.hits])

    def with_hits(self, hits: Iterable[Hit]) -> Ranking:
        """Return the ranking with these hits, sorted."""
        return structs.replace(self, hits=ranked(hits).hits)

    def keep(self, hits: Iterable[Hit], reason: str) -> Ranking:
        """Keep some of its hits, in this order; count the others as dropped for `reason`."""
        kept = tuple(hits)
        if len(kept) == len(self.hits):
            return structs.replace(self, hits=kept)
        gone = self.dropped.get(reason, 0) + len(self.hits) - len(kept)
        return structs.replace(self, hits=kept, dropped=self.dropped | {reason: gone})

    def best(self, size: int, reason: str) -> Ranking:
        """Keep the best `size` hits; count the others as dropped for `reason`."""
        return self if len(self) <= size else self.keep(self.hits[:size], reason)


def order(score: float, id: str, updated_at: float = 0.0) -> tuple[float, float, str]:
    """Return the sort key of all rankings: larger scores first, then newer memories if given, then
    ids."""
    return (-score, -updated_at, id)


Scored = TypeVar("Scored")  # has a `memory_id`


def best_first(matches: Iterable[Scored], score: str = "score") -> list[Scored]:
    """Sort matches or hits by the attribute `score`, larger first, then by id, as `order` does."""
    by_id = sorted(matches, key=attrgetter("memory_id"))
    return sorted(by_id, key=attrgetter(score), reverse=True)


def ranked(hits: Iterable[Hit], dropped: dict[str, int] | None = None) -> Ranking:
    """Return a ranking of these hits; only this function sorts hits."""
    return Ranking(tuple(best_first(hits, "why.value")), dropped or {})


class Reach(Struct, frozen=True, omit_defaults=True):
    """The number of candidates that a reranker read in time, and of all. `deadline_ms`: the
    search's deadline; None if the time limit of the settings was shorter."""

    read: int
    candidates: int
    deadline_ms: int | None = None


class Degraded(Struct, frozen=True, omit_defaults=True):
    """A part of the search that failed, and why. `reach`: set if it ran out of time."""

    channel: str
    reason: str
    reach: Reach | None = None


class ViewFields(Struct, frozen=True):
    """Base of the views in `present/response.py`."""

    def as_json(self) -> dict[str, object]:
        """Return the fields as plain data, in their order."""
        return structs.asdict(self)


class Result(Relatives, frozen=True, kw_only=True):
    """One result of a search.

    shown: the fields of the view.
    passage: the matching part, if the recipe finds passages.
    marked: the passage or FTS5's snippet, with `<mark>` around each match.
    validity: why it is not valid now: `expired 2026-04-30`; empty if it is.
    """

    id: str
    score: float
    vault: str
    memory: Memory
    explain: Term
    shown: ViewFields
    passage: Passage | None = None
    marked: str = ""
    validity: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is valid now, and not replaced, not even by the ranking's guess."""
        return not (self.validity or self.superseded_by or self.seems_replaced_by)

    @property
    def fields(self) -> dict[str, object]:
        """The fields of the view, for JSON."""
        return self.shown.as_json()


class Response(Struct, frozen=True, kw_only=True):
    """The answer of a search.

    understood: what was read in the query's words, such as times and kinds.
    corrected: words with typing errors, and the corrections that were also searched for.
    confidence: 0…1, from which `evidence` follows; None if the recipe does not judge.
    facets: counts of all memories found by project, kind, source, tags and age, if asked for.
    as_of: the time whose memories were searched; None is now.
    """

    query: str
    recipe: str
    view: View
    intent: Intent
    results: tuple[Result, ...]
    counts: dict[str, object]
    topics: dict[str, int]
    degraded: tuple[Degraded, ...]
    notes: tuple[str, ...]
    timings_ms: dict[str, float]
    understood: tuple[str, ...] = ()
    corrected: Mapping[str, tuple[str, ...]] = {}
    evidence: Evidence | None = None
    confidence: float | None = None
    facets: dict[str, dict[str, int]] = field(default_factory=dict)
    as_of: datetime | None = None

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


class Chain(NamedTuple):
    """The memories that one replaces by links, newest first, and those that replaced it, in
    order."""

    replaces: tuple[Memory, ...]
    replaced_by: tuple[Memory, ...]


NO_CHAIN = Chain((), ())


class Context(NamedTuple):
    """The memories an agent should know when it starts.

    origins: how each was found, by id.
    snippets: matching passages of details, by id.
    left_out: the number of memories that did not fit.
    cut: the ids of shortened memories.
    note: why there are no memories.
    """

    memories: tuple[Memory, ...]
    response: Response | None
    origins: Mapping[str, Origin]
    snippets: Mapping[str, str] = {}
    left_out: int = 0
    cut: frozenset[str] = frozenset()
    note: str = ""
    as_of: datetime | None = None

    @property
    def pinned(self) -> int:
        return self._count("pinned")

    @property
    def matched(self) -> int:
        return self._count("matched")

    @property
    def topped_up(self) -> int:
        return self._count("newest")

    def _count(self, origin: Origin) -> int:
        return sum(self.origins[memory.id] == origin for memory in self.memories)
