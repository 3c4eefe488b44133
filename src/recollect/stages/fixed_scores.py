"""Channels whose memories join the ranking with a score that is already settled."""

from __future__ import annotations

import heapq

from msgspec import structs

from recollect.context import SearchContext
from recollect.recipes.ranges import Weight
from recollect.stages.base import Stage
from recollect.types import Hit, Ranking, leaf, order


class FixedScore(Stage, frozen=True, tag="fixed_score"):
    """Everything `channel` found, and no other channel, joins the ranking with `score`. All of it
    ties, so it keeps the channel's own order: the most relevant first."""

    channel: str
    score: Weight
    name: str = "fixed_score"

    @property
    def channels(self) -> tuple[str, ...]:
        return (self.channel,)

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        term = leaf(self.channel, self.score, f"fixed for channel {self.channel}")
        scored = set(ranking.ids)
        joined = context.channels.get(self.channel, Ranking())
        new = (Hit(id, term) for id in joined.ids if id not in scored)
        merged = heapq.merge(ranking, new, key=lambda hit: order(hit.score, hit.memory_id))
        return structs.replace(ranking, hits=tuple(merged))


class Browsed(Stage, frozen=True, tag="browsed"):
    """Everything `channel` found joins the ranking with the channel's own score."""

    channel: str
    name: str = "browsed"

    @property
    def channels(self) -> tuple[str, ...]:
        return (self.channel,)

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        joined = context.channels.get(self.channel, Ranking())
        return ranking.resorted((*ranking.hits, *joined.hits)) if joined else ranking
