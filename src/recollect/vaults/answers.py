"""Answers of several vaults as one. Source: the `vault` recipe, "Federation"."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from recollect.pipeline import topics
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

CERTAINTY: tuple[Evidence | None, ...] = ("strong", "weak", "none", None)


class VaultAnswer(NamedTuple):
    """What a vault answered."""

    vault: KnownVault
    response: Response


def merged(answers: Sequence[VaultAnswer], limit: int, away: Sequence[Degraded]) -> Response:
    """One response, ranked by score × priority; of one id the version of the vault of highest
    priority.

    `answers` are in order of priority, the home's own first among equals. `away` are the vaults
    that could not take part.
    """
    first = answers[0].response
    seen: set[str] = set()
    lists: list[list[Result]] = []
    repeated = 0
    for vault, response in answers:
        results = []
        for result in response:
            if result.id in seen:
                repeated += 1
            else:
                seen.add(result.id)
                results.append(_weighed(result, vault, response.recipe))
        # Equal scores of one vault stay as it ordered them.
        lists.append(sorted(results, key=lambda result: -result.score))
    ranking = heapq.merge(*lists, key=lambda result: order(result.score, result.id))
    kept = tuple(islice(ranking, limit))
    cut = len(seen) - len(kept)
    sure = min(answers, key=lambda answer: CERTAINTY.index(answer.response.evidence)).response
    return msgspec.structs.replace(
        first,
        results=kept,
        counts=_counts(answers, len(kept), {"repeated": repeated, "limit": cut}),
        topics=topics(kept),
        degraded=(*(part for answer in answers for part in _degraded(answer)), *away),
        notes=_once(note for answer in answers for note in answer.response.notes),
        understood=_once(period for answer in answers for period in answer.response.understood),
        evidence=sure.evidence,
        confidence=sure.confidence,
        facets=_facets(answers),
        timings_ms=first.timings_ms
        | {f"vaults.{vault.name}": response.timings_ms["total"] for vault, response in answers},
    )


def _weighed(result: Result, vault: KnownVault, recipe: str) -> Result:
    inner: Term = msgspec.structs.replace(result.explain, name=vault.name)
    priority = leaf("priority", vault.priority, f"vault {vault.name}, tier {vault.tier}")
    why = combine(recipe, "product", (priority, inner))
    return msgspec.structs.replace(result, score=why.value, explain=why, vault=vault.name)


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


def _degraded(answer: VaultAnswer) -> list[Degraded]:
    """Each part with the vault in which it could not do its work; the home's own goes without."""
    vault, response = answer
    if vault.tier == "agent":
        return list(response.degraded)
    return [
        Degraded(f"{vault.name}/{part.channel}", part.reason, part.reach)
        for part in response.degraded
    ]


def _facets(answers: Sequence[VaultAnswer]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for _, response in answers:
        for name, counts in response.facets.items():
            found.setdefault(name, Counter()).update(counts)
    return {name: dict(counts.most_common()) for name, counts in found.items()}


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
