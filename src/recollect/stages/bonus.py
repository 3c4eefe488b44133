"""The stage that adds to a score: signals beside what fusion found."""

from __future__ import annotations

from recollect.context import ChannelRole, SearchContext
from recollect.signals.base import NOTHING, added
from recollect.signals.registry import AnySignal, channels_of, roles_of
from recollect.stages.base import Stage
from recollect.types import Ranking, weighted


class Bonus(Stage, frozen=True, tag="bonus"):
    """`score + Σ weight · signal`. A signal that has nothing to say of any candidate, since the
    query does not ask for it, is left out of the explanation."""

    signals: tuple[AnySignal, ...]
    name: str = "bonus"

    @property
    def channels(self) -> tuple[str, ...]:
        return channels_of(self.signals)

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        return roles_of(self.signals)

    @property
    def reads_time(self) -> bool:
        return any(signal.reads_time for signal in self.signals)

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        ids = ranking.ids
        by_signal = {signal: signal.values(context, ids) for signal in self.signals} if ids else {}
        telling = {
            signal: values
            for signal, values in by_signal.items()
            if any(value.raw for value in values.values())
        }
        if not telling:
            return ranking
        return ranking.resorted(
            hit.rescored(
                added(
                    hit.why,
                    *(
                        weighted(signal.name, signal.weight, *values.get(hit.memory_id, NOTHING))
                        for signal, values in telling.items()
                    ),
                )
            )
            for hit in ranking
        )
