"""The values that travel through Recollect: frozen, and free of any local import."""

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
# How results are listed: the best first, or the one that was changed last.
Sort = Literal["best", "newest"]
# Whether what was found answers the query: it does, it may, it does not.
Evidence = Literal["strong", "weak", "none"]
# What a part of a score speaks of; pictures give each family a colour of its own.
Family = Literal["meaning", "words", "structure", "literal", "rarity", "reranking", "time", "trust"]

# What may want a decision, and what can be decided.
ReviewKind = Literal[
    "candidate", "secret", "contradiction", "duplicate", "expired", "expiring", "unused", "policy"
]
Choice = Literal["keep", "edit", "merge", "supersede", "forget", "later"]

# How a user says what shall last; see `capture.forms`.
CaptureForm = Literal["correction", "remember", "from-now-on", "prefer", "never", "always"]

# The kind of what was said in a session of an agent: many, and no knowledge yet.
SESSION = "session"

# How a memory came into the context of an agent.
Origin = Literal["pinned", "matched", "newest"]


def about(description: str, example: object = None, **extra: str) -> Any:
    """What an interface says of a field that it offers; fields without this are not offered.

    `example`: a value for the documentation of the HTTP API. `metavar`: what stands for a value in
    help, as in `--kind KIND`. `one`: the name of a single value where several make a list:
    `--not-tag`, `?not_tag=`. `short`: an option of one letter.
    """
    examples = None if example is None else [example]
    return Meta(description=description, examples=examples, extra=extra)


class Memory(Struct, frozen=True, kw_only=True, gc=False):
    """One thing worth keeping, as stored. Texts that were never given are empty, not null.
    `superseded_by`: the id of the memory that replaces it. `archived_at`: since when it is left
    out of searches that do not ask for it."""

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


# The fields of a memory that are times.
TIMES = ("created_at", "updated_at", "valid_from", "valid_until", "archived_at")
# Those that are texts of their own, as they are read, and what every text may stand in.
TEXTS = ("title", "text", "context", "why", "impact", "details")
PLACES = ("kind", "domain", "project", "source", "space", "path")


class Span(NamedTuple):
    """A piece of a text: from one character up to, but not with, another."""

    start: int
    end: int


class Passage(NamedTuple):
    """A part of one of a memory's fields. What was cut off is marked with `…`."""

    field: str
    text: str


class Use(NamedTuple):
    """How often a memory was returned by a search, opened and accepted, and when last."""

    returned: int
    opened: int
    accepted: int
    last_at: datetime


class Place(NamedTuple):
    """Where a memory stands in browsing order; a page can begin behind it even when it is gone."""

    tier: Tier
    updated_at: datetime
    id: str


def place_of(memory: Memory) -> Place:
    return Place(memory.tier, memory.updated_at, memory.id)


# A value, or several of which any is right.
AnyOf = str | tuple[str, ...]


def any_of(wanted: AnyOf | None) -> tuple[str, ...]:
    """The values that are right; empty where any is."""
    return wanted if isinstance(wanted, tuple) else () if wanted is None else (wanted,)


class Filter(Struct, frozen=True, kw_only=True):
    """What a memory must satisfy to be considered at all. Every given part must hold; of several
    projects, sources, domains or kinds one is enough. One alone stands there as a text, however it
    was given, so that equal filters are equal."""

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
        """Whether anything is asked for at all."""
        return self not in (Filter(), Filter(archived=True))


# The fields of a Filter that take several values.
ANY_OF = ("project", "source", "domain", "kind")
# Those that name what is left out.
WITHOUT = ("without_tags", "without_projects", "without_kinds", "without_sources")


class Search(Struct, frozen=True, kw_only=True):
    """One search, with everything it can be asked for. None leaves the choice to the recipe or to
    the settings."""

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
    include_expired: Annotated[bool, about("do not rank expired memories lower")] = False
    now: Annotated[datetime | None, about("count ages from this time", metavar="TIME")] = None
    as_of: Annotated[
        datetime | None,
        about("the vault as it was then: 2026-03-01, yesterday, 7d", metavar="TIME"),
    ] = None
    mark: bool = False  # cut a snippet with the match marked for every result, whatever the view
    facets: Annotated[bool, about("count all results by kind, project and tags")] = False
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
        """Tags asked for, as filters or as preferences, lower-cased."""
        return frozenset(tag.lower() for tag in (*self.filter.tags, *self.prefer_tags))

    @property
    def wanted_domains(self) -> frozenset[str]:
        """Domains asked for, as filter or as preference, lower-cased."""
        asked = (*any_of(self.filter.domain), self.prefer_domain)
        return frozenset(domain.lower() for domain in asked if domain)


