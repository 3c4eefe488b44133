"""The cut to what was asked for, and the guard that keeps small answers whole."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.recipes.ranges import Count, Share
from recollect.stages.base import Stage
from recollect.types import Ranking


class Cut(Stage, frozen=True, tag="cut"):
    """The best `limit` remain. With a guard: when `guard_channel` found fewer than `guard_below`
    memories and the limit is less than `guard_share` of them, nothing is cut.
    Source of the guard: the `vault` recipe, "Small corpus guard".
    """

    gives = ("limit",)

    guard_channel: str = ""
    guard_below: Count = 0
    guard_share: Share = 0.5
    name: str = "cut"

    @property
    def channels(self) -> tuple[str, ...]:
        return (self.guard_channel,) if self.guard_channel else ()

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        found = len(context.channels.get(self.guard_channel, ()))
        if found < self.guard_below and context.limit < self.guard_share * found:
            context.note(
                f"Small corpus: all {len(ranking)} candidates are returned, not {context.limit}."
            )
            return ranking
        return ranking.best(context.limit, "limit")
