"""Signals of use: what people said of a memory, and how often it was of use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, SignalValue
from recollect.types import Use


class Feedback(Signal, frozen=True, tag="feedback", kw_only=True):
    """From −1 (dismissed) to 1 (accepted), by how alike the questions are: the recipe's `feedback`
    says how that is measured. What was dismissed for another question is not worse for this one."""

    about = "accepted or dismissed before"
    family = "rarity"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        opinions = context.opinions
        return {id: SignalValue(opinions[id].raw, opinions[id].how) for id in ids if id in opinions}


# Being returned says little: the ranking itself brought that about. Somebody who opens a memory has
# chosen it, and an acceptance says that it was right.
RETURNED, OPENED, ACCEPTED = 0.1, 1.0, 3.0
# A memory of so much use has half of what can be had.
HALF = 5.0


class Used(Signal, frozen=True, tag="used", kw_only=True):
    """From 0 (never used, or not counted) towards 1. It is off in the documented recipes: with it,
    what was found once is found more often, whether it is better or not."""

    about = "opened or accepted before"
    family = "trust"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        found = context.store.usage.of(ids) if self.weight else {}  # off: nothing is read
        return {id: SignalValue(usefulness(use), _how(use)) for id, use in found.items()}


def usefulness(use: Use) -> float:
    """`u / (u + 5)`, where `u` is `0.1 × returned + opened + 3 × accepted`: it saturates, so that
    what is used daily does not outweigh everything."""
    amount = RETURNED * use.returned + OPENED * use.opened + ACCEPTED * use.accepted
    return amount / (amount + HALF)


def _how(use: Use) -> str:
    return f"returned {use.returned}, opened {use.opened}, accepted {use.accepted} times"
