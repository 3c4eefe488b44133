"""Floors: a literal match is never buried, and noise is not returned."""

from __future__ import annotations

from msgspec import Struct

from recollect.context import SearchContext
from recollect.query.terms import keywords, lowered
from recollect.recipes.ranges import Share
from recollect.types import Hit, Memory, Ranking, combine, leaf, ranked


def matched(asked: set[str], memory: Memory) -> set[str]:
    """The keywords that stand as whole words in title, text or tags: `how` is not in `show`."""
    return asked.intersection(lowered(" ".join((memory.title, memory.text, *memory.tags))))


class KeywordFloor(Struct, frozen=True, tag="keyword_floor", forbid_unknown_fields=True):
    """`max(score, floor · matched / keywords)`, on what the reranker verified."""

    floor: Share = 0.30
    name: str = "keyword_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        asked = set(keywords(context.search.query))
        if not asked:
            return ranking
        return ranked((self._raised(hit, asked, context) for hit in ranking), ranking.dropped)

    def _raised(self, hit: Hit, asked: set[str], context: SearchContext) -> Hit:
        if hit.memory_id not in context.verified:
            return hit
        found = matched(asked, context.memory(hit.memory_id))
        if not found:
            return hit
        how = f"{self.floor:g} · {len(found)}/{len(asked)} keywords: {', '.join(sorted(found))}"
        floor = leaf(self.name, self.floor * len(found) / len(asked), how)
        return Hit(hit.memory_id, combine("floored", "max", (hit.why, floor)))


class ScoreFloor(Struct, frozen=True, tag="score_floor", forbid_unknown_fields=True):
    """Under `floor` is dropped, and counted; what the reranker did not reach is not judged."""

    floor: Share = 0.03
    name: str = "score_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        kept = tuple(
            hit for hit in ranking if hit.score >= self.floor or hit.memory_id in context.unreached
        )
        gone = len(ranking) - len(kept)
        dropped = ranking.dropped | ({self.name: gone} if gone else {})
        return Ranking(kept, dropped)
