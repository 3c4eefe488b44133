"""Signals of use: feedback on a memory, and how often it was used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, SignalValue
from recollect.types import Use


class Feedback(Signal, frozen=True, tag="feedback", kw_only=True):
    """From −1 (dismissed) to 1 (accepted), weighted by the likeness of the queries, which the
    recipe's `feedback` defines: a memory dismissed for another question is no worse for this
    one."""

    about = "accepted or dismissed before"
    family = "rarity"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        opinions = context.opinions
        return {id: SignalValue(opinions[id].raw, opinions[id].how) for id in ids if id in opinions}


# Being returned says little: it is the work of the ranking itself. An opened memory was chosen, and
# an accepted one was right.
RETURNED, OPENED, ACCEPTED = 0.1, 1.0, 3.0
# The use for which the signal is 0.5.
HALF = 5.0


class Used(Signal, frozen=True, tag="used", kw_only=True):
    """From 0 (never used, or not counted) towards 1. Off in the documented recipes: it would keep
    raising results that were found once, good or bad."""

    about = "opened or accepted before"
    family = "trust"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        found = context.store.usage.of(ids) if self.weight else {}  # off: nothing is read
        return {id: SignalValue(usefulness(use), _how(use)) for id, use in found.items()}


def usefulness(use: Use) -> float:
    """Return `u / (u + 5)`, where `u` is `0.1 × returned + opened + 3 × accepted`. It saturates, so
    that daily use does not outweigh everything."""
    amount = RETURNED * use.returned + OPENED * use.opened + ACCEPTED * use.accepted
    return amount / (amount + HALF)


def _how(use: Use) -> str:
    return f"returned {use.returned}, opened {use.opened}, accepted {use.accepted} times"
