"""Merge the responses of several vaults into one; each vault ranks its own memories.

Scores that are log odds are merged by confidence × priority, all others by score × priority. Source
of the latter: the `vault` recipe, "Federation".
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from recollect.maths import logistic, logit
from recollect.pipeline import topics
from recollect.recipes.base import Recipe
from recollect.signals.base import add_parts
from recollect.types import (
    Degraded,
    Evidence,
    Response,
    Result,
    Term,
    combine,
    leaf,
    order,
)
from recollect.vaults.known import KnownVault

# Confidence × priority is at least this, so that it has log odds.
LEAST = 1e-9
CERTAINTY: tuple[Evidence | None, ...] = ("strong", "weak", "none", None)


class VaultAnswer(NamedTuple):
    vault: KnownVault
    response: Response


def merge_answers(
    recipe: Recipe, answers: Sequence[VaultAnswer], limit: int, away: Sequence[Degraded]
) -> Response:
    """Return one response. An id in several vaults comes from the one of highest priority.

    `answers` are in order of priority, the home's own first among equals. `away` lists the vaults
    that could not answer.
    """
    first = answers[0].response
    seen: set[str] = set()
    lists: list[list[Result]] = []
    repeated = 0
    highest = max(1.0, *(answer.vault.priority for answer in answers))
    listing = all(_is_list(recipe, answer.response) for answer in answers if answer.response)
    for vault, response in answers:
        results = []
        for result in response:
            if result.id in seen:
                repeated += 1
            else:
                seen.add(result.id)
                results.append(msgspec.structs.replace(result, vault=vault.name))
        if not listing and "log_odds" in recipe.fuse.gives:
            results = [_with_odds(result, vault, highest) for result in results]
        elif not listing:
            results = [_with_priority(result, vault, response.recipe) for result in results]
        # Equal scores of one vault stay as it ordered them.
        lists.append(sorted(results, key=lambda result: -result.score))
    by_score = heapq.merge(*lists, key=lambda result: order(result.score, result.id))
    kept = tuple(islice(_by_time(lists) if listing else by_score, limit))
    cut = len(seen) - len(kept)
    sure = min(
        (answer.response for answer in answers),
        key=lambda one: (CERTAINTY.index(one.evidence), -(one.confidence or 0.0)),
    )
    return msgspec.structs.replace(
        first,
        results=kept,
        counts=_counts(answers, len(kept), {"repeated": repeated, "limit": cut}),
        topics=topics(kept),
        degraded=(*(part for answer in answers for part in _named_degraded(answer)), *away),
        notes=_once(note for answer in answers for note in answer.response.notes),
        understood=_once(period for answer in answers for period in answer.response.understood),
        evidence=sure.evidence,
        confidence=sure.confidence,
        facets=_facets(answers),
        timings_ms=first.timings_ms
        | {f"vaults.{vault.name}": response.timings_ms["total"] for vault, response in answers},
    )


def _with_priority(result: Result, vault: KnownVault, recipe: str) -> Result:
    """Return the result with score × priority."""
    inner: Term = msgspec.structs.replace(result.explain, name=vault.name)
    priority = leaf("priority", vault.priority, f"vault {vault.name}, tier {vault.tier}")
    return _with_score(result, combine(recipe, "product", (priority, inner)))


def _with_odds(result: Result, vault: KnownVault, highest: float) -> Result:
    """Return the result with the log odds of confidence × priority.

    Priorities are divided by the `highest`, so that no confidence is above 1.
    """
    share = vault.priority / highest
    if share == 1:
        return result
    confidence = logistic(result.score)
    lost = min(0.0, logit(max(confidence * share, LEAST)) - result.score)
    formula = f"confidence {confidence:.2f} × priority {share:.3g}"
    priority = Term("priority", lost, formula, how=f"vault {vault.name}, tier {vault.tier}")
    return _with_score(result, add_parts(result.explain, priority))


def _is_list(recipe: Recipe, response: Response) -> bool:
    """Return True for the answer to a listing query, which is ordered by time."""
    names = {channel.name for channel in recipe.recall if channel.lists}
    return any(part.name in names for part in response.results[0].explain.leaves())


def _by_time(lists: Sequence[list[Result]]) -> Iterable[Result]:
    """Merge lists that are ordered by time, in their direction; scores become `1/place`."""

    def made(result: Result) -> datetime:
        return result.memory.created_at

    oldest = any(made(results[0]) < made(results[-1]) for results in lists if results)
    for place, result in enumerate(heapq.merge(*lists, key=made, reverse=not oldest), start=1):
        lost, how = 1 / place - result.score, f"place {place} over all vaults"
        later = Term("vaults", lost, f"1/{place} − 1/{round(1 / result.score)}", how=how)
        yield _with_score(result, add_parts(result.explain, later)) if lost else result


def _with_score(result: Result, why: Term) -> Result:
    return msgspec.structs.replace(result, score=why.value, explain=why)


def _counts(
    answers: Sequence[VaultAnswer], returned: int, more: dict[str, int]
) -> dict[str, object]:
    whole: Counter[str] = Counter()
    dropped: Counter[str] = Counter({name: count for name, count in more.items() if count})
    for _, response in answers:
        counts: dict[str, Any] = dict(response.counts)
        dropped.update(counts.pop("dropped"))
        whole.update(counts)
    return {**whole, "returned": returned, "dropped": dict(dropped)}


def _named_degraded(answer: VaultAnswer) -> list[Degraded]:
    """Return what was degraded, each part named `vault/part`, except in the home's own vault."""
    vault, response = answer
    if vault.tier == "agent":
        return list(response.degraded)
    return [
        Degraded(f"{vault.name}/{part.channel}", part.reason, part.reach)
        for part in response.degraded
    ]


def _facets(answers: Sequence[VaultAnswer]) -> dict[str, dict[str, int]]:
    facets: dict[str, Counter[str]] = {}
    for _, response in answers:
        for name, counts in response.facets.items():
            facets.setdefault(name, Counter()).update(counts)
    return {name: dict(counts.most_common()) for name, counts in facets.items()}


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