class Term(Struct, frozen=True, gc=False):
    """One node of a score: its value and how that value came about.

    `formula` is an operation on the parts, or for a leaf the arithmetic; `how` says where a raw
    value comes from. Build terms with the functions below: they compute the value from the parts,
    so a score can never differ from its explanation. A leaf with a weight has `value = weight ×
    raw`.
    """

    name: str
    value: float
    formula: str
    weight: float | None = None
    raw: float | None = None
    how: str = ""
    parts: tuple[Term, ...] = ()

    def leaves(self) -> Iterator[Term]:
        """The terms without parts, left to right."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


def leaf(name: str, value: float, formula: str) -> Term:
    """A value that stands on its own, with the formula it was computed by."""
    return Term(name, float(value), formula)


def weighted(name: str, weight: float, raw: float, how: str = "") -> Term:
    """A signal's share of a sum: `weight × raw`."""
    formula = f"{weight:.6g} × {raw:.6g}"
    return Term(name, weight * raw, formula, weight=weight, raw=float(raw), how=how)


OPERATIONS: dict[str, Callable[[list[float]], float]] = {
    "sum": lambda values: sum(values, 0.0),
    "product": prod,
    "max": max,
    "min": min,
}


def combine(name: str, operation: str, parts: Iterable[Term]) -> Term:
    """An inner term: `operation` (a name in OPERATIONS) applied to the values of the parts."""
    terms = tuple(parts)
    value = OPERATIONS[operation]([term.value for term in terms])
    return Term(name, value, operation, parts=terms)


def recompute(term: Term) -> float:
    """The value that follows from the parts alone; equal to `term.value` for every real term."""
    if term.parts:
        return float(OPERATIONS[term.formula]([recompute(part) for part in term.parts]))
    if term.weight is not None and term.raw is not None:
        return term.weight * term.raw
    return term.value


class FilePlace(Struct, frozen=True):
    """Where in a file a result stands: under which headings, in which lines, both ends included.
    `line`: the one that matches best; None where nothing was searched for."""

    path: str
    heading: str
    first_line: int
    last_line: int
    line: int | None = None


class Findings(Struct, frozen=True, gc=False):
    """What stages found out about a hit, beside its score.

    `same`: memories that say the same in the same words, shown as this one. `replaces` and
    `superseded_by`: older ones that it replaced, and the one that replaced it, by a link.
    `seems_to_replace` and `seems_replaced_by`: the same, as the ranking believes.
    `file`: where it stands, if it is a chunk of a file; `joined`: the neighbouring chunks shown as
    this one. `passage`: what of its details a channel found; `span`: where in title, text and
    context. `verified`: the reranker has read it; `unreached`: it would have, but the deadline
    came first.
    """

    same: tuple[Memory, ...] = ()
    replaces: tuple[Memory, ...] = ()
    superseded_by: Memory | None = None
    seems_to_replace: tuple[Memory, ...] = ()
    seems_replaced_by: Memory | None = None
    file: FilePlace | None = None
    joined: tuple[Memory, ...] = ()
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

    def rescored(self, why: Term) -> Hit:
        """The same memory with another score; what is known of it stays."""
        return Hit(self.memory_id, why, self.findings)

    def finding(self, **found: object) -> Hit:
        """The same hit with these fields of its findings set."""
        return Hit(self.memory_id, self.why, structs.replace(self.findings, **found))


class Judgement(NamedTuple):
    """How sure a recipe is that the answer is there, 0…1, and what that means in a word."""

    confidence: float
    evidence: Evidence


