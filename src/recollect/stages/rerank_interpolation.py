"""The rerank stage that listens without obeying: a cross-encoder's opinion joins the score."""

from __future__ import annotations

import re

from msgspec import Struct

from recollect.context import SearchContext
from recollect.maths import logit
from recollect.query.terms import words
from recollect.recipes.ranges import AtLeastOne, Count, Weight
from recollect.signals.base import added
from recollect.stages.rerank_deadline import opinions
from recollect.stages.rerank_text import focused
from recollect.types import Hit, Ranking, ranked, weighted

LETTER = re.compile("[A-Za-z]")


def readable(query: str) -> list[str]:
    """The words that an English model can see something in: those with a plain letter."""
    return [word for word in words(query) if LETTER.search(word)]


class RerankInterpolation(
    Struct, frozen=True, tag="rerank_interpolation", forbid_unknown_fields=True
):
    """`score + weight · clip(logit, ±bound)` for the best `top` candidates.

    A cross-encoder alone is right about questions in whole sentences and often wrong about
    keywords, so it moves candidates and does not order them; a query of fewer than `least_words`
    words it does not see at all. Of a long text it reads `characters` where the query's words
    stand: half the time, and no worse. What it did not reach by the deadline, and what stands
    further down, is held to be as good as the worst it read: the order of fusion stays among them.
    """

    weight: Weight = 0.25
    bound: Weight = 10.0
    top: AtLeastOne = 20
    characters: AtLeastOne = 450
    least_words: Count = 3
    batch: AtLeastOne = 4
    name: str = "rerank"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if len(ranking) < 2 or len(readable(context.search.query)) < self.least_words:
            return ranking
        candidates = [
            (id, focused(context.memory(id), context.search.query, self.characters))
            for id in ranking.ids[: self.top]
        ]
        scores = opinions(self.name, candidates, self.batch, context)
        if not scores:
            return ranking
        said = {id: self._bounded(score) for id, score in scores.items()}
        context.opinions, context.verified = said, frozenset(said)
        worst = min(said.values())
        return ranked((self._hit(hit, said, worst) for hit in ranking), ranking.dropped)

    def _bounded(self, score: float) -> float:
        return max(-self.bound, min(self.bound, logit(score)))

    def _hit(self, hit: Hit, logits: dict[str, float], worst: float) -> Hit:
        said, how = logits.get(hit.memory_id), "cross-encoder's logit"
        if said is None:
            said, how = worst, "not read by the cross-encoder: the lowest logit it gave"
        return Hit(hit.memory_id, added(hit.why, weighted(self.name, self.weight, said, how)))
