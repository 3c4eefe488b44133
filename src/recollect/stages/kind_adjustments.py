"""Adjustments by kind: some kinds weigh more than their number, some only beside their task."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.recipes.ranges import AtLeastOne, Factor, Share
from recollect.stages.base import Stage
from recollect.stages.rerank_skip import capped
from recollect.types import Hit, Ranking, Term, combine, leaf

DONE = "_done"


def multiplied(name: str, term: Term, factor: float, why: str) -> Term:
    return combine(name, "product", (term, leaf("factor", factor, why)))


class KindBoost(Stage, frozen=True, tag="kind_boost"):
    """Multiplies the fused score of memories of exactly these kinds, then keeps the best `pool`."""

    about = "its kind counts for more"

    factors: dict[str, Factor]
    pool: AtLeastOne
    name: str = "kind_boost"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        boosted = ranking.resorted(self._boosted(hit, context) for hit in ranking)
        return boosted.best(self.pool, "pool")

    def _boosted(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if kind not in self.factors:
            return hit
        return hit.rescored(multiplied(self.name, hit.why, self.factors[kind], f"kind {kind}"))


class KindAdjust(Stage, frozen=True, tag="kind_adjust"):
    """For `kind`, and for `kind_done`: score × factor, at most `cap`, or `unverified_cap` for what
    no reranker verified. The ranking is sorted again after each."""

    about = "its kind counts for more, or for less"
    needs = ("reranking",)

    kind: str
    factor: Factor
    name: str
    cap: Share = 1.0
    unverified_cap: Share = 0.70

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return ranking.resorted(self._adjusted(hit, context) for hit in ranking)

    def _adjusted(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if kind.removesuffix(DONE) != self.kind:
            return hit
        cap = self.cap if hit.findings.verified else self.unverified_cap
        term = multiplied(self.name, hit.why, self.factor, f"kind {kind}")
        return hit.rescored(capped(self.name, term, cap))


class DonePenalty(Stage, frozen=True, tag="done_penalty"):
    """A kind that ends in `_done` is behind us: score × factor."""

    about = "its task is done"

    factor: Factor = 0.7
    name: str = "done"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return ranking.resorted(self._adjusted(hit, context) for hit in ranking)

    def _adjusted(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if not kind.endswith(DONE):
            return hit
        return hit.rescored(multiplied(self.name, hit.why, self.factor, f"kind {kind}"))
