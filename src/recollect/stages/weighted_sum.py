"""The stage that scores: a weighted sum of signals, with weights that may learn from feedback."""

from __future__ import annotations

from typing import Union

from msgspec import Struct

from recollect.context import SearchContext
from recollect.recipes.ranges import AtLeastOne, Share
from recollect.signals.base import NOTHING
from recollect.signals.cosine import Cosine
from recollect.signals.decay import TemporalDecay
from recollect.signals.domain import DomainMatch
from recollect.signals.exact import Exact
from recollect.signals.feedback import Feedback
from recollect.signals.first_person import FirstPerson
from recollect.signals.importance import Importance
from recollect.signals.max_idf import MaxIdf
from recollect.signals.proximity import Proximity
from recollect.signals.rank import KeywordRank, VectorRank
from recollect.signals.recency import Recency
from recollect.signals.severity import Severity
from recollect.signals.tags import TagOverlap
from recollect.signals.tfidf import Semantic
from recollect.signals.tier import Tier
from recollect.signals.time_match import TimeMatch
from recollect.signals.title import Title
from recollect.types import Hit, Ranking, combine, ranked, weighted

AnySignal = Union[  # noqa: UP007  a tagged union for msgspec, listed one a line
    Semantic,
    Cosine,
    Severity,
    TemporalDecay,
    TagOverlap,
    DomainMatch,
    KeywordRank,
    VectorRank,
    Tier,
    Title,
    Recency,
    Proximity,
    MaxIdf,
    Exact,
    FirstPerson,
    TimeMatch,
    Importance,
    Feedback,
]


class Adaptive(Struct, frozen=True, forbid_unknown_fields=True):
    """From `after` feedback events on, `signal` gains `(a − 0.5) · 2 · span`, `a` being the share
    accepted; the weights other than it and `fixed` are scaled alike so that all sum to 1. No
    weight falls below 0."""

    signal: str
    fixed: tuple[str, ...] = ()
    after: AtLeastOne = 30
    span: Share = 0.15

    def adapted(self, weights: dict[str, float], accepted: int, dismissed: int) -> dict[str, float]:
        events = accepted + dismissed
        if events < self.after:
            return weights
        change = (accepted / events - 0.5) * 2 * self.span
        leading = max(0.0, weights[self.signal] + change)
        held = {name: weights[name] for name in self.fixed} | {self.signal: leading}
        others = {name: weight for name, weight in weights.items() if name not in held}
        scale = max(0.0, 1 - sum(held.values())) / sum(others.values())
        return {name: held.get(name, weights[name] * scale) for name in weights}


class WeightedSum(Struct, frozen=True, tag="weighted_sum", forbid_unknown_fields=True):
    """`Σ weight · signal`: every candidate scored afresh."""

    signals: tuple[AnySignal, ...]
    adaptive: Adaptive | None = None
    name: str = "score"

    def declared(self, *, vectors: bool) -> dict[str, float]:
        """The weights as the recipe has them, with or without a model that answers."""
        return {
            signal.name: signal.weight_with_vectors if vectors else signal.weight
            for signal in self.signals
        }

    def weights(self, context: SearchContext) -> dict[str, float]:
        """The weights that hold for this query in this vault. A vector channel that took part is a
        model that answered."""
        weights = self.declared(vectors="vector" in context.channels)
        if self.adaptive is None:
            return weights
        return self.adaptive.adapted(weights, *context.store.feedback.counts())

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        ids = ranking.ids
        if not ids:
            return ranking
        weights = self.weights(context)
        by_signal = {signal.name: signal.values(context, ids) for signal in self.signals}
        return ranked(
            Hit(
                id,
                combine(
                    self.name,
                    "sum",
                    [
                        weighted(name, weights[name], *values.get(id, NOTHING))
                        for name, values in by_signal.items()
                    ],
                ),
            )
            for id in ids
        )
