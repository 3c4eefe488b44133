"""Floors: a literal match is never buried, and noise is not returned."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.query.terms import lowered
from recollect.recipes.ranges import Number, Share
from recollect.stages.base import Stage
from recollect.types import Hit, Memory, Ranking, combine, leaf


def matched(asked: set[str], memory: Memory) -> set[str]:
    """The keywords that stand as whole words in title, text or tags: `how` is not in `show`."""
    return asked.intersection(lowered(" ".join((memory.title, memory.text, *memory.tags))))


class KeywordFloor(Stage, frozen=True, tag="keyword_floor"):
    """`max(score, floor · matched / keywords)`, on what the reranker verified."""

    about = "literal matches are never buried"
    family = "literal"
    needs = ("reranking",)

    floor: Share = 0.30
    name: str = "keyword_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        asked = set(context.understanding.keywords)
        if not asked:
            return ranking
        return ranking.resorted(self._raised(hit, asked, context) for hit in ranking)

    def _raised(self, hit: Hit, asked: set[str], context: SearchContext) -> Hit:
        if not hit.findings.verified:
            return hit
        words = matched(asked, context.memory(hit.memory_id))
        if not words:
            return hit
        how = f"{self.floor:g} · {len(words)}/{len(asked)} keywords: {', '.join(sorted(words))}"
        floor = leaf(self.name, self.floor * len(words) / len(asked), how)
        return hit.rescored(combine("floored", "max", (hit.why, floor)))


class MeaningFloor(Stage, frozen=True, tag="meaning_floor"):
    """What has no word of the query and scores under `floor` is dropped, and counted: something is
    always nearest in meaning. Needs a fusion whose scores are log odds."""

    needs = ("log_odds",)

    floor: Number = -0.8  # three in ten
    name: str = "meaning_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        worded = {
            id
            for name, found in context.channels.items()
            if not context.is_vector_channel(name)
            for id in found.ids
        }
        kept = (hit for hit in ranking if hit.score >= self.floor or hit.memory_id in worded)
        return ranking.keeping(kept, self.name)


class ScoreFloor(Stage, frozen=True, tag="score_floor"):
    """Under `floor` is dropped, and counted; what the reranker did not reach is not judged."""

    needs = ("reranking",)

    floor: Share = 0.03
    name: str = "score_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        kept = (hit for hit in ranking if hit.score >= self.floor or hit.findings.unreached)
        return ranking.keeping(kept, self.name)
