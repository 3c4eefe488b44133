"""The rerank stage: a cross-encoder reads query and candidate together, within a deadline."""

from __future__ import annotations

from msgspec import structs

from recollect.context import SearchContext, scores_of
from recollect.recipes.ranges import AtLeastOne, Count
from recollect.stages.base import NEVER, Stage
from recollect.stages.rerank_deadline import rerank_scores
from recollect.stages.rerank_skip import Skip
from recollect.stages.rerank_text import whole
from recollect.types import Hit, Ranking, combine, leaf

# What was not reached stands in order below the lowest verified score, even where that is 0.
LEAST = 1e-6


class CrossEncoder(Stage, frozen=True, tag="cross_encoder"):
    """Each candidate's score becomes what the reranker says of it, 0…1.

    Fewer than `skip_below` candidates are not worth a reranker: `skip` scores them from ranks and
    cosine, unverified. The same holds for all of them when there is no reranker. Candidates are
    read best first, `batch` at a time, until the deadline; what is not reached keeps its fused
    order below what was verified.
    """

    about = "the model that reads query and memory together"
    family = "reranking"
    needs = ("rrf",)
    gives = ("reranking",)

    skip_below: Count = 0
    skip: Skip = Skip()
    batch: AtLeastOne = 8
    name: str = "rerank"

    def deferral(self, query: str) -> dict[str, object]:
        return {"skip_below": NEVER}

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if not ranking.hits or len(ranking) < self.skip_below:
            return self._unverified(ranking, context)
        scores = rerank_scores(
            self.name, ranking.ids, lambda id: whole(context.memory(id)), self.batch, context
        )
        if not scores:
            return self._unverified(ranking, context)
        lowest = max(LEAST, min(scores.values()))
        best = ranking.hits[0].score
        reranked = ranking.resorted(self._hit(hit, scores, lowest, best) for hit in ranking)
        return structs.replace(reranked, reranked=len(scores))

    def _hit(self, hit: Hit, scores: dict[str, float], lowest: float, best: float) -> Hit:
        score = scores.get(hit.memory_id)
        if score is not None:
            return hit.rescored(leaf(self.name, score, "cross-encoder")).finding(verified=True)
        parts = (
            leaf("lowest_verified", lowest, "lowest score the reranker gave"),
            leaf("fused", hit.score / best, "fused score over the largest"),
        )
        return hit.rescored(combine("not_reached", "product", parts)).finding(unreached=True)

    def _unverified(self, ranking: Ranking, context: SearchContext) -> Ranking:
        # The RRF as it was fused, before any stage changed it.
        fused, cosines = scores_of(context.fused), scores_of(context.by_vectors())
        largest = context.fused.largest
        return ranking.resorted(
            hit.rescored(
                self.skip.score(fused[hit.memory_id], cosines.get(hit.memory_id), largest=largest)
            )
            for hit in ranking
        )
