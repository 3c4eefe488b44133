"""The ten-query suite: ten kinds of query on memories that come with Recollect, three points each.

Source of the ten kinds: the `covalence` recipe, "Quality suite".
The numbers of points are in `queries.toml`.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.draft import Draft, make_draft
from recollect.ingest.exchange import Line
from recollect.settings import Settings
from recollect.types import Filter, Memory, Response
from recollect_evaluation.cache import UNHURRIED_MS

if TYPE_CHECKING:
    from recollect_evaluation.evaluation import Progress

# The memories at each place, best first: a result and its near duplicates.
Answer = Sequence[Sequence[Memory]]
Steps = tuple[tuple[int, int], ...]
MOST = 3  # points for one query
EQUAL = ("project", "source", "domain", "kind", "space")


class SuiteQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question of the suite. `wanted` are the ids that answer it, `outdated` those that
    answered it once; `about` tells what makes it hard."""

    kind: str
    text: str
    rule: Literal["place", "newest", "topic"]
    wanted: tuple[str, ...]
    about: str
    outdated: tuple[str, ...] = ()
    filter: Filter = Filter()


class Score(NamedTuple):
    """The points, the place of the best wanted memory (from 1; None: not found), and the reason
    for the points."""

    points: int
    rank: int | None
    why: str


class PlaceRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Points by where the wanted memory stands: `[place, points]`, the first that holds counts.
    With an outdated one above it there are no more than `points_below_outdated`."""

    points_within: Steps
    points_below_outdated: int = MOST

    def score(self, query: SuiteQuery, answer: Answer) -> Score:
        rank = _place(query.wanted, answer)
        if rank is None:
            return Score(0, None, "not found")
        points = next((points for within, points in self.points_within if rank <= within), 0)
        outdated = _place(query.outdated, answer)
        if outdated is None or outdated > rank or points <= self.points_below_outdated:
            return Score(points, rank, f"place {rank}")
        why = f"place {rank}, below one that no longer holds"
        return Score(self.points_below_outdated, rank, why)


class TopicRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Points by how many of the `first` places are about the topic: `[at least, points]`."""

    first: int
    points_from: Steps

    def score(self, query: SuiteQuery, answer: Answer) -> Score:
        found = sum(_has(query.wanted, memories) for memories in answer[: self.first])
        points = next((points for least, points in self.points_from if found >= least), 0)
        why = f"{found} of the first {self.first} on the topic"
        return Score(points, _place(query.wanted, answer), why)


class ScoringRules(Struct, frozen=True, forbid_unknown_fields=True):
    """The rules by name."""

    place: PlaceRule
    newest: PlaceRule
    topic: TopicRule

    def score(self, query: SuiteQuery, answer: Answer) -> Score:
        """The points of an answer; an answer that holds what the filter forbids gets none."""
        for memory in chain.from_iterable(answer):
            if not passes(query.filter, memory):
                return Score(0, None, f"{memory.id} breaks the filter")
        rule: PlaceRule | TopicRule = getattr(self, query.rule)
        return rule.score(query, answer)


def passes(filter: Filter, memory: Memory) -> bool:
    """Whether the memory passes the filter. Computed here and not by the store, since the store is
    what is tested."""
    return (
        all(getattr(filter, name) in (None, getattr(memory, name)) for name in EQUAL)
        and {*filter.tags} <= {*memory.tags}
        and _between(filter.since, memory.updated_at, filter.until)
    )


def _between(since: datetime | None, moment: datetime, until: datetime | None) -> bool:
    return (since is None or since <= moment) and (until is None or moment <= until)


def _place(ids: Iterable[str], answer: Answer) -> int | None:
    """The first place, from 1, that has one of these ids."""
    wanted = {*ids}
    ranks = (rank for rank, memories in enumerate(answer, start=1) if _has(wanted, memories))
    return next(ranks, None)


def _has(ids: Iterable[str], memories: Sequence[Memory]) -> bool:
    return not {*ids}.isdisjoint(memory.id for memory in memories)


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    """The queries, the time they are asked at, and how answers are scored."""

    now: datetime
    limit: int
    rules: ScoringRules
    queries: tuple[SuiteQuery, ...]

    def query(self, kind: str) -> SuiteQuery:
        """The query of that kind."""
        for query in self.queries:
            if query.kind == kind:
                return query
        kinds = ", ".join(query.kind for query in self.queries)
        raise UserError(f"There is no kind of query {kind!r}; there are: {kinds}.")