class Ranking(Struct, frozen=True):
    """Hits, best first, and what was left out on the way, counted by reason.

    `reranked`: how many of its memories the reranker has read. `judgement`: whether they answer the
    query, once a stage has judged that. `largest`: the largest score that a fusion by ranks gives.
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

    def resorted(self, hits: Iterable[Hit]) -> Ranking:
        """These hits, best first; all else that is known of this ranking stays."""
        return structs.replace(self, hits=ranked(hits).hits)

    def keeping(self, hits: Iterable[Hit], reason: str) -> Ranking:
        """These of its hits, in this order; those that go are counted under `reason`."""
        kept = tuple(hits)
        if len(kept) == len(self.hits):
            return structs.replace(self, hits=kept)
        gone = self.dropped.get(reason, 0) + len(self.hits) - len(kept)
        return structs.replace(self, hits=kept, dropped=self.dropped | {reason: gone})

    def best(self, size: int, reason: str) -> Ranking:
        """The best `size`; those that go are counted under `reason`."""
        return self if len(self) <= size else self.keeping(self.hits[:size], reason)


def order(score: float, id: str, updated_at: float = 0.0) -> tuple[float, float, str]:
    """What every ranking is sorted by: larger scores first, then the newer memory where that is
    said, then ids, ascending."""
    return (-score, -updated_at, id)


Scored = TypeVar("Scored")  # has a `memory_id`


def best_first(matches: Iterable[Scored], score: str = "score") -> list[Scored]:
    """Matches or hits as `order` says: by id, and what is equal stays in that order when they are
    sorted by the attribute `score`."""
    by_id = sorted(matches, key=attrgetter("memory_id"))
    return sorted(by_id, key=attrgetter(score), reverse=True)


def ranked(hits: Iterable[Hit], dropped: dict[str, int] | None = None) -> Ranking:
    """The one place that sorts hits."""
    return Ranking(tuple(best_first(hits, "why.value")), dropped or {})


class Reach(Struct, frozen=True, omit_defaults=True):
    """How many `candidates` a reranker `read` before its time was over. `deadline_ms`: the search's
    own deadline; None where the time limit of the settings ended it."""

    read: int
    candidates: int
    deadline_ms: int | None = None


class Degraded(Struct, frozen=True, omit_defaults=True):
    """A part of the recipe that could not do its work, and why; `reach`, if it only ran out of
    time."""

    channel: str
    reason: str
    reach: Reach | None = None


class ViewFields(Struct, frozen=True):
    """What a view shows of a result; each view has a struct of its own in `present/views.py`."""

    def as_json(self) -> dict[str, object]:
        """The fields as plain data, in the order they are declared."""
        return structs.asdict(self)


class Result(Struct, frozen=True, kw_only=True):
    """One returned memory, with its place in the evidence.

    `same` are memories that say the same in the same words, shown as this one. `replaces` are older
    ones that it replaced, `superseded_by` the one that replaced it: somebody made a link.
    `seems_to_replace` and `seems_replaced_by` are the same as the ranking believes.
    `file` is where it stands, if it is part of a file; the neighbouring parts in `joined` are shown
    as this one. `passage` is what of it matched, where the recipe tells; `marked` is that, or
    FTS5's snippet, with `<mark>` around each match. `validity` says why it does not hold now:
    `expired 2026-04-30`; empty where it does.
    """

    id: str
    score: float
    vault: str
    memory: Memory
    explain: Term
    shown: ViewFields
    passage: Passage | None = None
    marked: str = ""
    same: tuple[Memory, ...] = ()
    replaces: tuple[Memory, ...] = ()
    superseded_by: Memory | None = None
    seems_to_replace: tuple[Memory, ...] = ()
    seems_replaced_by: Memory | None = None
    file: FilePlace | None = None
    joined: tuple[Memory, ...] = ()
    validity: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is valid now, and nothing replaced it or seems to."""
        return not (self.validity or self.superseded_by or self.seems_replaced_by)

    @property
    def fields(self) -> dict[str, object]:
        """What the view shows, as JSON has it."""
        return self.shown.as_json()


class Response(Struct, frozen=True, kw_only=True):
    """What a search answers. `understood` is what it read in the query's words, `corrected` the
    words that were also searched for in place of one with a typing error. `confidence`, 0…1, is
    what `evidence` was judged by; both are None where the recipe does not judge. `facets`, where
    asked for, is what all that was found has in common: project, kind, source, tags, age. `as_of`:
    the moment whose memories were searched, where that is not now."""

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
    """What a memory replaces, by links, the newest first, and what followed it, the next first."""

    replaces: tuple[Memory, ...]
    replaced_by: tuple[Memory, ...]


NO_CHAIN = Chain((), ())


class Context(NamedTuple):
    """What an agent should know when it starts: memories, and how each was found (`origins`, by
    id). `left_out` have no room. `snippets` are the passages of details that the question is about,
    `cut` the ids of memories that are shortened, `note` says why there is nothing."""

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
