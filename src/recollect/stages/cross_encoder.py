"""The rerank stage: a cross-encoder reads query and candidate together, within a deadline."""

from __future__ import annotations

from msgspec import Struct

from recollect.context import SearchContext
from recollect.recipes.ranges import AtLeastOne, Count
from recollect.stages.rerank_deadline import opinions
from recollect.stages.rerank_skip import Skip
from recollect.stages.rerank_text import whole
from recollect.types import Hit, Ranking, combine, leaf, ranked

# What was not reached stands in order below the lowest verified score, even where that is 0.
LEAST = 1e-6


class CrossEncoder(Struct, frozen=True, tag="cross_encoder", forbid_unknown_fields=True):
    """Each candidate's score becomes what the reranker says of it, 0…1.

    Fewer than `skip_below` candidates are not worth a reranker: `skip` scores them from ranks and
    cosine, unverified. The same holds for all of them when there is no reranker. Candidates are
    read best first, `batch` at a time, until the deadline; what is not reached keeps its fused
    order below what was verified.
    """

    skip_below: Count = 0
    skip: Skip = Skip()
    batch: AtLeastOne = 8
    name: str = "rerank"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if not ranking.hits or len(ranking) < self.skip_below:
            return self._unverified(ranking, context)
        candidates = [(id, whole(context.memory(id))) for id in ranking.ids]
        scores = opinions(self.name, candidates, self.batch, context)
        if not scores:
            return self._unverified(ranking, context)
        context.verified = frozenset(scores)
        context.unreached = frozenset(ranking.ids) - context.verified
        lowest = max(LEAST, min(scores.values()))
        best = ranking.hits[0].score
        return ranked((self._hit(hit, scores, lowest, best) for hit in ranking), ranking.dropped)

    def _hit(self, hit: Hit, scores: dict[str, float], lowest: float, best: float) -> Hit:
        id = hit.memory_id
        if id in scores:
            return Hit(id, leaf(self.name, scores[id], "cross-encoder"))
        parts = (
            leaf("lowest_verified", lowest, "lowest score the reranker gave"),
            leaf("fused", hit.score / best, "fused score over the largest"),
        )
        return Hit(id, combine("not_reached", "product", parts))

    def _unverified(self, ranking: Ranking, context: SearchContext) -> Ranking:
        context.verified = context.unreached = frozenset()
        # The RRF as it was fused, before any stage changed it.
        fused, cosines = (
            {hit.memory_id: hit.score for hit in context.fused},
            context.scores("vector"),
        )
        return ranked(
            (
                Hit(
                    hit.memory_id, self.skip.score(fused[hit.memory_id], cosines.get(hit.memory_id))
                )
                for hit in ranking
            ),
            ranking.dropped,
        )
