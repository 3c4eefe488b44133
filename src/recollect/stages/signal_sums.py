"""Stages that score by signals: a sum that replaces the score, with weights that may learn from
feedback, or one added to it."""

from __future__ import annotations

from msgspec import Struct

from recollect.context import ChannelRole, SearchContext
from recollect.errors import UserError
from recollect.recipes.ranges import AtLeastOne, Share
from recollect.signals import AnySignal
from recollect.signals.base import NOTHING, add_parts
from recollect.stages.base import Stage
from recollect.types import Ranking, combine, weighted


class SignalStage(Stage, frozen=True):
    """A stage of signals; it needs their channels."""

    signals: tuple[AnySignal, ...]

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(name for signal in self.signals for name in signal.channels)

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        return tuple(role for signal in self.signals for role in signal.roles)

    @property
    def reads_time(self) -> bool:
        return any(signal.reads_time for signal in self.signals)


class Adaptive(Struct, frozen=True, forbid_unknown_fields=True):
    """From `after` feedback events on, `signal` gains `(a − 0.5) · 2 · span`, where `a` is the
    accepted share; the weights other than it and `fixed` are scaled alike so that all sum to 1. No
    weight falls below 0."""

    signal: str
    fixed: tuple[str, ...] = ()
    after: AtLeastOne = 30
    span: Share = 0.15

    def adapt(self, weights: dict[str, float], accepted: int, dismissed: int) -> dict[str, float]:
        events = accepted + dismissed
        if events < self.after:
            return weights
        change = (accepted / events - 0.5) * 2 * self.span
        leading = max(0.0, weights[self.signal] + change)
        settled = {name: weights[name] for name in self.fixed} | {self.signal: leading}
        others = {name: weight for name, weight in weights.items() if name not in settled}
        scale = max(0.0, 1 - sum(settled.values())) / sum(others.values())
        return {name: settled.get(name, weights[name] * scale) for name in weights}


class WeightedSum(SignalStage, frozen=True, tag="weighted_sum"):
    """`Σ weight · signal`: computes every score anew."""

    adaptive: Adaptive | None = None
    name: str = "score"

    def check(self, where: str) -> None:
        """Raise UserError if `adaptive` names unknown signals, or leaves none to scale."""
        if self.adaptive is None:
            return
        signals = {signal.name: signal for signal in self.signals}
        named = (self.adaptive.signal, *self.adaptive.fixed)
        for name in named:
            if name not in signals:
                known = ", ".join(signals)
                raise UserError(f"{where}.adaptive names {name!r}; the signals are: {known}.")
        others = [signal for name, signal in signals.items() if name not in named]
        for weights in (
            [signal.weight for signal in others],
            [signal.weight_with_vectors for signal in others],
        ):
            if not any(weights):
                raise UserError(
                    f"{where}.adaptive scales the weights of the other signals, and all of them "
                    "are 0."
                )

    def declared_weights(self, *, vectors: bool) -> dict[str, float]:
        """Return the weights of the recipe, with or without vectors."""
        return {
            signal.name: signal.weight_with_vectors if vectors else signal.weight
            for signal in self.signals
        }

    def weights(self, context: SearchContext) -> dict[str, float]:
        """Return the weights for this query in this vault. A vector channel that took part means
        that a model answered."""
        weights = self.declared_weights(vectors=context.vectors_answered)
        if self.adaptive is None:
            return weights
        return self.adaptive.adapt(weights, *context.store.feedback.counts())

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        ids = ranking.ids
        if not ids:
            return ranking
        weights = self.weights(context)
        by_signal = {signal.name: signal.values(context, ids) for signal in self.signals}
        return ranking.with_hits(
            hit.with_score(
                combine(
                    self.name,
                    "sum",
                    [
                        weighted(name, weights[name], *values.get(hit.memory_id, NOTHING))
                        for name, values in by_signal.items()
                    ],
                )
            )
            for hit in ranking
        )


class Bonus(SignalStage, frozen=True, tag="bonus"):
    """`score + Σ weight · signal`. A signal that is 0 for every candidate, since the query does not
    use it, is not in the explanation."""

    name: str = "bonus"

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
        return ranking.with_hits(
            hit.with_score(
                add_parts(
                    hit.why,
                    *(
                        weighted(signal.name, signal.weight, *values.get(hit.memory_id, NOTHING))
                        for signal, values in telling.items()
                    ),
                )
            )
            for hit in ranking
        )
