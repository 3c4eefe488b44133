"""The ten-query suite: ten kinds of query on memories that come with Recollect, three points each.

Source of the ten kinds: the `covalence` recipe, "Quality suite".
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.evals.cache import UNHURRIED_MS
from recollect.evals.progress import Progress
from recollect.evals.suite.rules import MOST, Answer, Score, ScoringRules, SuiteQuery
from recollect.ingest.draft import Draft, draft
from recollect.ingest.jsonl import Line
from recollect.settings import Settings
from recollect.types import Filter, Response


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked, when, and how it is scored."""

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
    """What a recipe answered and what that is worth; no response where it refused the query."""

    query: SuiteQuery
    response: Response | None
    score: Score


@cache
def suite() -> Suite:
    """The suite as its files say it."""
    return msgspec.convert(tomllib.loads(_file("queries.toml").decode()), Suite)


def memories() -> Iterator[Draft]:
    """Every memory of the suite's vault."""
    for line in _file("memories.jsonl").splitlines():
        yield draft(msgspec.json.decode(line))


def _file(name: str) -> bytes:
    return files("recollect.evals.suite").joinpath(name).read_bytes()


@contextmanager
def opened(
    home: Path, settings: Settings, environment: Mapping[str, str], progress: Progress
) -> Iterator[SuiteVault]:
    """The suite's memories in a vault that goes away again.

    Of the settings only the models count, and of the home its recipes. The clock stands still, and
    the reranker has all the time it needs: what comes out does not depend on the day or the load.
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
    """Save and embed; why there are no vectors, where a model did not make them."""
    lines = [Line(number, one, "", 1) for number, one in enumerate(memories(), start=1)]
    memory.import_lines(lines, strict=True, redact=False)
    with progress("Embedding", memory.waiting()) as advance:
        return memory.embed_now(advance)


class SuiteVault:
    """The suite's vault, and what every recipe is asked."""

    def __init__(self, memory: Recollect, asked: Suite, problem: str | None) -> None:
        self.memory = memory
        self.suite = asked
        self.problem = problem

    def outcomes(self, recipe: str, asked: Iterable[SuiteQuery]) -> list[QueryOutcome]:
        """What this recipe answers to each of these queries."""
        return [self._outcome(recipe, query) for query in asked]

    def _outcome(self, recipe: str, query: SuiteQuery) -> QueryOutcome:
        try:
            response = self.memory.search(
                query.text, recipe=recipe, limit=self.suite.limit, filter=query.filter
            )
        except UserError as error:  # the recipe wants more than this query has
            return QueryOutcome(query, None, Score(0, None, f"refused: {error}"))
        return QueryOutcome(query, response, self.suite.rules.score(query, answer_of(response)))

    def models(self) -> dict[str, str | None]:
        """The identity of each model; None where there is none."""
        return self.memory.models.identities()


def answer_of(response: Response) -> Answer:
    """What stands at each place; twins stand at one."""
    return [(one.memory, *one.same) for one in response]


def points(outcomes: Iterable[QueryOutcome]) -> int:
    return sum(one.score.points for one in outcomes)


def degraded(outcomes: Iterable[QueryOutcome]) -> list[str]:
    """What could not take part, each reason once."""
    told = (
        f"{part.channel}: {part.reason}"
        for one in outcomes
        if one.response is not None
        for part in one.response.degraded
    )
    return list(dict.fromkeys(told))


def report(bench: SuiteVault, found: Mapping[str, Sequence[QueryOutcome]]) -> dict[str, Any]:
    """The whole of it, as `recollect suite --json` prints it."""
    return {
        "queries": [_told(query) for query in bench.suite.queries],
        "recipes": {
            name: {
                "points": points(outcomes),
                "of": MOST * len(outcomes),
                "queries": {one.query.kind: one.score._asdict() for one in outcomes},
                "degraded": degraded(outcomes),
            }
            for name, outcomes in found.items()
        },
        "models": bench.models(),
    }


def _told(query: SuiteQuery) -> dict[str, Any]:
    return {
        "kind": query.kind,
        "text": query.text,
        "filter": given(query.filter),
        "rule": query.rule,
        "expected": query.wanted,
        "outdated": query.outdated,
        "about": query.about,
    }


def given(filter: Filter) -> dict[str, Any]:
    """What the filter asks for, and nothing else."""
    held = msgspec.structs.asdict(filter)
    return {name: value for name, value in held.items() if value not in (None, ())}
