"""What was said of memories when somebody asked this, or something like it, before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from recollect.query.likeness import Likeness, normalise
from recollect.store.feedback import StoredFeedback, Verdict

if TYPE_CHECKING:
    from recollect.store.base import Vector

# Feedback on more queries than these says nothing new of this one; each costs a look-up.
MOST_QUERIES = 50


class Opinion(NamedTuple):
    """What feedback says of a memory for a query, from −1 (dismissed) to 1 (accepted). `same`: it
    was said of this very question. `how` says it in words."""

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
    """What feedback says of each memory it names. Words are compared where there is no vector.

    Feedback on the same question decides alone: on the same words if there is any, else on the
    words nearest in meaning. Without any, that on like questions is added up, within −1…1.
    """
    words = normalise(query)
    if not words:
        return {}
    near = log.near(identity, vector, likeness.related)
    alike = {other: likeness.between(words, other, cosine) for other, cosine in near.items()}
    alike = {words: 1.0} | {other: value for other, value in alike.items() if value > 0}
    nearest = sorted(
        alike, key=lambda other: (other != words, -alike[other], -(near.get(other) or 0), other)
    )
    by_memory: dict[str, list[Verdict]] = {}
    for verdict in log.on(nearest[:MOST_QUERIES]):
        by_memory.setdefault(verdict.memory_id, []).append(verdict)
    order = {other: place for place, other in enumerate(nearest)}
    return {
        id: _opinion(sorted(verdicts, key=lambda verdict: order[verdict.words]), alike)
        for id, verdicts in by_memory.items()
    }


def _opinion(verdicts: list[Verdict], alike: Mapping[str, float]) -> Opinion:
    """Of one memory; the feedback on the nearest query comes first."""
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