class QueryOutcome(NamedTuple):
    """A recipe's response and its score; no response where it refused the query."""

    query: SuiteQuery
    response: Response | None
    score: Score


@cache
def suite() -> Suite:
    """The suite, read from its files."""
    return msgspec.convert(tomllib.loads(_file("queries.toml").decode()), Suite)


def memories() -> Iterator[Draft]:
    """Every memory of the suite's vault."""
    for line in _file("memories.jsonl").splitlines():
        yield make_draft(msgspec.json.decode(line))


def _file(name: str) -> bytes:
    return files(__package__).joinpath(name).read_bytes()


@contextmanager
def opened(
    home: Path, settings: Settings, environment: Mapping[str, str], progress: Progress
) -> Iterator[SuiteVault]:
    """The suite's memories in a temporary vault.

    Only the settings' models and the home's recipes are used. The clock stands still and the
    reranker has no deadline, so that the result depends neither on the day nor on the load.
    """
    rerank = msgspec.structs.replace(settings.rerank, budget_ms=UNHURRIED_MS)
    with (
        tempfile.TemporaryDirectory(prefix="recollect-suite-") as place,
        Recollect(
            Path(place) / "vault.db",
            home=home,
            settings=Settings(embedding=settings.embedding, rerank=rerank),
            environment=environment,
            clock=lambda: suite().now,
        ) as memory,
    ):
        yield SuiteVault(memory, suite(), _filled(memory, progress))


def _filled(memory: Recollect, progress: Progress) -> str | None:
    """Save and embed the memories; return the reason where a model made no vectors."""
    lines = [Line(number, draft, "", 1) for number, draft in enumerate(memories(), start=1)]
    memory.import_lines(lines, strict=True, redact=False)
    with progress("Embedding", memory.waiting()) as advance:
        return memory.embed_now(advance)


class SuiteVault:
    """The vault with the suite's memories, and the suite's queries."""

    def __init__(self, memory: Recollect, asked: Suite, problem: str | None) -> None:
        self.memory = memory
        self.suite = asked
        self.problem = problem

    def outcomes(self, recipe: str, asked: Iterable[SuiteQuery]) -> list[QueryOutcome]:
        """The outcome of each of these queries with this recipe."""
        return [self._outcome(recipe, query) for query in asked]

    def _outcome(self, recipe: str, query: SuiteQuery) -> QueryOutcome:
        try:
            response = self.memory.search(
                query.text, recipe=recipe, limit=self.suite.limit, filter=query.filter
            )
        except UserError as error:  # the recipe wants more than this query has
            return QueryOutcome(query, None, Score(0, None, f"refused: {error}"))
        return QueryOutcome(query, response, self.suite.rules.score(query, answer_of(response)))


def answer_of(response: Response) -> Answer:
    """The memories at each place; near duplicates share one."""
    return [(result.memory, *result.same) for result in response]


def points(outcomes: Iterable[QueryOutcome]) -> int:
    return sum(outcome.score.points for outcome in outcomes)


def degraded(outcomes: Iterable[QueryOutcome]) -> list[str]:
    """The parts that were missing, each reason once."""
    reasons = (
        f"{part.channel}: {part.reason}"
        for outcome in outcomes
        if outcome.response is not None
        for part in outcome.response.degraded
    )
    return list(dict.fromkeys(reasons))


def report(bench: SuiteVault, found: Mapping[str, Sequence[QueryOutcome]]) -> dict[str, Any]:
    """The whole report, as `recollect eval suite --json` prints it."""
    return {
        "queries": [_query_json(query) for query in bench.suite.queries],
        "recipes": {
            name: {
                "points": points(outcomes),
                "of": MOST * len(outcomes),
                "queries": {each.query.kind: each.score._asdict() for each in outcomes},
                "degraded": degraded(outcomes),
            }
            for name, outcomes in found.items()
        },
        "models": bench.memory.models.identities(),
    }


def _query_json(query: SuiteQuery) -> dict[str, Any]:
    return {
        "kind": query.kind,
        "text": query.text,
        "filter": filter_json(query.filter),
        "rule": query.rule,
        "expected": query.wanted,
        "outdated": query.outdated,
        "about": query.about,
    }


def filter_json(filter: Filter) -> dict[str, Any]:
    """The fields of the filter that are set."""
    fields = msgspec.structs.asdict(filter)
    return {name: value for name, value in fields.items() if value not in (None, ())}
