"""Opinions: feedback on memories for the same or a similar query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from recollect.query.likeness import Likeness, normalise
from recollect.store.feedback import StoredFeedback, Verdict

if TYPE_CHECKING:
    from recollect.store.base import Vector

MOST_QUERIES = 50  # similar queries whose feedback counts; each costs a look-up


class Opinion(NamedTuple):
    """The feedback on a memory for a query, from −1 (dismissed) to 1 (accepted). `same`: on the
    same query; `how`: in words."""

    raw: float
    same: bool
    how: str


def opinions(
    query: str,
    log: StoredFeedback,
    likeness: Likeness,
    identity: str | None = None,
    vector: Vector | None = None,
) -> dict[str, Opinion]:
    """Return the opinion on each memory with feedback for this query or similar ones, which are
    compared by their vectors, or without a vector by words.

    Feedback on the same query decides alone: on the same words if there is any, else on the words
    nearest in meaning. Otherwise feedback on similar queries is added up, within −1…1.
    """
    words = normalise(query)
    if not words:
        return {}
    near = log.find_near(identity, vector, likeness.related)
    alike = {other: likeness.between(words, other, cosine) for other, cosine in near.items()}
    alike = {words: 1.0} | {other: value for other, value in alike.items() if value > 0}
    nearest = sorted(
        alike, key=lambda other: (other != words, -alike[other], -(near.get(other) or 0), other)
    )
    by_memory: dict[str, list[Verdict]] = {}
    for verdict in log.find_verdicts(nearest[:MOST_QUERIES]):
        by_memory.setdefault(verdict.memory_id, []).append(verdict)
    order = {other: place for place, other in enumerate(nearest)}
    return {
        id: _opinion(sorted(verdicts, key=lambda verdict: order[verdict.words]), alike)
        for id, verdicts in by_memory.items()
    }


def _opinion(verdicts: list[Verdict], alike: Mapping[str, float]) -> Opinion:
    """Return the opinion on a memory, given the feedback on it, on the nearest query first."""
    first = verdicts[0]
    if alike[first.words] == 1.0:
        return Opinion(1.0 if first.accepted else -1.0, True, _words(first))
    total = sum(
        alike[verdict.words] if verdict.accepted else -alike[verdict.words] for verdict in verdicts
    )
    leading = next((verdict for verdict in verdicts if verdict.accepted == (total > 0)), first)
    how = f"{_words(leading)}, a similar question"
    return Opinion(max(-1.0, min(1.0, total)), False, how)


def _words(verdict: Verdict) -> str:
    return f"you {'accepted' if verdict.accepted else 'dismissed'} this for “{verdict.query}”"
