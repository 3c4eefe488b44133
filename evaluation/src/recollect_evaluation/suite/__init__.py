"""The ten-query suite: ten kinds of query on bundled memories, three points each.

Source of the ten kinds: the `covalence` recipe, "Quality suite". `queries.toml` has the rules for
points.
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
    """One question of the suite.

    wanted: the ids that answer it.
    outdated: the ids that once answered it.
    about: why it is hard.
    """

    kind: str
    text: str
    rule: Literal["place", "newest", "topic"]
    wanted: tuple[str, ...]
    about: str
    outdated: tuple[str, ...] = ()
    filter: Filter = Filter()


class Score(NamedTuple):
    """The points, the place of the best wanted memory (from 1; None if not found), and the reason
    for the points."""

    points: int
    rank: int | None
    why: str


class PlaceRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Points by the place of the wanted memory: the first `[place, points]` that applies. Below an
    outdated memory at most `points_below_outdated`."""

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
    """Points by the number of the `first` places on the topic: `[at least, points]`."""

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
        """Score an answer; one that breaks the filter gets no points."""
        for memory in chain.from_iterable(answer):
            if not passes(query.filter, memory):
                return Score(0, None, f"{memory.id} breaks the filter")
        rule: PlaceRule | TopicRule = getattr(self, query.rule)
        return rule.score(query, answer)


def passes(filter: Filter, memory: Memory) -> bool:
    """Return True if the memory passes the filter. Computed here, since the store is under test."""
    return (
        all(getattr(filter, name) in (None, getattr(memory, name)) for name in EQUAL)
        and {*filter.tags} <= {*memory.tags}
        and (filter.since is None or filter.since <= memory.updated_at)
        and (filter.until is None or memory.updated_at <= filter.until)
    )


def _place(ids: Iterable[str], answer: Answer) -> int | None:
    """Return the first place, from 1, that has one of these ids."""
    wanted = {*ids}
    ranks = (rank for rank, memories in enumerate(answer, start=1) if _has(wanted, memories))
    return next(ranks, None)


def _has(ids: Iterable[str], memories: Sequence[Memory]) -> bool:
    return not {*ids}.isdisjoint(memory.id for memory in memories)


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    """The queries, the time of asking, and the rules for points."""

    now: datetime
    limit: int
    rules: ScoringRules
    queries: tuple[SuiteQuery, ...]

    def query(self, kind: str) -> SuiteQuery:
        """Return the query of this kind; UserError lists the kinds."""
        for query in self.queries:
            if query.kind == kind:
                return query
        kinds = ", ".join(query.kind for query in self.queries)
        raise UserError(f"There is no kind of query {kind!r}; there are: {kinds}.")


class QueryOutcome(NamedTuple):
    """A recipe's response and its score; no response if it refused the query."""

    query: SuiteQuery
    response: Response | None
    score: Score


@cache
def suite() -> Suite:
    """Read the suite from its file."""
    return msgspec.convert(tomllib.loads(_file("queries.toml").decode()), Suite)


def memories() -> Iterator[Draft]:
    """Yield every memory of the suite's vault."""
    for line in _file("memories.jsonl").splitlines():
        yield make_draft(msgspec.json.decode(line))


def _file(name: str) -> bytes:
    return files(__package__).joinpath(name).read_bytes()


@contextmanager
def open_suite(
    home: Path, settings: Settings, environment: Mapping[str, str], progress: Progress
) -> Iterator[SuiteVault]:
    """Open a temporary vault with the suite's memories.

    It uses only the settings' models and the home's recipes. The clock is fixed and the reranker
    has no deadline, so that the result depends neither on the day nor on the load.
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
        yield SuiteVault(memory, suite(), _fill_vault(memory, progress))


def _fill_vault(memory: Recollect, progress: Progress) -> str | None:
    """Save and embed the memories; return the reason if a model made no vectors."""
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
        """Return the outcome of each of these queries with this recipe."""
        return [self._outcome(recipe, query) for query in asked]

    def _outcome(self, recipe: str, query: SuiteQuery) -> QueryOutcome:
        try:
            response = self.memory.search(
                query.text, recipe=recipe, limit=self.suite.limit, filter=query.filter
            )
        except UserError as error:  # the recipe needs more than this query has
            return QueryOutcome(query, None, Score(0, None, f"refused: {error}"))
        return QueryOutcome(query, response, self.suite.rules.score(query, answer_of(response)))


def answer_of(response: Response) -> Answer:
    """Return the memories at each place; near duplicates share one."""
    return [(result.memory, *result.same) for result in response]


def points(outcomes: Iterable[QueryOutcome]) -> int:
    return sum(outcome.score.points for outcome in outcomes)


def missing_parts(outcomes: Iterable[QueryOutcome]) -> list[str]:
    """Return the parts that were missing, each reason once."""
    reasons = (
        f"{part.channel}: {part.reason}"
        for outcome in outcomes
        if outcome.response is not None
        for part in outcome.response.degraded
    )
    return list(dict.fromkeys(reasons))


def report(bench: SuiteVault, found: Mapping[str, Sequence[QueryOutcome]]) -> dict[str, Any]:
    """Return the report that `recollect eval suite --json` prints."""
    return {
        "queries": [_query_json(query) for query in bench.suite.queries],
        "recipes": {
            name: {
                "points": points(outcomes),
                "of": MOST * len(outcomes),
                "queries": {each.query.kind: each.score._asdict() for each in outcomes},
                "degraded": missing_parts(outcomes),
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
    """Return the fields of the filter that are set."""
    fields = msgspec.structs.asdict(filter)
    return {name: value for name, value in fields.items() if value not in (None, ())}
