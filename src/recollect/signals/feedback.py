"""`feedback`: what people said of a memory when they asked this, or something like it, before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, SignalValue


class Feedback(Signal, frozen=True, tag="feedback", kw_only=True):
    """From −1 (dismissed) to 1 (accepted), by how alike the questions are: the recipe's `feedback`
    says how that is measured. What was dismissed for another question is not worse for this one."""

    about = "accepted or dismissed before"
    family = "rarity"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        opinions = context.opinions
        return {id: SignalValue(opinions[id].raw, opinions[id].how) for id in ids if id in opinions}
