"""How many points an answer gets; the numbers are in `queries.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Literal, NamedTuple

from msgspec import Struct

from recollect.types import Filter, Memory

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
