"""The browsing channel: what to show when nothing is asked."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.recall.base import Channel
from recollect.recipes.ranges import Depth
from recollect.types import Hit, Ranking, combine, leaf

# Source: the `covalence` recipe, "Browsing": core, capture, file; newest first in each.
GROUPS = {"core": 2.0, "capture": 1.0, "file": 0.0}


class Recent(Channel, frozen=True, tag="recent"):
    """Answers an empty query only: whole groups by tier, the newest first within each.

    The score is the group plus `1/(1 + place)`, which is below 1, so that it states the same order;
    ages would not: a memory dated after now is of age 0, like any other such.
    """

    about = "how new it is"
    family = "time"

    depth: Depth
    name: str = "recent"

    def wanted(self, context: SearchContext) -> bool:
        return not context.search.query.strip()

    def recall(self, context: SearchContext) -> Ranking:
        narrowed = context.filter()
        if narrowed is None:
            return Ranking()
        browsed = context.store.memories.browse(narrowed, self.depth.at(context.limit))
        return Ranking(
            tuple(
                Hit(
                    memory.id,
                    combine(
                        self.name,
                        "sum",
                        (
                            leaf("tier", GROUPS[memory.tier], f"group of {memory.tier}"),
                            leaf("newest", 1 / (1 + place), f"1/(1 + {place})"),
                        ),
                    ),
                )
                for place, memory in enumerate(browsed, start=1)
            )
        )
