"""Adjustments by kind: some kinds weigh more than their number, some only beside their task."""

from __future__ import annotations

from msgspec import Struct

from recollect.context import SearchContext
from recollect.recipes.ranges import AtLeastOne, Factor, Share
from recollect.stages.cut import cut
from recollect.stages.rerank_skip import capped
from recollect.types import Hit, Ranking, Term, combine, leaf, ranked

DONE = "_done"


def multiplied(name: str, term: Term, factor: float, why: str) -> Term:
    return combine(name, "product", (term, leaf("factor", factor, why)))


class KindBoost(Struct, frozen=True, tag="kind_boost", forbid_unknown_fields=True):
    """Multiplies the fused score of memories of exactly these kinds, then keeps the best `pool`."""

    factors: dict[str, Factor]
    pool: AtLeastOne
    name: str = "kind_boost"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        boosted = ranked((self._boosted(hit, context) for hit in ranking), ranking.dropped)
        return cut(boosted, self.pool, "pool")

    def _boosted(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if kind not in self.factors:
            return hit
        factor = self.factors[kind]
        return Hit(hit.memory_id, multiplied(self.name, hit.why, factor, f"kind {kind}"))


class KindAdjust(Struct, frozen=True, tag="kind_adjust", forbid_unknown_fields=True):
    """For `kind`, and for `kind_done`: score × factor, at most `cap`, or `unverified_cap` for what
    no reranker verified. The ranking is sorted again after each."""

    kind: str
    factor: Factor
    name: str
    cap: Share = 1.0
    unverified_cap: Share = 0.70

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return ranked((self._adjusted(hit, context) for hit in ranking), ranking.dropped)

    def _adjusted(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if kind.removesuffix(DONE) != self.kind:
            return hit
        cap = self.cap if hit.memory_id in context.verified else self.unverified_cap
        term = multiplied(self.name, hit.why, self.factor, f"kind {kind}")
        return Hit(hit.memory_id, capped(self.name, term, cap))


class DonePenalty(Struct, frozen=True, tag="done_penalty", forbid_unknown_fields=True):
    """A kind that ends in `_done` is behind us: score × factor."""

    factor: Factor = 0.7
    name: str = "done"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return ranked((self._adjusted(hit, context) for hit in ranking), ranking.dropped)

    def _adjusted(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if not kind.endswith(DONE):
            return hit
        return Hit(hit.memory_id, multiplied(self.name, hit.why, self.factor, f"kind {kind}"))
