"""Channels whose memories join the ranking with a score that is already settled."""

from __future__ import annotations

from msgspec import Struct

from recollect.context import SearchContext
from recollect.recipes.ranges import Weight
from recollect.types import Hit, Ranking, leaf, ranked


class FixedScore(Struct, frozen=True, tag="fixed_score", forbid_unknown_fields=True):
    """Everything `channel` found, and no other channel, joins the ranking with `score`."""

    channel: str
    score: Weight
    name: str = "fixed_score"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        joined = context.channels.get(self.channel, Ranking())
        term = leaf(self.channel, self.score, f"fixed for channel {self.channel}")
        scored = set(ranking.ids)
        new = (Hit(id, term) for id in joined.ids if id not in scored)
        return ranked((*ranking.hits, *new), ranking.dropped)


class Browsed(Struct, frozen=True, tag="browsed", forbid_unknown_fields=True):
    """Everything `channel` found joins the ranking with the channel's own score."""

    channel: str
    name: str = "browsed"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        joined = context.channels.get(self.channel, Ranking())
        return ranked((*ranking.hits, *joined.hits), ranking.dropped)
