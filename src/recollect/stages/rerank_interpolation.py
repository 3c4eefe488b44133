"""The rerank stage that adds to a score: a cross-encoder moves candidates, and does not order
them alone."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from recollect.context import SearchContext
from recollect.maths import logit
from recollect.models.english import readable_words
from recollect.recipes.ranges import AtLeastOne, Count, Number, Weight
from recollect.signals.base import added
from recollect.stages.base import NEVER, Stage
from recollect.stages.rerank_deadline import rerank_scores
from recollect.stages.rerank_text import focused
from recollect.types import Hit, Ranking, weighted


class RerankInterpolation(Stage, frozen=True, tag="rerank_interpolation"):
    """`score + weight · (clip(logit, floor, bound) − floor)` for the best `top` candidates: a logit
    of `floor` or less says nothing, since a cross-encoder rejects whatever shares no word with the
    query, the right answer in other words included.

    A cross-encoder alone is right about questions in whole sentences and often wrong about
    keywords, so it moves candidates and does not order them; a query of fewer than `least_words`
    words it does not see at all, and none that was compared word by word. Of a long text it reads
    `characters` where the query's words stand: half the time, and no worse. What it did not reach
    by the deadline, and what stands further down, is held to be as good as the worst it read: the
    order of fusion stays among them.

    No logits can exchange two candidates that stand further apart than `weight · (bound − floor)`.
    So it reads the first candidate, on which the verdict depends, and on down to the first such
    gap; of those behind the results that are asked for only what can still become the first: half
    the reading, and no worse (benchmarks/reading.py).
    """

    about = "the model that reads query and memory together"
    family = "reranking"
    gives = ("reranking",)

    weight: Weight = 0.25
    bound: Weight = 10.0
    floor: Number = -10.0
    top: AtLeastOne = 20
    characters: AtLeastOne = 450
    least_words: Count = 3
    batch: AtLeastOne = 4
    name: str = "rerank"

    def deferral(self, query: str) -> dict[str, object]:
        return {"least_words": NEVER} if len(readable_words(query)) >= self.least_words else {}

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        text = context.search.query
        if not ranking or len(readable_words(text)) < self.least_words or context.compared:
            return ranking
        contested = self._contested([hit.score for hit in ranking], context.limit)
        scores = rerank_scores(
            self.name,
            ranking.ids[:contested],
            lambda id: focused(context.memory(id), text, self.characters),
            self.batch,
            context,
        )
        if not scores:
            return ranking
        logits = {id: self._bounded(score) for id, score in scores.items()}
        worst = min(logits.values())
        reranked = ranking.resorted(self._hit(hit, logits, worst) for hit in ranking)
        return structs.replace(reranked, reranked=len(logits))

    def _contested(self, scores: Sequence[float], limit: int) -> int:
        """How many of the best the reranker could exchange."""
        reach = self.weight * (self.bound - self.floor)
        for place in range(1, min(self.top, len(scores))):
            above = scores[place - 1] if place < limit else scores[0]
            if above - scores[place] > reach:
                return place
        return min(self.top, len(scores))

    def _bounded(self, score: float) -> float:
        return max(self.floor, min(self.bound, logit(score))) - self.floor

    def _hit(self, hit: Hit, logits: dict[str, float], worst: float) -> Hit:
        read = hit.memory_id in logits
        logit = logits.get(hit.memory_id, worst)
        if not read:
            how = "not read by the reranker: as the lowest it gave (logit of a cross-encoder)"
        else:
            said = "found fitting" if logit + self.floor > 0 else "held possible"
            how = (
                f"{said if logit else 'not recognised'} by the reranker (logit of a cross-encoder)"
            )
        term = weighted(self.name, self.weight, logit, how)
        moved = hit.rescored(added(hit.why, term))
        return moved.finding(verified=True) if read else moved
