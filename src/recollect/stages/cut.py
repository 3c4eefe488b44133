"""The cut to what was asked for, and the guard that keeps small answers whole."""

from __future__ import annotations

from msgspec import Struct

from recollect.context import SearchContext
from recollect.recipes.ranges import Count, Share
from recollect.types import Ranking


class Cut(Struct, frozen=True, tag="cut", forbid_unknown_fields=True):
    """The best `limit` remain. With a guard: when `guard_channel` found fewer than `guard_below`
    memories and the limit is less than `guard_share` of them, nothing is cut.
    Source of the guard: the `vault` recipe, "Small corpus guard".
    """

    guard_channel: str = ""
    guard_below: Count = 0
    guard_share: Share = 0.5
    name: str = "cut"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        found = len(context.channels.get(self.guard_channel, ()))
        if found < self.guard_below and context.limit < self.guard_share * found:
            context.note(
                f"Small corpus: all {len(ranking)} candidates are returned, not {context.limit}."
            )
            return ranking
        return cut(ranking, context.limit, "limit")


def cut(ranking: Ranking, size: int, reason: str) -> Ranking:
    """The best `size`; what goes is counted under `reason`."""
    if len(ranking) <= size:
        return ranking
    dropped = ranking.dropped | {reason: len(ranking) - size}
    return Ranking(ranking.hits[:size], dropped)
