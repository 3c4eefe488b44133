"""The stage that adds to a score: signals beside what fusion found."""

from __future__ import annotations

from msgspec import Struct

from recollect.context import SearchContext
from recollect.signals.base import NOTHING, added
from recollect.stages.weighted_sum import AnySignal
from recollect.types import Hit, Ranking, ranked, weighted


class Bonus(Struct, frozen=True, tag="bonus", forbid_unknown_fields=True):
    """`score + Σ weight · signal`. A signal that has nothing to say of any candidate, since the
    query does not ask for it, is left out of the explanation."""

    signals: tuple[AnySignal, ...]
    name: str = "bonus"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        ids = ranking.ids
        by_signal = {signal: signal.values(context, ids) for signal in self.signals} if ids else {}
        said = {
            signal: values
            for signal, values in by_signal.items()
            if any(value.raw for value in values.values())
        }
        if not said:
            return ranking
        return ranked(
            (
                Hit(
                    hit.memory_id,
                    added(
                        hit.why,
                        *(
                            weighted(
                                signal.name, signal.weight, *values.get(hit.memory_id, NOTHING)
                            )
                            for signal, values in said.items()
                        ),
                    ),
                )
                for hit in ranking
            ),
            ranking.dropped,
        )
